use redress::Failure;

#[derive(Debug, Failure)]
enum Reading {
    /// The file is gone.
    #[failure(kind = timeout, recover(wait, hint = "Ask the owner to restore the file."))]
    Timeout,
}

fn main() {}
