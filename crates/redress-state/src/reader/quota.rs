//! Reading what was counted against quotas, beside a running service or after it.

use std::{
    path::Path,
    time::{Duration, SystemTime},
};

use redress_core::{QuotaWindow, rfc3339};
use serde::{Serialize, Serializer};
use sqlx::{Row as _, SqliteConnection};

use super::ReadError;
use crate::{clock::to_ms, connect, folder};

/// The end of the year 9999.
const LAST_SECOND: u64 = 253_402_300_799;

/// How much a caller has used of one allowance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct QuotaRecord {
    /// Who; nobody for those without an id.
    pub caller: Option<String>,
    /// Where those without an id come from, where that is known; `others` for all that are too many to be told apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// What is counted together: the operations of the rule, and its callers where it names some.
    pub rule: String,
    /// For how long the allowance is.
    #[serde(serialize_with = "window")]
    pub window: QuotaWindow,
    /// How many calls were counted.
    pub used: u64,
    /// How many there were to use when the last one was counted.
    pub limit: u64,
    /// When the allowance is whole again.
    #[serde(serialize_with = "time")]
    pub renews_at: SystemTime,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde lends what it writes")]
fn window<S: Serializer>(window: &QuotaWindow, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(window.as_str())
}

fn time<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&rfc3339(*time))
}

/// Reads the quotas of a state. It changes nothing and may read while a service writes.
///
/// ```
/// use std::time::SystemTime;
/// use redress_state::{QuotaReader, StateStore, StateOptions};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let folder = tempfile::tempdir().unwrap();
/// # let folder = folder.path();
/// # let state = StateStore::open(StateOptions::new(folder)).await.unwrap();
/// let mut reader = QuotaReader::open(folder).await.unwrap();
/// assert!(reader.read(SystemTime::now(), Some("ada")).await.unwrap().is_empty());
/// # state.close().await.unwrap();
/// # });
/// ```
#[derive(Debug)]
pub struct QuotaReader(SqliteConnection);

impl QuotaReader {
    /// Opens the quotas of the state in `folder`.
    pub async fn open(folder: impl AsRef<Path>) -> Result<QuotaReader, ReadError> {
        let folder = folder.as_ref();
        if !folder.join(folder::DATABASE).is_file() {
            return Err(ReadError::Missing(folder.to_owned()));
        }
        Ok(QuotaReader(connect::reading(folder).await?))
    }

    /// What has been used of the allowances that hold at `now`, of all callers or of one.
    pub async fn read(&mut self, now: SystemTime, caller: Option<&str>) -> Result<Vec<QuotaRecord>, ReadError> {
        let known =
            sqlx::query("SELECT 1 FROM sqlite_master WHERE name = 'quotas'").fetch_optional(&mut self.0).await?;
        // The file of a service that knew no quotas has counted none.
        if known.is_none() {
            return Ok(Vec::new());
        }
        let rows = sqlx::query(
            "SELECT caller, rule, period, used, allowed, renews FROM quotas \
             WHERE starts <= ?1 AND renews > ?1 AND used > 0 AND (?2 IS NULL OR caller = ?2) \
             ORDER BY caller, rule, starts",
        )
        .bind(to_ms(now) / 1000)
        .bind(caller)
        .fetch_all(&mut self.0)
        .await?;
        rows.iter().map(record).collect()
    }
}

/// The moment so many seconds after 1970, where a date can be written for it. No other was ever counted to.
fn renewal(seconds: u64) -> Option<SystemTime> {
    let since = (seconds <= LAST_SECOND).then(|| Duration::from_secs(seconds))?;
    SystemTime::UNIX_EPOCH.checked_add(since)
}

fn record(row: &sqlx::sqlite::SqliteRow) -> Result<QuotaRecord, ReadError> {
    let number = |place| row.try_get::<i64, _>(place).map(|number| u64::try_from(number).unwrap_or_default());
    let (who, period): (String, String) = (row.try_get(0)?, row.try_get(2)?);
    let window = QuotaWindow::parse(&period);
    let (caller, address) = match who.strip_prefix('\0') {
        Some(address) => (None, Some(address.to_owned())),
        None if who.is_empty() => (None, None),
        None => (Some(who), None),
    };
    Ok(QuotaRecord {
        caller,
        address,
        rule: row.try_get(1)?,
        window: window
            .ok_or_else(|| ReadError::File(sqlx::Error::Decode(format!("`{period}` is no window").into())))?,
        used: number(3)?,
        limit: number(4)?,
        renews_at: renewal(number(5)?)
            .ok_or_else(|| ReadError::File(sqlx::Error::Decode("a count renews past all times".into())))?,
    })
}
