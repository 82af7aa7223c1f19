use redress::data;

#[data(open)]
enum Order {
    Up,
    Down,
}

fn main() {}
