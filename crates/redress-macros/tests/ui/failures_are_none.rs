use redress::Failure;

#[derive(Debug, Failure)]
enum Reading {}

fn main() {}
