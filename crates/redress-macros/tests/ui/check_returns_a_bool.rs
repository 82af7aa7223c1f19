use redress::{Caller, check, data};

#[data]
struct Read {
    path: String,
}

#[check]
async fn owns(caller: &Caller, input: &Read) -> bool {
    input.path == caller.id()
}

fn main() {}
