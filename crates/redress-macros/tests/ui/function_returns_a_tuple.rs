use redress::{data, operation};

#[data]
struct Read {
    path: String,
}

/// Read a text file.
#[operation(query, name = "files.read")]
async fn read(input: Read) -> (String, u8) {
    (input.path, 0)
}

fn main() {}
