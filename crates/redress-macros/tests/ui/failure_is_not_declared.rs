use redress::Failure;

#[derive(Debug, Failure)]
enum Reading {
    /// The file is gone.
    Gone,
}

fn main() {}
