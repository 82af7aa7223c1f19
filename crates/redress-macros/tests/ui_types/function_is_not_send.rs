use redress::{Outcome, data, operation};

#[data]
struct Read {
    path: String,
}

/// Read a text file.
#[operation(query, name = "files.read")]
async fn read(input: Read) -> Outcome<String> {
    let shared = std::rc::Rc::new(input.path);
    std::future::ready(()).await;
    Ok(shared.to_string())
}

fn main() {
    let _ = redress::Registry::builder().add(read);
}
