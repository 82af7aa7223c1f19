use redress::Failure;

#[derive(Debug, Failure)]
enum Writing {
    /// The disk did not say whether it took the file.
    #[failure(kind = unavailable, recover(verify = "files.check", bind(path = path), done = "/size", is = 1.5, hint = "Look whether the file is there."))]
    Unsure { path: String },
}

fn main() {}
