//! The budget for answers: how many bytes of them may be held at once, of one connection, of one caller and in all.
//!
//! An answer is charged before it is written into memory, and until its bytes have gone to whoever asked. Whoever finds
//! no room waits in the order of asking, and holds nothing meanwhile, so that no two calls wait for each other. One that
//! has room already may grow past those who wait.
//!
//! Why so: docs/decisions/0042-answers-have-a-budget.md.

mod batch;
mod levels;

use std::{
    net::IpAddr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU8, Ordering::Relaxed},
    },
};

use parking_lot::{Mutex, MutexGuard};
use redress_contract::{Caller, Reservation};

pub use batch::BatchOrder;
use batch::BatchSlot;
use levels::{Charge, LevelName, Levels, Payer};

/// An answer of up to so many bytes is not charged where it is the only one on its connection.
const FREE: usize = 16 * 1024;
/// An answer of up to so many bytes is not charged where there may be many on one connection.
const FREE_OF_MANY: usize = 1024;

/// How many bytes of answers may be held. At each level one answer always fits where nothing is held.
///
/// ```
/// let limits = redress_core::BudgetLimits::default();
/// assert_eq!((limits.connection, limits.caller, limits.all), (8 << 20, 64 << 20, 256 << 20));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetLimits {
    /// For one connection.
    pub connection: usize,
    /// For one caller; one that nobody knows counts by its address, for IPv6 by its /64.
    pub caller: usize,
    /// In all.
    pub all: usize,
}

impl Default for BudgetLimits {
    fn default() -> BudgetLimits {
        BudgetLimits { connection: 8 * 1024 * 1024, caller: 64 * 1024 * 1024, all: 256 * 1024 * 1024 }
    }
}

/// What a budget has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BudgetUsage {
    /// How many bytes are charged now.
    pub held: usize,
    /// The most bytes that ever were.
    pub peak: usize,
    /// How often a call or an answer had to wait for room.
    pub waited: u64,
    /// How many calls found none before their deadline, and did not run.
    pub refused: u64,
}

/// The budget of all answers of a service. A clone is of the same budget.
///
/// ```
/// use redress_core::{Budget, BudgetLimits};
///
/// let budget = Budget::new(BudgetLimits::default());
/// let account = budget.connection();
/// assert_eq!(budget.usage().held, 0);
/// # let _ = account;
/// ```
#[derive(Clone, Debug, Default)]
pub struct Budget(Arc<Levels>);

/// The part of a budget that the calls of one connection are charged to. A clone is of the same connection.
#[derive(Clone, Debug)]
pub struct Account {
    of: Arc<AccountOf>,
    place: Option<BatchSlot>,
}

#[derive(Clone, Debug)]
struct AccountOf {
    levels: Arc<Levels>,
    connection: u64,
    free: usize,
    message: Option<Arc<MessageAccount>>,
}

/// The account of one message that a face writes itself, out of the answers of the calls that are charged to it.
#[derive(Debug)]
struct MessageAccount {
    /// How many bytes are charged for each byte of an answer: it and the message are there at once.
    copies: usize,
    /// Whether one of its answers counts for the connection already.
    counted: AtomicBool,
    /// What the answers so far are charged, until the message is written.
    charges: Mutex<Vec<Charge>>,
}

impl MessageAccount {
    fn charges(&self) -> MutexGuard<'_, Vec<Charge>> {
        self.charges.lock()
    }
}

impl Budget {
    /// A budget of so many bytes.
    pub fn new(limits: BudgetLimits) -> Budget {
        let budget = Budget(Arc::default());
        budget.set_limits(limits);
        budget
    }

    /// Changes how many bytes may be held. What is held stays.
    pub fn set_limits(&self, limits: BudgetLimits) {
        let mut state = self.0.state();
        if state.limits == limits {
            return;
        }
        state.limits = limits;
        state.all.admit(limits.all);
        state.callers.values_mut().for_each(|level| level.admit(limits.caller));
        state.connections.values_mut().for_each(|level| level.admit(limits.connection));
        state.peak = state.peak.max(state.all.held);
    }

