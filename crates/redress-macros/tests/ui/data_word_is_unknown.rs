use redress::data;

#[data(closed)]
struct Read {
    path: String,
}

fn main() {}
