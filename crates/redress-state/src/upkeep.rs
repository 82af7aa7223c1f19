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
/// How many rows one piece of upkeep removes at most, so that no call waits for long.
const ROWS: i64 = 1_000;

/// For how long services have run on this state before.
pub(crate) async fn ran_before(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    Ok(read_number(connection, RAN).await?.unwrap_or(0))
}

/// The clock that retention goes by. It follows the wall, but not back, and forward only so fast: a clock that is set
/// years ahead by mistake does not empty the audit before somebody has seen it.
pub(crate) struct Clock {
    at_ms: i64,
    since: Duration,
}

impl Clock {
    /// The clock as it was kept, or the wall's on a new state.
    pub(crate) async fn kept(
        wall_ms: i64,
        since: Duration,
        connection: &mut SqliteConnection,
    ) -> Result<Clock, sqlx::Error> {
        let at_ms = read_number(connection, CLOCK).await?.unwrap_or(wall_ms);
        Ok(Clock { at_ms, since })
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

    /// Removes what is past its time, some of it where there is much.
    pub(crate) async fn run(&mut self, shared: &Shared, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        self.keep(shared, connection).await?;
        sqlx::query("DELETE FROM consents WHERE until_ms <= ?")
            .bind(shared.latest_ms())
            .execute(&mut *connection)
            .await?;
        sqlx::query(
            "DELETE FROM keys WHERE (caller, operation, key) IN \
             (SELECT caller, operation, key FROM keys WHERE age <= ? AND stage <> 'running' LIMIT ?)",
        )
        .bind(shared.ran_ms().saturating_sub(ms(shared.options.keys_last)))
        .bind(ROWS)
        .execute(&mut *connection)
        .await?;
        let oldest = self.at_ms.saturating_sub(ms(shared.options.retention));
        sqlx::query(
            "DELETE FROM audit_batches WHERE id IN \
             (SELECT id FROM audit_batches WHERE last_ms < ?1 AND age_ms < ?1 ORDER BY last_ms LIMIT ?2)",
        )
        .bind(oldest)
        .bind(ROWS)
        .execute(&mut *connection)
        .await?;
        Ok(())
    }
}
