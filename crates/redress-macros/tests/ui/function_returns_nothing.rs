use redress::{data, operation};

#[data]
struct Read {
    path: String,
}

/// Read a text file.
#[operation(query, name = "files.read")]
async fn read(input: Read) {
    drop(input.path);
}

fn main() {}
