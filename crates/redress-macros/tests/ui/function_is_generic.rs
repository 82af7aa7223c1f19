use redress::{Outcome, data, operation};

#[data]
struct Read {
    path: String,
}

/// Read a text file.
#[operation(query, name = "files.read")]
async fn read<T>(input: Read) -> Outcome<String> {
    Ok(input.path)
}

fn main() {}
