use redress::{data, operation};

#[data]
struct Read {
    path: String,
}

/// Read a text file.
#[operation(query, name = "files.read")]
async fn read(input: Read) -> Result<String, std::io::Error> {
    Ok(input.path)
}

fn main() {}
