use redress::Failure;

#[derive(Debug, Failure)]
struct Gone {
    path: String,
}

fn main() {}
