use redress::operation;

/// Read a text file.
#[operation(query, name = "files.read")]
struct Read {
    path: String,
}

fn main() {}
