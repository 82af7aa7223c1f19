use redress::{Outcome, operation};

/// Read a text file.
#[operation(query, name = "files.read", eval(source = "code", language = "javascript"))]
async fn read() -> Outcome<String> {
    Ok(String::new())
}

fn main() {
    let _ = redress::Registry::builder().add(read);
}
