//! The one task that writes. It takes all that waits, keeps it in one transaction, and only then lets anybody say so;
//! what cannot be kept it tries again until it can.

use std::{fs::File, future::Future, pin::pin, sync::Arc, time::Duration};

use redress_core::{
    Begin, Recorded, StoreBroken,
    contract::{Json, Output},
};
use sqlx::{Row as _, SqliteConnection};
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::{
    clock::{ms, to_ms},
    connect,
    job::{Answer, Job, Work},
    queue::{Load, Records},
    shared::Shared,
    upkeep,
};

/// How often what is past its time is removed.
const UPKEEP: Duration = Duration::from_secs(60);
/// How often those who wait are looked at while a write takes long.
const LOOK: Duration = Duration::from_millis(250);
/// The first and the longest pause after an attempt that failed.
const PAUSE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));
/// Writes that take less than this are not worth a timer.
const WORTH_WAITING: Duration = Duration::from_micros(500);
/// The longest that calls wait for others to be kept with them.
const LONGEST_GATHERING: Duration = Duration::from_millis(2);
/// How often calls that are ready to end are let come along, at most.
const GATHERINGS: usize = 16;
/// How long a state that is closed goes on trying.
const LAST_TRIES: Duration = Duration::from_secs(10);

pub(crate) struct Writer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) connection: SqliteConnection,
    pub(crate) upkeep: upkeep::Clock,
    /// How long the last write took, and how many records were in it.
    pub(crate) last: (Duration, i64),
    /// The lock on the folder, given back when the last word is written.
    pub(crate) folder: File,
}

/// That a closed state could not keep all that it had been given.
pub(crate) struct Unkept {
    pub(crate) records: i64,
    pub(crate) cause: sqlx::Error,
}

impl Writer {
    /// Writes until the queue is closed and empty.
    pub(crate) async fn run(mut self) -> Result<(), Unkept> {
        let shared = Arc::clone(&self.shared);
        let queue = &shared.queue;
        let mut upkeep = interval(UPKEEP);
        upkeep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let load = queue.take();
            if load.is_empty() {
                if queue.is_closed() {
                    break;
                }
                tokio::select! {
                    () = queue.wake.notified() => self.gather().await,
                    _ = upkeep.tick() => drop(queue.push(Work::Upkeep)),
                }
                continue;
            }
            let (began, records) = (shared.running(), load.rows.iter().map(|row| row.count).sum());
            self.keep(load).await?;
            self.last = (shared.running().saturating_sub(began), records);
        }
        let kept = self.upkeep.keep(&shared, &mut self.connection).await;
        let closed = connect::close(self.connection).await;
        drop(self.folder);
        kept.and(closed).map_err(|cause| Unkept { records: 0, cause })
    }

    /// Lets calls come along that are about to end, since one write costs the same for all of them: those that are
    /// ready, and where calls come together and a write takes long, those of as long as that, or of two milliseconds.
    async fn gather(&self) {
        let queue = &self.shared.queue;
        let mut waiting = queue.waiting();
        for _ in 0..GATHERINGS {
            tokio::task::yield_now().await;
            let before = std::mem::replace(&mut waiting, queue.waiting());
            if waiting == before {
                break;
            }
        }
        let (took, records) = self.last;
        let together = waiting.records > 1 || records > 1;
        if together && waiting.jobs == 0 && took >= WORTH_WAITING && !queue.is_closed() {
            sleep(took.min(LONGEST_GATHERING)).await;
        }
    }

    /// Keeps the whole load, however often that has to be tried.
    async fn keep(&mut self, mut load: Load) -> Result<(), Unkept> {
        let shared = Arc::clone(&self.shared);
        let mut pause = PAUSE.0;
        let mut closed_since = None;
        loop {
            let attempt = attempt(&shared, &mut self.connection, &mut self.upkeep, &load);
            let cause = match attend(&shared, &load.rows, attempt).await {
                Ok(answers) => {
                    shared.queue.set_failing(false);
                    finish(&shared, load, answers);
                    return Ok(());
                }
                Err(cause) => cause,
            };
            tracing::error!(%cause, "the state cannot be written; it is tried again");
            shared.queue.set_failing(true);
            refuse_new(&mut load, &cause);
            if load.is_empty() {
                // Nothing is owed to anybody, and whoever comes next is the next attempt.
                shared.queue.set_failing(false);
                return Ok(());
            }
            if shared.queue.is_closed() {
                let since = *closed_since.get_or_insert_with(|| shared.running());
                if shared.running().saturating_sub(since) >= LAST_TRIES {
                    shared.queue.release_before(&load.rows, Duration::MAX);
                    let records = load.rows.iter().map(|row| row.count).sum();
                    return Err(Unkept { records, cause });
                }
            }
            attend(&shared, &load.rows, sleep(pause)).await;
            pause = (pause * 2).min(PAUSE.1);
        }
    }
}

