//! The one task that writes. It takes all that waits, keeps it in one transaction, and only then lets anybody say so;
//! what cannot be kept it tries again until it can.
//!
//! Why so: docs/decisions/0020-the-audit-is-kept-in-batches.md.

use std::{future::Future, io, pin::pin, sync::Arc, time::Duration};

use redress_core::StoreError;
use tokio::time::{Instant, sleep, sleep_until};

use crate::{
    command::{CommandReply, WriteCommand, WriteWork},
    consent_orders,
    queue::{RecordRow, WriteBatch},
    shared::StateInner,
    transaction::Transaction,
};

/// How often what is past its time is removed, and how soon again where one piece was not all of it.
const UPKEEP: Duration = Duration::from_secs(60);
const NEXT_PIECE: Duration = Duration::from_millis(100);
/// How often those who wait are looked at while a write takes long, and whether something was ordered in the folder.
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

pub(crate) struct StateWriter {
    shared: Arc<StateInner>,
    transaction: Transaction,
    /// How long the last write took, and how many records were in it.
    last: (Duration, i64),
}

/// Why the writer did not end as it should.
pub(crate) enum Broken {
    /// So many records could not be kept.
    Unkept { records: i64, cause: sqlx::Error },
    /// The file was gone or replaced at the end.
    Lost,
    /// All is kept, but in the log of the file, which could not be moved into it.
    Unclosed(sqlx::Error),
}

/// Whatever ends the writer, nothing is taken any more, and nobody waits for what will not come.
struct CloseWriter(Arc<StateInner>);

impl Drop for CloseWriter {
    fn drop(&mut self) {
        self.0.queue.close();
        drop(self.0.queue.take());
    }
}

impl StateWriter {
    pub(crate) fn new(shared: Arc<StateInner>, transaction: Transaction) -> StateWriter {
        StateWriter { shared, transaction, last: (Duration::ZERO, 0) }
    }

    /// Writes until the queue is closed and empty.
    pub(crate) async fn run(mut self) -> Result<(), Broken> {
        let shared = Arc::clone(&self.shared);
        let queue = &shared.queue;
        let _closing = CloseWriter(Arc::clone(&shared));
        let (mut upkeep, mut look) = (Instant::now(), Instant::now());
        loop {
            if Instant::now() >= look {
                if looked(&shared, self.transaction.is_changed()).await {
                    // Under the lock, so that the order of changes is that of the queue.
                    let mut consents = shared.consents();
                    let order = consents.next();
                    drop(queue.push(WriteWork::Orders { order }));
                }
                look = Instant::now() + LOOK;
            }
            // However much there is to write: what is never removed fills the disk.
            if Instant::now() >= upkeep {
                // A closed queue needs no upkeep.
                drop(queue.push(WriteWork::Upkeep));
                upkeep = Instant::now() + UPKEEP;
            }
            let load = queue.take();
            if load.is_empty() {
                if queue.is_closed() {
                    break;
                }
                tokio::select! {
                    () = queue.wake.notified() => self.gather().await,
                    () = sleep_until(upkeep.min(look)) => {}
                }
                continue;
            }
            let (began, records) = (shared.running(), load.records());
            self.keep(load).await?;
            self.last = (shared.running().saturating_sub(began), records);
            if self.transaction.upkeep.take_more() {
                upkeep = upkeep.min(Instant::now() + NEXT_PIECE);
            }
        }
        let lost = queue.is_lost();
        let closed = self.transaction.close(&shared).await.map_err(Broken::Unclosed);
        if lost { Err(Broken::Lost) } else { closed }
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
        if together && waiting.commands == 0 && took >= WORTH_WAITING && !queue.is_closed() {
            sleep(took.min(LONGEST_GATHERING)).await;
        }
    }

    /// Keeps the whole load, however often that has to be tried.
    async fn keep(&mut self, mut load: WriteBatch) -> Result<(), Broken> {
        let shared = Arc::clone(&self.shared);
        let mut pause = PAUSE.0;
        let mut closed_since = None;
        loop {
            // What is written to a file that is gone is not kept, whatever SQLite says.
            let attempt = match shared.queue.is_lost() {
                true => Err(lost()),
                false => attend(&shared, &load.rows, self.transaction.attempt(&shared, &load)).await,
            };
            let cause = match attempt {
                Ok(answers) => {
                    shared.queue.set_failing(false);
                    finish(&shared, load, answers);
                    return Ok(());
                }
                Err(cause) => cause,
            };
            // Of a file that is gone the watch has told.
            if !shared.queue.is_lost() {
                tracing::error!(%cause, "the state cannot be written; it is tried again");
            }
            shared.queue.set_failing(true);
            refuse_new(&shared, &mut load, &cause);
            if load.is_empty() {
                // Nothing is owed to anybody, and whoever comes next is the next attempt.
                shared.queue.set_failing(false);
                return Ok(());
            }
            if shared.queue.is_closed() {
                let since = *closed_since.get_or_insert_with(|| shared.running());
                if shared.running().saturating_sub(since) >= LAST_TRIES {
                    return Err(Broken::Unkept { records: load.records() + shared.queue.waiting().records, cause });
                }
            }
            attend(&shared, &load.rows, sleep(pause)).await;
            pause = (pause * 2).min(PAUSE.1);
        }
    }
}

