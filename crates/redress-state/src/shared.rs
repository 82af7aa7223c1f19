//! What the stores and the writer have in common.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use redress_core::IdempotencyKey;

use crate::{
    StateOptions,
    clock::{ms, to_ms},
    consents::Consents,
    hash::Salt,
    keys::HeldKey,
    ledger::QuotaLedger,
    queue::WriteQueue,
};

pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

pub(crate) struct StateInner {
    pub(crate) queue: WriteQueue,
    pub(crate) options: StateOptions,
    pub(crate) salt: Salt,
    keys: Mutex<HashMap<IdempotencyKey, HeldKey>>,
    consents: Mutex<Consents>,
    ledger: Mutex<QuotaLedger>,
    next_claim: AtomicI64,
    /// For how long all services before this one ran.
    ran_before_ms: i64,
    /// The clocks as they stood when this service began.
    began: (Duration, i64),
}

impl StateInner {
    pub(crate) fn new(options: StateOptions, salt: Salt, consents: Consents, ran_before_ms: i64) -> StateInner {
        let began = (options.clock.running(), to_ms(options.clock.wall()));
        StateInner {
            queue: WriteQueue::new(options.max_queue),
            salt,
            keys: Mutex::default(),
            consents: Mutex::new(consents),
            ledger: Mutex::default(),
            // The file has the numbers of services before, and no clock tells that none of them comes again.
            next_claim: AtomicI64::new(fastrand::i64(0..i64::MAX / 2)),
            ran_before_ms,
            began,
            options,
        }
    }

    /// The keys in this process's hands: those of calls that run, and those that are not kept yet.
    pub(crate) fn keys(&self) -> MutexGuard<'_, HashMap<IdempotencyKey, HeldKey>> {
        // A panic elsewhere cannot leave the map half changed, so a lock without poison will do.
        self.keys.lock()
    }

    pub(crate) fn consents(&self) -> MutexGuard<'_, Consents> {
        self.consents.lock()
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, QuotaLedger> {
        self.ledger.lock()
    }

    /// A number that no other claim of this service has.
    pub(crate) fn next_claim(&self) -> i64 {
        self.next_claim.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn wall_ms(&self) -> i64 {
        to_ms(self.options.clock.wall())
    }

    pub(crate) fn running(&self) -> Duration {
        self.options.clock.running()
    }

    /// For how long services have run on this state, in all. Time stands still between them.
    pub(crate) fn ran_ms(&self) -> i64 {
        self.ran_before_ms.saturating_add(ms(self.running().saturating_sub(self.began.0)))
    }

    /// The time by which consents end: the later one of the clock on the wall and of what it would show had nobody
    /// set it since the service began. A clock that is set back makes no consent longer.
    pub(crate) fn latest_ms(&self) -> i64 {
        let (running, wall_ms) = self.began;
        self.wall_ms().max(wall_ms.saturating_add(ms(self.running().saturating_sub(running))))
    }
}
