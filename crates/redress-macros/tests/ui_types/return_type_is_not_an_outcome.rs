use redress::{data, operation};

#[data]
struct Read {
    path: String,
}

#[data]
struct Text(String);

/// Read a text file.
#[operation(query, name = "files.read")]
async fn read(input: Read) -> Text {
    Text(input.path)
}

fn main() {
    let _ = redress::Registry::builder().add(read);
}
