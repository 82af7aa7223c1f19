//! Connections to the file, and the shape that it is brought into.

use std::{path::Path, time::Duration};

use sqlx::{
    ConnectOptions as _, Connection as _, SqlSafeStr as _, SqliteConnection,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
    sqlite::{SqliteConnectOptions, SqliteJournalMode},
};

use crate::{Sync, folder::DATABASE, hash::Salt};

/// How long one attempt waits for a file that is locked. The writer tries again and again, so it is short.
const BUSY: Duration = Duration::from_millis(500);

/// How many pages may gather in the log before they are moved into the file.
/// What is moved seldom makes the log long, and a sync of a log that grows has its length to write too.
const CHECKPOINT: &str = "1000";

/// The connection that writes.
pub(crate) async fn writing(folder: &Path, sync: Sync) -> Result<SqliteConnection, sqlx::Error> {
    SqliteConnectOptions::new()
        .filename(folder.join(DATABASE))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(sync.pragma())
        .busy_timeout(BUSY)
        .pragma("wal_autocheckpoint", CHECKPOINT)
        // What is past its time is not to be found in the file any more.
        .pragma("secure_delete", "ON")
        .disable_statement_logging()
        .connect()
        .await
}

/// A connection that only reads, beside a service that writes.
pub(crate) async fn reading(folder: &Path) -> Result<SqliteConnection, sqlx::Error> {
    SqliteConnectOptions::new()
        .filename(folder.join(DATABASE))
        .read_only(true)
        .busy_timeout(Duration::from_secs(5))
        .disable_statement_logging()
        .connect()
        .await
}

/// A connection that places orders, beside a service that writes. It makes no file.
pub(crate) async fn ordering(folder: &Path) -> Result<SqliteConnection, sqlx::Error> {
    SqliteConnectOptions::new()
        .filename(folder.join(DATABASE))
        .create_if_missing(false)
        .busy_timeout(Duration::from_secs(5))
        .pragma("secure_delete", "ON")
        .disable_statement_logging()
        .connect()
        .await
}

/// Brings the file into today's shape. A file of a newer service is refused as it is.
pub(crate) async fn migrate(connection: &mut SqliteConnection) -> Result<(), MigrateError> {
    migrator().run(connection).await
}

/// The steps into today's shape.
pub(crate) fn migrator() -> Migrator {
    let steps = [
        (1, "state", include_str!("../migrations/0001_state.sql")),
        (2, "quotas", include_str!("../migrations/0002_quotas.sql")),
        (3, "consent orders", include_str!("../migrations/0003_consent_orders.sql")),
        (4, "refused orders", include_str!("../migrations/0004_refused_orders.sql")),
    ];
    let step = |(version, says, sql): (i64, &'static str, &'static str)| {
        Migration::new(version, says.into(), MigrationType::Simple, sql.into_sql_str(), false)
    };
    Migrator::with_migrations(steps.into_iter().map(step).collect())
}

/// The salt of the file, made when it is first asked for.
pub(crate) async fn salt(connection: &mut SqliteConnection) -> Result<Salt, sqlx::Error> {
    sqlx::query("INSERT INTO meta (name, value) VALUES ('salt', randomblob(16)) ON CONFLICT DO NOTHING")
        .execute(&mut *connection)
        .await?;
    read_salt(connection).await
}

/// The salt of a file that has one.
pub(crate) async fn read_salt(connection: &mut SqliteConnection) -> Result<Salt, sqlx::Error> {
    let salt: Vec<u8> = sqlx::query_scalar("SELECT value FROM meta WHERE name = 'salt'").fetch_one(connection).await?;
    Salt::try_from(salt.as_slice()).map_err(|error| sqlx::Error::Decode(error.into()))
}

/// The last row of records there is.
pub(crate) async fn newest(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("SELECT COALESCE(MAX(id), 0) FROM audit_batches").fetch_one(connection).await
}

/// A number that is kept about the file.
pub(crate) async fn read_number(connection: &mut SqliteConnection, name: &str) -> Result<Option<i64>, sqlx::Error> {
    sqlx::query_scalar("SELECT CAST(value AS INTEGER) FROM meta WHERE name = ?")
        .bind(name.to_owned())
        .fetch_optional(connection)
        .await
}

/// Keeps a number about the file.
pub(crate) async fn write_number(connection: &mut SqliteConnection, name: &str, value: i64) -> Result<(), sqlx::Error> {
    sqlx::query("INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value")
        .bind(name.to_owned())
        .bind(value)
        .execute(connection)
        .await?;
    Ok(())
}

/// Moves the log into the file and lets go of it.
pub(crate) async fn close(mut connection: SqliteConnection) -> Result<(), sqlx::Error> {
    sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut connection).await?;
    connection.close().await
}
