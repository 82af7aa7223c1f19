use redress::{Outcome, operation};

/// Write a file.
#[operation(query, name = "files.write", verify(query = "files.check", done = "/exists", hint = "Look whether the file is there."))]
async fn write(input: String) -> Outcome<String> {
    Ok(input)
}

fn main() {}
