use redress::{Outcome, operation};

struct Files;

impl Files {
    /// Read a text file.
    #[operation(query, name = "files.read")]
    async fn read(&self) -> Outcome<String> {
        Ok(String::new())
    }
}

fn main() {}
