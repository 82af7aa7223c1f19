use redress::Failure;

#[derive(Debug, Failure)]
enum Reading {
    /// The file is gone.
    #[failure(kind = not_found, deprecated(since = "1.0.0", because = "unused"), recover(stop, hint = "Ask the owner to restore the file."))]
    Gone,
}

fn main() {}
