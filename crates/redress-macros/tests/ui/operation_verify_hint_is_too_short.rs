use redress::{Outcome, operation};

/// Write a file.
#[operation(mutation, name = "files.write", verify(query = "files.check", done = "/exists", hint = "Look first."))]
async fn write(input: String) -> Outcome<String> {
    Ok(input)
}

fn main() {}
