use redress::{Events, Outcome, data, operation};

#[data]
struct Read {
    path: String,
}

/// Read a text file.
#[operation(subscription, name = "files.watch", buffer = 0)]
async fn read(input: Read) -> Outcome<Events<String>> {
    let _ = input;
    unreachable!()
}

fn main() {
    let _ = redress::Registry::builder().add(read);
}