    /// The account of one more connection, which answers one call after the other.
    pub fn connection(&self) -> Account {
        let connection = self.0.connections.fetch_add(1, Relaxed);
        let of = AccountOf { levels: Arc::clone(&self.0), connection, free: FREE, message: None };
        Account { of: Arc::new(of), place: None }
    }

    /// What it has seen.
    pub fn usage(&self) -> BudgetUsage {
        let state = self.0.state();
        let (held, peak) = (state.all.held, state.peak);
        BudgetUsage { held, peak, waited: self.0.waited.load(Relaxed), refused: self.0.refused.load(Relaxed) }
    }
}

impl Account {
    /// The same connection, on which there may be many answers at once: small ones are charged too.
    #[must_use]
    pub fn of_many(&self) -> Account {
        Account {
            of: Arc::new(AccountOf { free: FREE_OF_MANY, ..AccountOf::clone(&self.of) }),
            place: self.place.clone(),
        }
    }

    /// The same connection, for the call of this place in a batch. It takes room for its answer once all calls before it
    /// have theirs: what is held by an answer that cannot be given yet must not be what an earlier one waits for.
    #[must_use]
    pub fn member(&self, order: &Arc<BatchOrder>, number: usize) -> Account {
        Account { of: Arc::clone(&self.of), place: Some(BatchSlot::new(order, number)) }
    }

    /// The same connection, for the calls of one message that is written out of their answers, and takes up to
    /// `copies - 1` times their bytes. What they are charged is held until it is [settled](Account::settle).
    #[must_use]
    pub fn message(&self, copies: usize) -> Account {
        let message = MessageAccount { copies, counted: AtomicBool::new(false), charges: Mutex::default() };
        let of = AccountOf { message: Some(Arc::new(message)), ..AccountOf::clone(&self.of) };
        Account { of: Arc::new(of), place: self.place.clone() }
    }

    /// What the calls so far are charged, now held by a message of `bytes` that was written out of their answers.
    /// Nothing, where these were small.
    pub fn settle(&self, bytes: usize) -> Option<Reservation> {
        let mut charges = std::mem::take(&mut *self.of.message.as_ref()?.charges());
        let mut less = charges.iter().map(|charge| charge.bytes).sum::<usize>().saturating_sub(bytes);
        for charge in &mut charges {
            let kept = charge.bytes.saturating_sub(less);
            less -= charge.bytes - kept;
            charge.shrink(kept);
        }
        (!charges.is_empty()).then(|| Reservation::new(charges))
    }

    /// Waits for room for `bytes` that no call answers with, such as a document. Nothing is held for a small one.
    pub async fn reserve(&self, caller: Option<&Caller>, peer: Option<IpAddr>, bytes: usize) -> Option<Reservation> {
        if bytes <= self.free() {
            return None;
        }
        let room = AnswerRoom::new(self.clone(), caller, peer);
        room.reserve(bytes).await;
        room.hold(bytes)
    }

    /// Up to how many bytes an answer is not charged.
    pub(crate) fn free(&self) -> usize {
        self.of.free
    }
}

/// The room of one call's answer.
#[derive(Debug)]
pub(crate) struct AnswerRoom {
    account: Account,
    payer: Payer,
    charge: Mutex<Option<Charge>>,
    /// Whether it counts for the connection.
    counts: OnceLock<bool>,
    /// What it waits for, as a place in [`PER`].
    waits_for: AtomicU8,
}

/// For whom there is no room, in the words of the other limits.
const PER: [&str; 4] = ["batch", "connection", "caller", "server"];

impl AnswerRoom {
    pub(crate) fn new(account: Account, caller: Option<&Caller>, peer: Option<IpAddr>) -> AnswerRoom {
        let payer = Payer::of(caller, peer);
        AnswerRoom { account, payer, charge: Mutex::default(), counts: OnceLock::new(), waits_for: AtomicU8::new(0) }
    }

