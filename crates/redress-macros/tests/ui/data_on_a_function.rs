use redress::data;

#[data]
fn read() {}

fn main() {}
