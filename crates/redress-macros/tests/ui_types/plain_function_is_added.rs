use redress::{Outcome, data};

#[data]
struct Read {
    path: String,
}

async fn read(input: Read) -> Outcome<String> {
    Ok(input.path)
}

fn main() {
    let _ = redress::Registry::builder().add(read);
}
