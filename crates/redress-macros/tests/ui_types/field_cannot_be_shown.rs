use redress::Failure;

#[derive(Debug)]
struct Handle(u64);

#[derive(Debug, Failure)]
enum Reading {
    /// The file is gone.
    #[failure(kind = not_found, message = "no file by {handle}", recover(stop, hint = "Ask the owner to restore the file."))]
    Gone { path: String, handle: Handle },
}

fn main() {}
