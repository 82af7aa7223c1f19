use redress::Failure;

#[derive(Debug, Failure)]
enum Reading {
    /// The file is gone.
    #[failure(kind = not_found, message = "no file at {pth}", recover(stop, hint = "Ask the owner to restore the file."))]
    Gone { path: String },
}

fn main() {}
