use redress::{Failure, Outcome, data, operation};

#[derive(Debug, Failure)]
enum Reading {
    /// The file is gone.
    #[failure(kind = not_found, recover(stop, hint = "Ask the owner to restore the file."))]
    Gone,
}

#[data]
struct Read {
    path: String,
}

/// Read a text file.
#[operation(query, name = "files.read", strict)]
async fn read(input: Read) -> Outcome<String, Reading> {
    Ok(std::fs::read_to_string(input.path)?)
}

fn main() {
    let _ = redress::Registry::builder().add(read);
}
