use redress::Failure;

#[derive(Debug, Failure)]
enum Reading {
    /// The file is gone.
    #[failure(kind = not_found, recover(stop, hint = "Look near {path}, and then give up."))]
    Gone { path: String },
}

fn main() {}
