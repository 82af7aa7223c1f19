use redress::Failure;

#[derive(Debug, Failure)]
enum Reading {
    /// The file is gone.
    #[failure(kind = not_found, recover(call = "files.list", bind(path = path, path = path), hint = "Ask the owner to restore the file."))]
    Gone { path: String },
}

fn main() {}
