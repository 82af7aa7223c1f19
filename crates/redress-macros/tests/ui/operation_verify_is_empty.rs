use redress::{Outcome, operation};

/// Write a file.
#[operation(mutation, name = "files.write", verify)]
async fn write(input: String) -> Outcome<String> {
    Ok(input)
}

fn main() {}
