//! The code of `docs/command.md` and of the README: a program of one's own.

use redress::{Outcome, Registry, operation};

struct Database;

impl Database {
    async fn open(_: &str) -> Result<Database, std::io::Error> {
        Ok(Database)
    }
}

/// Read a page.
#[operation(query, name = "pages.read", access(anyone))]
async fn read(_database: redress::State<Database>) -> Outcome<u32> {
    Ok(7)
}

#[expect(dead_code, reason = "it would read what was typed to start the tests")]
fn main() -> std::process::ExitCode {
    redress::main!(async |_context| {
        let database = Database::open("helpdesk.db").await?;
        Ok(Registry::builder().state(database).add(read).build()?)
    })
}
