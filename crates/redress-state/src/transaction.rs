//! The file, as the writer fills it: one transaction for all that waits.

use std::sync::Arc;

use redress_core::{
    Begin, IdempotencyKey, Recorded,
    contract::{Json, OutputJson},
    offload::{LARGE, offload},
};
use sqlx::{Row as _, SqliteConnection};

use crate::{
    clock::ms,
    command::{CommandReply, WriteWork},
    connect,
    consent_orders::{self, ForeignChanges},
    folder::FolderLock,
    hash,
    queue::{RecordRow, WriteBatch},
    quotas, retention,
    shared::StateInner,
};

/// How many rows there may be in a millisecond before their ids run ahead of it.
pub(crate) const IDS_IN_A_MS: i64 = 4096;
/// The latest moment that an id tells; there is room above it.
const LATEST_MS: i64 = i64::MAX / IDS_IN_A_MS / 2;

/// The file, open for writing.
pub(crate) struct Transaction {
    connection: SqliteConnection,
    pub(crate) upkeep: retention::RetentionClock,
    /// The id of the last row of records. Ids only grow, so whoever follows the audit misses nothing.
    last_id: i64,
    /// The lock on the folder, given back when the last word is written.
    folder: FolderLock,
    others: ForeignChanges,
    addresses: quotas::Addresses,
}

impl Transaction {
    pub(crate) async fn open(
        mut connection: SqliteConnection,
        upkeep: retention::RetentionClock,
        folder: FolderLock,
    ) -> Result<Transaction, sqlx::Error> {
        let last_id = connect::newest(&mut connection).await?;
        let addresses = quotas::Addresses::counted(&mut connection).await?;
        Ok(Transaction { connection, upkeep, last_id, folder, others: ForeignChanges::default(), addresses })
    }

    /// Keeps the clocks, moves the log into the file, and lets go of both.
    pub(crate) async fn close(mut self, shared: &StateInner) -> Result<(), sqlx::Error> {
        let kept = self.upkeep.keep(shared, &mut self.connection).await;
        let closed = connect::close(self.connection).await;
        drop(self.folder);
        kept.and(closed)
    }

    /// Whether others may have placed orders since the last look.
    pub(crate) async fn is_changed(&mut self) -> bool {
        let found = consent_orders::changes_of_others(&mut self.connection).await;
        self.others.have_changed(found)
    }

    /// One transaction with all of the load in it.
    pub(crate) async fn attempt(
        &mut self,
        shared: &StateInner,
        load: &WriteBatch,
    ) -> Result<Vec<CommandReply>, sqlx::Error> {
        // By far the most frequent load is one statement, which is a transaction of its own.
        if let ([row], []) = (load.rows.as_slice(), load.commands.as_slice()) {
            self.insert(shared, row).await?;
            return Ok(Vec::new());
        }
        sqlx::query("BEGIN IMMEDIATE").execute(&mut self.connection).await?;
        let written = self.write(shared, load).await;
        let ended = match written {
            Ok(answers) => sqlx::query("COMMIT").execute(&mut self.connection).await.map(|_| answers),
            Err(error) => Err(error),
        };
        if ended.is_err() {
            // It may have been rolled back already, and then there is nothing to do.
            let _ = sqlx::query("ROLLBACK").execute(&mut self.connection).await;
        }
        ended
    }

    async fn write(&mut self, shared: &StateInner, load: &WriteBatch) -> Result<Vec<CommandReply>, sqlx::Error> {
        for row in &load.rows {
            self.insert(shared, row).await?;
        }
        let mut answers = Vec::with_capacity(load.commands.len());
        for command in &load.commands {
            answers.push(self.carry_out(shared, &command.work).await?);
        }
        Ok(answers)
    }

    async fn insert(&mut self, shared: &StateInner, row: &RecordRow) -> Result<(), sqlx::Error> {
        let about = &row.about;
        let age_ms = self.upkeep.now_ms(shared).max(about.last_ms);
        self.last_id = age_ms.clamp(0, LATEST_MS).saturating_mul(IDS_IN_A_MS).max(self.last_id + 1);
        sqlx::query(
            "INSERT INTO audit_batches (id, first_ms, last_ms, age_ms, count, records) VALUES (?, ?, ?, ?, ?, ?)",
        )
        .bind(self.last_id)
        .bind(about.first_ms)
        .bind(about.last_ms)
        .bind(age_ms)
        .bind(about.count)
        .bind(Arc::clone(&row.text))
        .execute(&mut self.connection)
        .await?;
        Ok(())
    }

