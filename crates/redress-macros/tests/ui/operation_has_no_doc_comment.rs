use redress::{Outcome, data, operation};

#[data]
struct Read {
    path: String,
}

#[operation(query, name = "files.read")]
async fn read(input: Read) -> Outcome<String> {
    Ok(input.path)
}

fn main() {
    let _ = redress::Registry::builder().add(read);
}