    fn charge(&self) -> MutexGuard<'_, Option<Charge>> {
        self.charge.lock()
    }

    /// The levels that an answer is charged at. Of those of one message the first counts for the
    /// connection: the others would wait for it, and they are given back together.
    fn levels(&self, connection: bool) -> Vec<LevelName> {
        let counts = || self.account.of.message.as_ref().is_none_or(|message| !message.counted.swap(true, Relaxed));
        let connection = (connection && *self.counts.get_or_init(counts))
            .then_some(LevelName::Connection(self.account.of.connection));
        connection.into_iter().chain([LevelName::Caller(self.payer.clone()), LevelName::All]).collect()
    }

    /// How many bytes are charged for one byte of the answer.
    fn copies(&self) -> usize {
        self.account.of.message.as_ref().map_or(1, |message| message.copies.max(1))
    }

    /// Makes room for an answer of `bytes` in all, if there is some at once.
    pub(crate) fn try_reserve(&self, bytes: usize) -> bool {
        self.try_take(bytes.saturating_mul(self.copies()))
    }

    fn try_take(&self, bytes: usize) -> bool {
        let mut charge = self.charge();
        let own = charge.as_ref().map_or(0, |charge| charge.bytes);
        if own >= bytes && charge.is_some() {
            return true;
        }
        let ahead = self.account.place.as_ref().filter(|place| !place.is_first());
        if ahead.is_some_and(|place| !place.ahead(bytes - own)) {
            return false;
        }
        match &mut *charge {
            Some(charge) => charge.try_grow(bytes),
            None => {
                // What is charged ahead of its turn does not count for the connection: the calls before it are on that
                // too.
                *charge = Charge::try_take(&self.account.of.levels, self.levels(ahead.is_none()), bytes);
                charge.is_some()
            }
        }
    }

    /// Makes room for an answer of `bytes` in all.
    pub(crate) async fn reserve(&self, bytes: usize) {
        self.take(bytes.saturating_mul(self.copies())).await;
    }

    /// Makes room for `bytes` of memory in all, whatever is made of them. What was reserved before is given back while
    /// there is none: whoever waits holds nothing that another one waits for.
    pub(crate) async fn take(&self, bytes: usize) {
        if self.try_take(bytes) {
            return;
        }
        let levels = &self.account.of.levels;
        levels.waited.fetch_add(1, Relaxed);
        drop(self.charge().take());
        self.waits_for.store(0, Relaxed);
        if let Some(place) = &self.account.place {
            place.first().await;
        }
        let mut charge = Charge { levels: Arc::clone(levels), bytes, at: Vec::with_capacity(3) };
        for at in self.levels(true) {
            let per = match at {
                LevelName::Connection(_) => 1,
                LevelName::Caller(_) => 2,
                LevelName::All => 3,
            };
            self.waits_for.store(per, Relaxed);
            levels.wait(at.clone(), bytes).await;
            charge.at.push(at);
        }
        *self.charge() = Some(charge);
    }

    /// Gives up to wait, and says for whom there was no room.
    pub(crate) fn refuse(&self) -> &'static str {
        self.account.of.levels.refused.fetch_add(1, Relaxed);
        PER.get(usize::from(self.waits_for.load(Relaxed))).copied().unwrap_or("server")
    }

    /// How many bytes are charged.
    pub(crate) fn charged(&self) -> usize {
        self.charge().as_ref().map_or(0, |charge| charge.bytes)
    }

    /// How large an answer may be for which there is room.
    pub(crate) fn reserved(&self) -> usize {
        self.charged() / self.copies()
    }

    /// What is reserved, now held by an answer that takes `bytes`, or by the message that is written out of it.
    pub(crate) fn hold(&self, bytes: usize) -> Option<Reservation> {
        let mut charge = self.charge().take()?;
        charge.shrink(bytes.saturating_mul(self.copies()));
        match &self.account.of.message {
            None => Some(Reservation::new(charge)),
            Some(message) => {
                message.charges().push(charge);
                None
            }
        }
    }

    /// Gives back what is reserved.
    pub(crate) fn give_back(&self) {
        drop(self.charge().take());
    }
}

#[cfg(test)]
mod tests;