/// Waits for `step`, and meanwhile answers the calls that have waited long enough for their records.
async fn attend<T>(shared: &Shared, in_hand: &[Records], step: impl Future<Output = T>) -> T {
    let mut step = pin!(step);
    loop {
        tokio::select! {
            biased;
            ended = &mut step => return ended,
            () = sleep(LOOK) => {
                if let Some(then) = shared.running().checked_sub(shared.options.patience) {
                    shared.queue.release_before(in_hand, then);
                }
            }
        }
    }
}

/// Tells those whose work has not begun that it will not.
fn refuse_new(load: &mut Load, cause: &sqlx::Error) {
    let (insisting, refused): (Vec<Job>, Vec<Job>) =
        std::mem::take(&mut load.jobs).into_iter().partition(|job| job.work.insists());
    load.jobs = insisting;
    for job in refused {
        // Whoever has gone needs no answer.
        let _ = job.reply.send(Err(StoreBroken::new(cause.to_string())));
    }
}

/// Tells everybody that their work is kept.
fn finish(shared: &Shared, load: Load, answers: Vec<Answer>) {
    shared.queue.kept(&load.rows);
    for row in &load.rows {
        row.batch.release();
    }
    for (job, answer) in load.jobs.into_iter().zip(answers) {
        match &job.work {
            Work::Settle { key, claim, .. } => shared.let_go(key, *claim),
            Work::Grant { consent, order } => shared.consents().granted(consent, *order),
            Work::Withdraw { caller, scope, order } => shared.consents().withdrawn(caller, scope, *order),
            Work::Upkeep => shared.consents().forget_ended(shared.latest_ms()),
            Work::Begin { .. } | Work::Free { .. } => {}
        }
        let _ = job.reply.send(Ok(answer));
    }
}

/// One transaction with all of the load in it.
async fn attempt(
    shared: &Shared,
    connection: &mut SqliteConnection,
    upkeep: &mut upkeep::Clock,
    load: &Load,
) -> Result<Vec<Answer>, sqlx::Error> {
    // By far the most frequent load is one statement, which is a transaction of its own.
    if let ([row], []) = (load.rows.as_slice(), load.jobs.as_slice()) {
        insert(shared, connection, upkeep, row).await?;
        return Ok(Vec::new());
    }
    sqlx::query("BEGIN IMMEDIATE").execute(&mut *connection).await?;
    let written = write(shared, connection, upkeep, load).await;
    let ended = match written {
        Ok(answers) => sqlx::query("COMMIT").execute(&mut *connection).await.map(|_| answers),
        Err(error) => Err(error),
    };
    if ended.is_err() {
        // It may have been rolled back already, and then there is nothing to do.
        let _ = sqlx::query("ROLLBACK").execute(&mut *connection).await;
    }
    ended
}

async fn write(
    shared: &Shared,
    connection: &mut SqliteConnection,
    upkeep: &mut upkeep::Clock,
    load: &Load,
) -> Result<Vec<Answer>, sqlx::Error> {
    for row in &load.rows {
        insert(shared, connection, upkeep, row).await?;
    }
    let mut answers = Vec::with_capacity(load.jobs.len());
    for job in &load.jobs {
        answers.push(carry_out(shared, connection, upkeep, &job.work).await?);
    }
    Ok(answers)
}

