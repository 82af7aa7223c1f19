use redress::{Outcome, data, operation};

#[data]
struct Read {
    path: String,
}

struct Text(String);

/// Read a text file.
#[operation(query, name = "files.read")]
async fn read(input: Read) -> Outcome<Text> {
    Ok(Text(input.path))
}

fn main() {
    let _ = redress::Registry::builder().add(read);
}
