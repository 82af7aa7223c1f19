use redress::{Caller, Outcome, check, data};

#[data]
struct Read {
    path: String,
}

#[check]
async fn owns(caller: &Caller) -> Outcome<bool> {
    let _ = Read { path: caller.id().to_owned() };
    Ok(true)
}

fn main() {}
