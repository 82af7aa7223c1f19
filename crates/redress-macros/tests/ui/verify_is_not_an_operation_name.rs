use redress::Failure;

#[derive(Debug, Failure)]
enum Writing {
    /// The disk did not say whether it took the file.
    #[failure(kind = unavailable, recover(verify = "check", bind(path = path), done = "/exists", hint = "Look whether the file is there."))]
    Unsure { path: String },
}

fn main() {}