async fn insert(
    shared: &Shared,
    connection: &mut SqliteConnection,
    upkeep: &upkeep::Clock,
    row: &Records,
) -> Result<(), sqlx::Error> {
    let age_ms = upkeep.now_ms(shared).max(row.last_ms);
    sqlx::query("INSERT INTO audit_batches (first_ms, last_ms, age_ms, count, records) VALUES (?, ?, ?, ?, ?)")
        .bind(row.first_ms)
        .bind(row.last_ms)
        .bind(age_ms)
        .bind(row.count)
        .bind(row.text.as_str())
        .execute(connection)
        .await?;
    Ok(())
}

async fn carry_out(
    shared: &Shared,
    connection: &mut SqliteConnection,
    upkeep: &mut upkeep::Clock,
    work: &Work,
) -> Result<Answer, sqlx::Error> {
    match work {
        Work::Begin { key, input, claim } => {
            let oldest = shared.ran_ms().saturating_sub(ms(shared.options.keys_last));
            let known = sqlx::query(
                "SELECT input, stage, outcome FROM keys WHERE caller = ? AND operation = ? AND key = ? AND age > ?",
            )
            .bind(key.caller.as_str())
            .bind(key.operation.as_str())
            .bind(&*key.key)
            .bind(oldest)
            .fetch_optional(&mut *connection)
            .await?;
            if let Some(row) = known {
                let same = row.try_get::<&[u8], _>(0)? == input;
                let begin = if same { again(row.try_get(1)?, row.try_get(2)?) } else { Begin::Conflict };
                return Ok(Answer::Begin(begin));
            }
            sqlx::query(
                "INSERT OR REPLACE INTO keys (caller, operation, key, claim, input, age, stage) \
                 VALUES (?, ?, ?, ?, ?, ?, 'running')",
            )
            .bind(key.caller.as_str())
            .bind(key.operation.as_str())
            .bind(&*key.key)
            .bind(claim)
            .bind(input.as_slice())
            .bind(shared.ran_ms())
            .execute(connection)
            .await?;
            return Ok(Answer::Begin(Begin::Fresh));
        }
        Work::Free { key, claim } => {
            sqlx::query("DELETE FROM keys WHERE caller = ? AND operation = ? AND key = ? AND claim = ?")
                .bind(key.caller.as_str())
                .bind(key.operation.as_str())
                .bind(&*key.key)
                .bind(claim)
                .execute(connection)
                .await?;
        }
        Work::Settle { key, claim, stage, outcome } => {
            sqlx::query(
                "UPDATE keys SET stage = ?, outcome = ? WHERE caller = ? AND operation = ? AND key = ? AND claim = ?",
            )
            .bind(*stage)
            .bind(outcome.as_deref())
            .bind(key.caller.as_str())
            .bind(key.operation.as_str())
            .bind(&*key.key)
            .bind(claim)
            .execute(connection)
            .await?;
        }
        Work::Grant { consent, .. } => {
            sqlx::query("INSERT OR REPLACE INTO consents (caller, scope, until_ms, reason) VALUES (?, ?, ?, ?)")
                .bind(consent.caller.as_str())
                .bind(consent.scope.to_string())
                .bind(to_ms(consent.until))
                .bind(consent.reason.as_str())
                .execute(connection)
                .await?;
        }
        Work::Withdraw { caller, scope, .. } => {
            sqlx::query("DELETE FROM consents WHERE caller = ? AND scope = ?")
                .bind(caller.as_str())
                .bind(scope.as_str())
                .execute(connection)
                .await?;
        }
        Work::Upkeep => upkeep.run(shared, connection).await?,
    }
    Ok(Answer::Done)
}

/// What a row says to the same call once more. One that cannot be read tells as little as one that was cut off.
fn again(stage: &str, outcome: Option<String>) -> Begin {
    let recorded = match (stage, outcome) {
        ("output", Some(text)) => Output::encode(&Json::from_written(text)).ok().map(Recorded::Output),
        ("problem", Some(text)) => serde_json::from_str(&text).ok().map(|problem| Recorded::Problem(Box::new(problem))),
        _ => None,
    };
    recorded.map_or(Begin::Unknown, Begin::Replay)
}
