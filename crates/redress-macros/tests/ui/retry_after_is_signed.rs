use redress::Failure;

#[derive(Debug, Failure)]
enum Reading {
    /// The file is gone.
    #[failure(kind = unavailable, retry_after = wait_ms, recover(wait, hint = "Ask the owner to restore the file."))]
    Busy { wait_ms: i64 },
}

fn main() {}
