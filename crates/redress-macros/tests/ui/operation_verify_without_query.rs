use redress::{Outcome, operation};

/// Write a file.
#[operation(mutation, name = "files.write", verify(done = "/exists", hint = "Look whether the file is there."))]
async fn write(input: String) -> Outcome<String> {
    Ok(input)
}

fn main() {}
