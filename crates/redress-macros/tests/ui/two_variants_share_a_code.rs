use redress::Failure;

#[derive(Debug, Failure)]
enum Reading {
    /// The file is gone.
    #[failure(kind = not_found, recover(stop, hint = "Ask the owner to restore the file."))]
    Gone,
    /// The folder is gone.
    #[failure(kind = not_found, code = "GONE", recover(stop, hint = "Ask the owner to restore the file."))]
    FolderGone,
}

fn main() {}
