//! The whole command: `serve`, `mcp`, `call`, `ops`, `explain`, `doctor` and more.

use std::{env, process::ExitCode};

use helpdesk::Store;
use redress::SetupError;

fn main() -> ExitCode {
    // Run by commands that need operations, and by no other: `--help` opens no database.
    redress::main!(async |_context| {
        let url = env::var("DATABASE_URL").unwrap_or_else(|_| "sqlite:helpdesk.db".to_owned());
        let store = Store::open(&url)
            .await
            .map_err(|error| SetupError::new(error).hint("Set DATABASE_URL to a database that can be opened."))?;
        Ok(helpdesk::registry(store)?)
    })
}
