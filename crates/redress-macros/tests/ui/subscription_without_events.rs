use redress::{Outcome, data, operation};

#[data]
struct Read {
    path: String,
}

/// Watch a text file.
#[operation(subscription, name = "files.watch")]
async fn read(input: Read) -> Outcome<String> {
    Ok(input.path)
}

fn main() {
    let _ = redress::Registry::builder().add(read);
}
