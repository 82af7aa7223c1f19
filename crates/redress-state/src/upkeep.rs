//! Removing what is past its time, by a clock that nobody can set far ahead.

use std::time::Duration;

use sqlx::SqliteConnection;

use crate::{
    clock::ms,
    connect::{read_number, write_number},
    shared::Shared,
};

const CLOCK: &str = "clock_ms";
const RAN: &str = "ran_ms";

/// How much faster than time itself the clock may go until it has caught up with the wall: a day in an hour.
const CATCH_UP: i64 = 24;
/// How many rows of each sort one piece of upkeep removes at most, and about how many bytes, so that no call waits for
/// long.
const ROWS: i64 = 1_000;
const BYTES: i64 = 4 << 20;

/// For how long services have run on this state before.
pub(crate) async fn ran_before(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    Ok(read_number(connection, RAN).await?.unwrap_or(0))
}

/// The clock that retention goes by. It follows the wall, but not back, and forward only so fast: a clock that is set
/// years ahead by mistake does not empty the audit before somebody has seen it.
pub(crate) struct Clock {
    at_ms: i64,
    since: Duration,
    /// Whether the last piece was not all of it.
    more: bool,
}

impl Clock {
    /// The clock as it was kept, or the wall's on a new state.
    pub(crate) async fn kept(
        wall_ms: i64,
        since: Duration,
        connection: &mut SqliteConnection,
    ) -> Result<Clock, sqlx::Error> {
        let at_ms = read_number(connection, CLOCK).await?.unwrap_or(wall_ms);
        Ok(Clock { at_ms, since, more: false })
    }

    pub(crate) fn now_ms(&self, shared: &Shared) -> i64 {
        let passed = ms(shared.running().saturating_sub(self.since));
        let most = self.at_ms.saturating_add(passed.saturating_mul(CATCH_UP + 1));
        shared.wall_ms().clamp(self.at_ms, most)
    }

    /// Keeps the clocks.
    pub(crate) async fn keep(&mut self, shared: &Shared, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        let now_ms = self.now_ms(shared);
        write_number(connection, CLOCK, now_ms).await?;
        write_number(connection, RAN, shared.ran_ms()).await?;
        (self.at_ms, self.since) = (now_ms, shared.running());
        Ok(())
    }

    /// Whether there is more to remove than the last piece of upkeep did. It is told once.
    pub(crate) fn take_more(&mut self) -> bool {
        std::mem::take(&mut self.more)
    }

    /// Removes what is past its time, some of it where there is much.
    pub(crate) async fn run(&mut self, shared: &Shared, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        self.keep(shared, connection).await?;
        sqlx::query("DELETE FROM consents WHERE until_ms <= ?")
            .bind(shared.latest_ms())
            .execute(&mut *connection)
            .await?;
        let oldest = shared.ran_ms().saturating_sub(ms(shared.options.keys_last));
        let keys = remove_keys(oldest, connection).await?;
        let oldest = self.at_ms.saturating_sub(ms(shared.options.retention));
        let batches = remove_batches(oldest, connection).await?;
        self.more = keys || batches;
        Ok(())
    }
}

/// Removes the oldest of the keys that are past their time, and tells whether there are more.
async fn remove_keys(oldest: i64, connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    sqlx::query(
        "DELETE FROM keys WHERE (caller, operation, key) IN ( \
           SELECT caller, operation, key FROM ( \
             SELECT caller, operation, key, sum(octet_length(outcome)) OVER (ROWS UNBOUNDED PRECEDING) AS bytes, \
                    row_number() OVER () AS number FROM ( \
               SELECT * FROM keys WHERE age <= ?1 AND stage <> 'running' ORDER BY age LIMIT ?2)) \
           WHERE coalesce(bytes, 0) <= ?3 OR number = 1)",
    )
    .bind(oldest)
    .bind(ROWS)
    .bind(BYTES)
    .execute(&mut *connection)
    .await?;
    sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM keys WHERE age <= ? AND stage <> 'running')")
        .bind(oldest)
        .fetch_one(connection)
        .await
}

/// Removes the oldest of the batches of records that are past their time, and tells whether there are more.
async fn remove_batches(oldest: i64, connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    sqlx::query(
        "DELETE FROM audit_batches WHERE id IN ( \
           SELECT id FROM ( \
             SELECT id, sum(octet_length(records)) OVER (ROWS UNBOUNDED PRECEDING) AS bytes, \
                    row_number() OVER () AS number FROM ( \
               SELECT * FROM audit_batches WHERE age_ms < ?1 ORDER BY age_ms LIMIT ?2)) \
           WHERE bytes <= ?3 OR number = 1)",
    )
    .bind(oldest)
    .bind(ROWS)
    .bind(BYTES)
    .execute(&mut *connection)
    .await?;
    sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM audit_batches WHERE age_ms < ?)")
        .bind(oldest)
        .fetch_one(connection)
        .await
}
