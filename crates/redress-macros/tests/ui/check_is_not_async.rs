use redress::{Caller, Outcome, check, data};

#[data]
struct Read {
    path: String,
}

#[check]
fn owns(caller: &Caller, input: &Read) -> Outcome<bool> {
    Ok(input.path == caller.id())
}

fn main() {}
