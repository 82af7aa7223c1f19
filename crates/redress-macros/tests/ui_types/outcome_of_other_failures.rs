use redress::{Failure, Outcome, operation};

#[derive(Debug, Failure)]
enum StoreFailure {
    /// The disk is full.
    #[failure(kind = unavailable, recover(wait, hint = "Wait until the disk has room again."))]
    DiskFull,
}

#[derive(Debug, Failure)]
#[failure(include(StoreFailure))]
enum ReadFailure {}

async fn load() -> Outcome<String, StoreFailure> {
    Err(StoreFailure::DiskFull.into())
}

/// Read a text file.
#[operation(query, name = "files.read")]
async fn read() -> Outcome<String, ReadFailure> {
    Ok(load().await?)
}

fn main() {
    let _ = redress::Registry::builder().add(read);
}
