use redress::data;

#[data]
#[derive(redress::__private::serde::Serialize)]
struct Read {
    path: String,
}

fn main() {}
