use redress::{Ctx, Outcome, data, operation};

#[data]
struct Read {
    path: String,
}

/// Read a text file.
#[operation(query, name = "files.read")]
async fn read(a: &Ctx, b: &Ctx, c: &Ctx, d: &Ctx, e: &Ctx, f: &Ctx, input: Read) -> Outcome<String> {
    let _ = (a, b, c, d, e, f);
    Ok(input.path)
}

fn main() {}
