use redress::Failure;

#[derive(Debug, Failure)]
enum Writing {
    /// The disk did not say whether it took the file.
    #[failure(kind = unavailable, recover(verify = "files.check", bind(path = path), hint = "Look whether the file is there."))]
    Unsure { path: String },
}

fn main() {}
