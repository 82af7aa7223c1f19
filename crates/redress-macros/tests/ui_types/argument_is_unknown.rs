use redress::{Outcome, data, operation};

#[data]
struct Read {
    path: String,
}

/// Read a text file.
#[operation(query, name = "files.read")]
async fn read(retries: u8, input: Read) -> Outcome<String> {
    let _ = retries;
    Ok(input.path)
}

fn main() {
    let _ = redress::Registry::builder().add(read);
}
