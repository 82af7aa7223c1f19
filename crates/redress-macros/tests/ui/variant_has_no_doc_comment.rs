use redress::Failure;

#[derive(Debug, Failure)]
enum Reading {
    #[failure(kind = not_found, recover(stop, hint = "Ask the owner to restore the file."))]
    Gone,
}

fn main() {}
