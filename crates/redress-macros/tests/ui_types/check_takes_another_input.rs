use redress::{Caller, Outcome, check, data, operation};

#[data]
struct Read {
    path: String,
}

#[data]
struct Write {
    to: String,
}

#[check]
async fn owns(caller: &Caller, input: &Write) -> Outcome<bool> {
    Ok(input.to == caller.id())
}

/// Read a text file.
#[operation(query, name = "files.read", access(check = owns))]
async fn read(input: Read) -> Outcome<String> {
    Ok(input.path)
}

fn main() {
    let _ = redress::Registry::builder().add(read);
}
