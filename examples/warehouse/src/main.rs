//! The whole command: `serve`, `mcp`, `call`, `ops`, `explain`, `doctor` and more.

use std::{env, process::ExitCode};

use redress::SetupError;
use warehouse::Store;

fn main() -> ExitCode {
    redress::main!(async |_context| {
        let url = env::var("DATABASE_URL").unwrap_or_else(|_| "postgres://localhost/warehouse".to_owned());
        let store = Store::open(&url).await.map_err(|error| {
            SetupError::new(error).hint("Set DATABASE_URL to a PostgreSQL database that can be opened.")
        })?;
        Ok(warehouse::registry(store)?)
    })
}
