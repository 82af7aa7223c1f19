//! Reading the audit, beside a running service or after it.

mod filter;
mod pattern;
mod quota;
mod record;

use std::path::{Path, PathBuf};

pub use filter::AuditFilter;
pub use pattern::OperationPatternError;
pub use quota::{QuotaReader, QuotaRecord};
pub use record::AuditRecord;
use sqlx::{Row as _, SqliteConnection};

use crate::{
    connect, folder,
    hash::{self, Salt},
    transaction::IDS_IN_A_MS,
};

/// How many rows are read at once.
const ROWS: i64 = 64;

/// Why the audit cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// There is no state in the folder.
    #[error("there is no state in `{}`", .0.display())]
    Missing(PathBuf),
    /// The file cannot be read.
    #[error("the state file cannot be read")]
    File(#[from] sqlx::Error),
    /// A row holds something else than records.
    #[error("the records of batch {batch} cannot be read")]
    Records {
        /// The row.
        batch: i64,
        /// Why.
        #[source]
        cause: serde_json::Error,
    },
}

/// Reads the audit of a state. It changes nothing and may read while a service writes.
///
/// ```
/// use redress_state::{AuditFilter, AuditReader, StateStore, StateOptions};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let folder = tempfile::tempdir().unwrap();
/// # let folder = folder.path();
/// # let state = StateStore::open(StateOptions::new(folder)).await.unwrap();
/// let mut reader = AuditReader::open(folder).await.unwrap();
/// let filter = AuditFilter::new().operation("files.*").unwrap().code("FORBIDDEN").limit(20);
/// assert!(reader.read(&filter).await.unwrap().is_empty());
/// // What is kept from now on:
/// assert!(reader.next(&filter).await.unwrap().is_empty());
/// # state.close().await.unwrap();
/// # });
/// ```
#[derive(Debug)]
pub struct AuditReader {
    connection: SqliteConnection,
    salt: Salt,
    /// The last row that was there when somebody read.
    seen: i64,
}

/// One row.
struct StoredRow {
    id: i64,
    records: Vec<AuditRecord>,
}

impl AuditReader {
    /// Opens the audit of the state in `folder`.
    pub async fn open(folder: impl AsRef<Path>) -> Result<AuditReader, ReadError> {
        let folder = folder.as_ref();
        if !folder.join(folder::DATABASE).is_file() {
            return Err(ReadError::Missing(folder.to_owned()));
        }
        let mut connection = connect::reading(folder).await?;
        let salt = connect::read_salt(&mut connection).await?;
        let seen = connect::newest(&mut connection).await?;
        Ok(AuditReader { connection, salt, seen })
    }

    /// The hash under which calls with exactly this input are recorded, for [`AuditFilter::input`].
    pub fn hash(&self, input: &[u8]) -> String {
        String::from_utf8_lossy(&hash::text(&hash::keyed(&self.salt, input))).into_owned()
    }

    /// The latest records that pass the filter, the oldest of them first.
    pub async fn read(&mut self, filter: &AuditFilter) -> Result<Vec<AuditRecord>, ReadError> {
        let newest = connect::newest(&mut self.connection).await?;
        let mut found = Vec::new();
        let mut before = newest.saturating_add(1);
        while found.len() < filter.limit {
            let rows = sqlx::query(
                "SELECT id, records FROM audit_batches \
                 WHERE id < ?1 AND id >= ?2 * ?3 AND last_ms >= ?2 AND first_ms <= ?4 ORDER BY id DESC LIMIT ?5",
            )
            .bind(before)
            .bind(filter.since_ms())
            .bind(IDS_IN_A_MS)
            .bind(filter.until_ms())
            .bind(ROWS)
            .fetch_all(&mut self.connection)
            .await?;
            let Some(last) = rows.last() else { break };
            before = last.try_get(0)?;
            for row in &rows {
                let records = StoredRow::of(row)?.records;
                found.extend(records.into_iter().rev().filter(|record| filter.passes(record)));
            }
        }
        found.truncate(filter.limit);
        found.reverse();
        self.seen = newest;
        Ok(found)
    }

    /// The records that pass the filter and were kept since the last look, whatever the limit; since now, at first.
    pub async fn next(&mut self, filter: &AuditFilter) -> Result<Vec<AuditRecord>, ReadError> {
        let mut found = Vec::new();
        loop {
            let rows = sqlx::query("SELECT id, records FROM audit_batches WHERE id > ? ORDER BY id LIMIT ?")
                .bind(self.seen)
                .bind(ROWS)
                .fetch_all(&mut self.connection)
                .await?;
            for row in &rows {
                let StoredRow { id, records } = StoredRow::of(row)?;
                found.extend(records.into_iter().filter(|record| filter.passes(record)));
                self.seen = id;
            }
            if rows.is_empty() {
                return Ok(found);
            }
        }
    }
}

impl StoredRow {
    fn of(row: &sqlx::sqlite::SqliteRow) -> Result<StoredRow, ReadError> {
        let id = row.try_get(0)?;
        let records = serde_json::from_str(row.try_get(1)?).map_err(|cause| ReadError::Records { batch: id, cause })?;
        Ok(StoredRow { id, records })
    }
}