fn lost() -> sqlx::Error {
    sqlx::Error::Io(io::Error::other("the file is not in its folder any more"))
}

/// Waits for `step`, and meanwhile answers the calls that have waited long enough for their records. A disk that takes
/// longer than that over one step is as good as one that fails.
async fn attend<T>(shared: &StateInner, in_hand: &[RecordRow], step: impl Future<Output = T>) -> T {
    let began = shared.running();
    let mut step = pin!(step);
    loop {
        tokio::select! {
            biased;
            ended = &mut step => return ended,
            () = sleep(LOOK) => {
                if let Some(then) = shared.running().checked_sub(shared.options.patience) {
                    if began <= then {
                        shared.queue.set_failing(true);
                    }
                    shared.queue.release_before(in_hand, then);
                }
            }
        }
    }
}

/// Waits for a look at the file. One that has come back is no write that failed, however long it took: whether writing
/// works, the next write tells.
async fn looked(shared: &StateInner, look: impl Future<Output = bool>) -> bool {
    let found = attend(shared, &[], look).await;
    shared.queue.set_failing(false);
    found
}

/// Tells those whose work has not begun that it will not.
fn refuse_new(shared: &StateInner, load: &mut WriteBatch, cause: &sqlx::Error) {
    let (insisting, refused): (Vec<WriteCommand>, Vec<WriteCommand>) =
        std::mem::take(&mut load.commands).into_iter().partition(|command| command.work.insists());
    load.commands = insisting;
    for command in refused {
        if let WriteWork::Count(calls, _) = &command.work {
            shared.ledger().release(calls);
        }
        // Whoever has gone needs no answer.
        let _ = command.reply.send(Err(StoreError::new(cause.to_string())));
    }
}

/// Tells everybody that their work is kept.
fn finish(shared: &StateInner, load: WriteBatch, answers: Vec<CommandReply>) {
    shared.queue.kept(&load.rows);
    // Which lets their calls be answered.
    drop(load.rows);
    for (command, answer) in load.commands.into_iter().zip(answers) {
        match &command.work {
            WriteWork::Settle { key, claim, .. } => shared.let_go(key, *claim),
            WriteWork::Grant { consent, order } => shared.consents().granted(consent, *order),
            WriteWork::Withdraw { caller, scope, order } => shared.consents().withdrawn(caller, scope, *order),
            WriteWork::Used(calls) => {
                if let CommandReply::Used(used) = &answer {
                    shared.ledger().learn(calls, used);
                }
            }
            WriteWork::Count(calls, settled) => shared.counted(calls, settled),
            WriteWork::Uncount(calls) => shared.ledger().take_back(calls),
            WriteWork::Orders { order } => {
                if let CommandReply::Ordered(ordered) = &answer {
                    consent_orders::tell(ordered);
                    shared.consents().ordered(ordered, *order);
                }
            }
            WriteWork::Upkeep => {
                shared.consents().forget_ended(shared.latest_ms());
                shared.ledger().forget_ended(shared.wall_s());
            }
            WriteWork::Begin { .. } | WriteWork::Peek { .. } | WriteWork::Free { .. } => {}
        }
        let _ = command.reply.send(Ok(answer));
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;
    use crate::{Clock, StateOptions, consents::Consents};

    /// The clock of a runtime that a test holds still.
    #[derive(Debug)]
    struct Held(Instant);

    impl Clock for Held {
        fn wall(&self) -> std::time::SystemTime {
            std::time::SystemTime::UNIX_EPOCH + self.running()
        }

        fn running(&self) -> Duration {
            self.0.elapsed()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_disk_that_hangs_closes_the_state_as_one_that_fails_does() {
        let options =
            StateOptions::new("nowhere").patience(Duration::from_secs(5)).clock(Arc::new(Held(Instant::now())));
        let shared = StateInner::new(options, [0; 16], Consents::of(Vec::new()), 0);
        let hangs = std::future::pending::<()>();
        let _ = timeout(Duration::from_secs(4), attend(&shared, &[], hangs)).await;
        assert!(shared.queue.is_open(), "it may still come");
        let hangs = std::future::pending::<()>();
        let _ = timeout(Duration::from_secs(6), attend(&shared, &[], hangs)).await;
        assert!(!shared.queue.is_open());
    }
    #[tokio::test(start_paused = true)]
    async fn a_look_that_took_long_leaves_the_state_open() {
        let options =
            StateOptions::new("nowhere").patience(Duration::from_secs(5)).clock(Arc::new(Held(Instant::now())));
        let shared = StateInner::new(options, [0; 16], Consents::of(Vec::new()), 0);
        let slow = async {
            sleep(Duration::from_secs(7)).await;
            assert!(!shared.queue.is_open(), "while it hangs, nothing is written either");
            true
        };
        assert!(looked(&shared, slow).await);
        assert!(shared.queue.is_open());
    }
}
