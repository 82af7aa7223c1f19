//! Removing what is past its time, by a clock that nobody can set far ahead.

use std::time::Duration;

use sqlx::{Row as _, SqliteConnection};

use crate::{
    clock::ms,
    connect::{read_number, write_number},
    quotas,
    shared::StateInner,
};

const CLOCK: &str = "clock_ms";
const RAN: &str = "ran_ms";

/// How much faster than time itself the clock may go until it has caught up with the wall: a day in an hour.
const CATCH_UP: i64 = 24;
/// How many rows of each sort one piece of upkeep removes at most, and about how many bytes, so that no call waits for
/// long.
const PIECE: usize = 1_000;
const ROWS: i64 = PIECE as i64;
const BYTES: i64 = 4 << 20;

/// For how long services have run on this state before.
pub(crate) async fn ran_before(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    Ok(read_number(connection, RAN).await?.unwrap_or(0))
}

/// The clock that retention goes by. It follows the wall, but not back, and forward only so fast: a clock that is set
/// years ahead by mistake does not empty the audit before somebody has seen it.
pub(crate) struct RetentionClock {
    at_ms: i64,
    since: Duration,
    /// Whether the last piece was not all of it.
    more: bool,
    /// The last batch of records that this round of upkeep has looked at.
    swept: i64,
}

impl RetentionClock {
    /// The clock as it was kept, or the wall's on a new state.
    pub(crate) async fn kept(
        wall_ms: i64,
        since: Duration,
        connection: &mut SqliteConnection,
    ) -> Result<RetentionClock, sqlx::Error> {
        let at_ms = read_number(connection, CLOCK).await?.unwrap_or(wall_ms);
        Ok(RetentionClock { at_ms, since, more: false, swept: 0 })
    }

    pub(crate) fn now_ms(&self, shared: &StateInner) -> i64 {
        let passed = ms(shared.running().saturating_sub(self.since));
        let max = self.at_ms.saturating_add(passed.saturating_mul(CATCH_UP + 1));
        shared.wall_ms().clamp(self.at_ms, max)
    }

    /// Keeps the clocks.
    pub(crate) async fn keep(
        &mut self,
        shared: &StateInner,
        connection: &mut SqliteConnection,
    ) -> Result<(), sqlx::Error> {
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
    pub(crate) async fn run(
        &mut self,
        shared: &StateInner,
        addresses: &mut quotas::Addresses,
        connection: &mut SqliteConnection,
    ) -> Result<(), sqlx::Error> {
        self.keep(shared, connection).await?;
        sqlx::query("DELETE FROM consents WHERE until_ms <= ?")
            .bind(shared.latest_ms())
            .execute(&mut *connection)
            .await?;
        let oldest = shared.ran_ms().saturating_sub(ms(shared.options.keys_last));
        let keys = remove_keys(oldest, connection).await?;
        let oldest = self.at_ms.saturating_sub(ms(shared.options.retention));
        let batches = self.remove_batches(oldest, connection).await?;
        // By the wall too: where it was set back, what is counted now is long over by the clock that only goes forward.
        let counted_s = self.at_ms.min(shared.wall_ms()) / 1000;
        let counts = quotas::remove_ended(counted_s, connection).await?;
        let over = addresses.make_room(counted_s, connection).await?;
        self.more = keys || batches || counts || over;
        Ok(())
    }

    /// Removes what is past its time among the batches of records that come next, and tells whether to go on with those
    /// behind them.
    ///
    /// Batches come in the order of their age, so that no index has to be written with each of them. The exception is
    /// what was kept while the wall was ahead: it stays until the clock has come that far, and is stepped over.
    async fn remove_batches(&mut self, oldest: i64, connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
        let next = "SELECT id, age_ms, octet_length(records) FROM audit_batches WHERE id > ? ORDER BY id LIMIT ?";
        let rows = sqlx::query(next).bind(self.swept).bind(ROWS).fetch_all(&mut *connection).await?;
        // Behind the last of them there is nothing, and behind a young one nothing that is old.
        let mut more = rows.len() == PIECE;
        let (mut last, mut gone, mut bytes) = (self.swept, 0, 0);
        for row in &rows {
            let (id, age_ms, size): (i64, i64, i64) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
            if age_ms < oldest {
                if gone > 0 && bytes + size > BYTES {
                    more = true;
                    break;
                }
                bytes += size;
                gone += 1;
            } else if age_ms <= self.at_ms {
                more = false;
            }
            last = id;
        }
        if gone > 0 {
            sqlx::query("DELETE FROM audit_batches WHERE id > ? AND id <= ? AND age_ms < ?")
                .bind(self.swept)
                .bind(last)
                .bind(oldest)
                .execute(connection)
                .await?;
        }
        self.swept = if more { last } else { 0 };
        Ok(more)
    }
}

/// Removes the oldest of the keys that are past their time, and tells whether there are more.
async fn remove_keys(oldest: i64, connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    sqlx::query(
        "DELETE FROM keys WHERE (caller, operation, key) IN ( \
           SELECT caller, operation, key FROM ( \
             SELECT caller, operation, key, sum(size) OVER (ROWS UNBOUNDED PRECEDING) AS bytes, \
                    row_number() OVER () AS number FROM ( \
               SELECT caller, operation, key, octet_length(outcome) AS size FROM keys \
               WHERE age <= ?1 AND stage <> 'running' ORDER BY age LIMIT ?2)) \
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
