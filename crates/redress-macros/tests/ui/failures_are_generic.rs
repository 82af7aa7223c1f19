use redress::Failure;

#[derive(Debug, Failure)]
enum Reading<T> {
    /// The file is gone.
    #[failure(kind = not_found, recover(stop, hint = "Ask the owner to restore the file."))]
    Gone { path: T },
}

fn main() {}
