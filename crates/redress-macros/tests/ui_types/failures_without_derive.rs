use redress::{Outcome, data, operation};

#[data]
struct Read {
    path: String,
}

#[derive(Debug)]
enum Reading {
    Gone,
}

/// Read a text file.
#[operation(query, name = "files.read")]
async fn read(input: Read) -> Outcome<String, Reading> {
    Ok(input.path)
}

fn main() {
    let _ = redress::Registry::builder().add(read);
}
