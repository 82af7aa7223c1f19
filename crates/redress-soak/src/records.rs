//! What a server has recorded: its audit and its idempotency keys, read from its state.

use std::{collections::HashMap, io, path::Path};

use redress_state::{AuditFilter, AuditReader, AuditRecord};
use serde_json::Value;
use sqlx::{ConnectOptions as _, Row as _, SqliteConnection, sqlite::SqliteConnectOptions};

/// What became of an idempotency key, as the state has it.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    /// `running`, `output`, `problem` or `lost`.
    pub(crate) stage: String,
    pub(crate) outcome: Value,
}

/// All that the state holds about calls.
pub(crate) struct Records {
    /// By request id.
    pub(crate) audit: HashMap<String, Vec<AuditRecord>>,
    /// By caller and key.
    pub(crate) keys: HashMap<(String, String), Key>,
}

impl Records {
    /// Reads the state in a folder.
    pub(crate) async fn read(state: &Path) -> io::Result<Records> {
        let mut reader = AuditReader::open(state).await.map_err(io::Error::other)?;
        let mut audit: HashMap<String, Vec<AuditRecord>> = HashMap::new();
        for record in reader.read(&AuditFilter::new().limit(usize::MAX)).await.map_err(io::Error::other)? {
            audit.entry(record.request_id.clone()).or_default().push(record);
        }
        let mut connection = connect(state).await?;
        let rows = sqlx::query("SELECT caller, key, stage, outcome FROM keys").fetch_all(&mut connection).await;
        let keys = rows.map_err(io::Error::other)?.iter().map(key).collect::<Result<_, _>>();
        Ok(Records { audit, keys: keys.map_err(io::Error::other)? })
    }

    /// How many calls are in the audit.
    pub(crate) fn audited(&self) -> usize {
        self.audit.values().map(Vec::len).sum()
    }
}

/// A connection to the file of a state, beside the server that writes it.
pub(crate) async fn connect(state: &Path) -> io::Result<SqliteConnection> {
    let options = SqliteConnectOptions::new().filename(state.join("redress.db")).disable_statement_logging();
    options.connect().await.map_err(io::Error::other)
}

fn key(row: &sqlx::sqlite::SqliteRow) -> Result<((String, String), Key), sqlx::Error> {
    let outcome: Option<String> = row.try_get(3)?;
    let outcome = outcome.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    Ok(((row.try_get(0)?, row.try_get(1)?), Key { stage: row.try_get(2)?, outcome }))
}
