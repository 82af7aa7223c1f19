use redress::{Caller, Outcome, check, data, operation};

#[data]
struct Read {
    path: String,
}

#[check]
async fn owns(caller: &Caller, input: &Read) -> Outcome<bool> {
    Ok(input.path == caller.id())
}

/// Read a text file.
#[operation(query, name = "files.read", access(anyone, check = owns))]
async fn read(input: Read) -> Outcome<String> {
    Ok(input.path)
}

fn main() {
    let _ = redress::Registry::builder().add(read);
}
