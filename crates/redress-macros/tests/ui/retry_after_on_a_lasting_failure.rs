use redress::Failure;

#[derive(Debug, Failure)]
enum Reading {
    /// The file is gone.
    #[failure(kind = not_found, retry_after = wait_ms, recover(stop, hint = "Ask the owner to restore the file."))]
    Gone { wait_ms: u64 },
}

fn main() {}
