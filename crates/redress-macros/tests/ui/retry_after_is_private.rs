use redress::Failure;

#[derive(Debug, Failure)]
enum Reading {
    /// The file is gone.
    #[failure(kind = unavailable, retry_after = wait_ms, recover(wait, hint = "Ask the owner to restore the file."))]
    Busy { #[failure(private)] wait_ms: u64 },
}

fn main() {}
