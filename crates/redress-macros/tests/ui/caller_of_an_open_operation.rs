use redress::{Caller, Outcome, data, operation};

#[data]
struct Read {
    path: String,
}

/// Read a text file.
#[operation(query, name = "files.read", access(anyone))]
async fn read(_caller: &Caller, input: Read) -> Outcome<String> {
    Ok(input.path)
}

fn main() {
    let _ = redress::Registry::builder().add(read);
}
