use redress::Failure;

#[derive(Debug, Failure)]
enum Writing {
    /// The disk did not say whether it took the file.
    #[failure(kind = unavailable, effect = none, recover(verify = "files.check", done = "/exists", hint = "Look whether the file is there."))]
    Unsure { path: String },
}

fn main() {}
