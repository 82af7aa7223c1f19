use redress::{Outcome, operation};

/// Read a text file.
#[operation(query, name = "files.read")]
async fn read(input: impl Into<String>) -> Outcome<String> {
    Ok(input.into())
}

fn main() {}