    async fn carry_out(&mut self, shared: &StateInner, work: &WriteWork) -> Result<CommandReply, sqlx::Error> {
        let connection = &mut self.connection;
        match work {
            WriteWork::Peek { key, input } => {
                let input = hash::keyed(&shared.salt, input);
                let known = known(shared, key, &input, connection).await?;
                return Ok(CommandReply::Begin(known.unwrap_or(Begin::Fresh)));
            }
            WriteWork::Begin { key, input, claim } => {
                // A bare digest would tell a small input to whoever guesses it and reads the file.
                let input = hash::keyed(&shared.salt, input);
                if let Some(known) = known(shared, key, &input, &mut *connection).await? {
                    return Ok(CommandReply::Begin(known));
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
                return Ok(CommandReply::Begin(Begin::Fresh));
            }
            WriteWork::Free { key, claim } => {
                sqlx::query("DELETE FROM keys WHERE caller = ? AND operation = ? AND key = ? AND claim = ?")
                    .bind(key.caller.as_str())
                    .bind(key.operation.as_str())
                    .bind(&*key.key)
                    .bind(claim)
                    .execute(connection)
                    .await?;
            }
            WriteWork::Settle { key, claim, outcome } => {
                let (stage, text) = match outcome {
                    None => LOST,
                    Some(outcome) if is_large(outcome) => {
                        let outcome = Arc::clone(outcome);
                        offload(move || stage_of(&outcome)).await
                    }
                    Some(outcome) => stage_of(outcome),
                };
                sqlx::query(
                    "UPDATE keys SET stage = ?, outcome = ? WHERE caller = ? AND operation = ? AND key = ? AND claim = ?",
                )
                .bind(stage)
                .bind(text)
                .bind(key.caller.as_str())
                .bind(key.operation.as_str())
                .bind(&*key.key)
                .bind(claim)
                .execute(connection)
                .await?;
            }
            WriteWork::Grant { consent, .. } => consent_orders::grant(consent, connection).await?,
            WriteWork::Withdraw { caller, scope, .. } => consent_orders::withdraw(caller, scope, connection).await?,
            WriteWork::Orders { .. } => {
                let orders = consent_orders::take(connection).await?;
                for order in &orders {
                    consent_orders::carry_out(order, connection).await?;
                }
                return Ok(CommandReply::Ordered(orders));
            }
            WriteWork::Used(calls) => {
                return quotas::used(calls, &mut self.addresses, connection).await.map(CommandReply::Used);
            }
            WriteWork::Count(calls, _) => quotas::add(calls, connection).await?,
            WriteWork::Uncount(calls) => quotas::take_back(calls, connection).await?,
            WriteWork::Upkeep => self.upkeep.run(shared, &mut self.addresses, connection).await?,
        }
        Ok(CommandReply::Done)
    }
}

/// What became of a key, where the file knows it and it still lasts.
async fn known(
    shared: &StateInner,
    key: &IdempotencyKey,
    input: &[u8],
    connection: &mut SqliteConnection,
) -> Result<Option<Begin>, sqlx::Error> {
    let oldest = shared.ran_ms().saturating_sub(ms(shared.options.keys_last));
    let known = sqlx::query(
        "SELECT input, stage, outcome, octet_length(outcome) FROM keys \
         WHERE caller = ? AND operation = ? AND key = ? AND age > ?",
    )
    .bind(key.caller.as_str())
    .bind(key.operation.as_str())
    .bind(&*key.key)
    .bind(oldest)
    .fetch_optional(connection)
    .await?;
    let Some(row) = known else { return Ok(None) };
    if row.try_get::<&[u8], _>(0)? != input {
        return Ok(Some(Begin::Conflict));
    }
    let bytes = row.try_get::<Option<i64>, _>(3)?.unwrap_or(0);
    let told = move || Ok(Some(again(row.try_get(1)?, row.try_get(2)?)));
    if usize::try_from(bytes).is_ok_and(|bytes| bytes > LARGE) { offload(told).await } else { told() }
}

const LOST: (&str, Option<Arc<str>>) = ("lost", None);

/// Whether work on an outcome is done off the workers, as everything is that grows with bytes from outside.
fn is_large(outcome: &Recorded) -> bool {
    matches!(outcome, Recorded::Output(output) if output.json().len() > LARGE)
}

/// What a row says of an outcome.
fn stage_of(outcome: &Recorded) -> (&'static str, Option<Arc<str>>) {
    match outcome {
        Recorded::Output(output) => match std::str::from_utf8(output.json()) {
            Ok(text) => ("output", Some(text.into())),
            Err(_) => LOST,
        },
        Recorded::Problem(problem) => match serde_json::to_string(problem) {
            Ok(text) => ("problem", Some(text.into())),
            Err(_) => LOST,
        },
    }
}

/// What a row says to the same call once more. One that cannot be read tells as little as one that was cut off.
fn again(stage: &str, outcome: Option<String>) -> Begin {
    let recorded = match (stage, outcome) {
        ("output", Some(text)) => OutputJson::encode(&Json::from_written(text)).ok().map(Recorded::Output),
        ("problem", Some(text)) => serde_json::from_str(&text).ok().map(|problem| Recorded::Problem(Box::new(problem))),
        _ => None,
    };
    recorded.map_or(Begin::Unknown, |recorded| Begin::Replay(Arc::new(recorded)))
}
