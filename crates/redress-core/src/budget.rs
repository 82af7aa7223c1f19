//! The budget for answers: how many bytes of them may be held at once, of one connection, of one caller and in all.
//!
//! An answer is charged before it is written into memory, and until its bytes have gone to whoever asked. Whoever finds
//! no room waits in the order of asking, and holds nothing meanwhile, so that no two calls wait for each other. One that
//! has room already may grow past those who wait.

use std::{
    collections::{BTreeMap, HashMap},
    net::IpAddr,
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
};

use redress_contract::{Caller, Reservation};
use tokio::sync::{Notify, oneshot};

use crate::household;

/// An answer of up to so many bytes is not charged where it is the only one on its connection.
const FREE: usize = 16 * 1024;
/// An answer of up to so many bytes is not charged where there may be many on one connection.
const FREE_OF_MANY: usize = 1024;
/// How many bytes of one batch may be charged for answers that an earlier one of the batch holds up.
const AHEAD: usize = 1024 * 1024;

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
    place: Option<Place>,
}

#[derive(Clone, Debug)]
struct AccountOf {
    levels: Arc<Levels>,
    connection: u64,
    free: usize,
    kept: Option<Arc<KeptCharges>>,
}

/// Keeps what calls are charged for longer than their answers are there: for a face that hands answers over to others
/// who copy them.
#[derive(Debug, Default)]
pub struct KeptCharges(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    charges: Vec<Arc<Charge>>,
    over: bool,
}

impl KeptCharges {
    /// Gives back what is kept. From here on nothing is.
    pub fn give_back(&self) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.over = true;
        let charges = std::mem::take(&mut kept.charges);
        drop(kept);
        drop(charges);
    }

    fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).charges.is_empty()
    }

    fn keep(&self, charge: &Arc<Charge>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.over {
            kept.charges.push(Arc::clone(charge));
        }
    }
}

/// The calls of one batch, whose answers are given in their order.
#[derive(Debug, Default)]
pub struct BatchOrder {
    /// The first call that has not ended, and which of the later ones have.
    ended: Mutex<(usize, Vec<bool>)>,
    moved: Notify,
    ahead: AtomicUsize,
}

/// The place of a call in its batch.
#[derive(Clone, Debug)]
struct Place {
    order: Arc<BatchOrder>,
    number: usize,
}

/// Who is charged.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Payer {
    Caller(Arc<str>),
    Address(IpAddr),
    /// All of whom nobody knows even the address: a client can make a proxy contradict itself about it.
    Unknown,
}

impl Payer {
    fn of(caller: Option<&Caller>, peer: Option<IpAddr>) -> Payer {
        match (caller, peer) {
            (Some(caller), _) => Payer::Caller(caller.id().into()),
            (None, Some(peer)) => Payer::Address(household(peer)),
            (None, None) => Payer::Unknown,
        }
    }
}

#[derive(Debug, Default)]
struct Levels {
    state: Mutex<State>,
    connections: AtomicU64,
    waited: AtomicU64,
    refused: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    limits: BudgetLimits,
    all: Level,
    callers: HashMap<Payer, Level>,
    connections: HashMap<u64, Level>,
    tickets: u64,
    peak: usize,
}

#[derive(Debug, Default)]
struct Level {
    held: usize,
    /// Who waits for how much, in the order of asking.
    waiting: BTreeMap<u64, (usize, oneshot::Sender<()>)>,
}

impl Level {
    /// Whether `bytes` more fit for one that holds `own` of them already.
    fn fits(&self, bytes: usize, own: usize, limit: usize) -> bool {
        self.held == own || self.held.saturating_add(bytes) <= limit
    }

    /// Lets in who waits, for as long as they fit.
    fn admit(&mut self, limit: usize) {
        while let Some(first) = self.waiting.first_entry() {
            let bytes = first.get().0;
            if self.held != 0 && self.held.saturating_add(bytes) > limit {
                return;
            }
            self.held += bytes;
            // One that has gone finds out by itself that it was let in, and gives it back.
            let _ = first.remove().1.send(());
        }
    }
}

/// One level of the budget.
#[derive(Clone, Debug)]
enum At {
    Connection(u64),
    Caller(Payer),
    All,
}

impl State {
    fn level(&mut self, at: &At) -> (&mut Level, usize) {
        match at {
            At::Connection(number) => (self.connections.entry(*number).or_default(), self.limits.connection),
            At::Caller(payer) => (self.callers.entry(payer.clone()).or_default(), self.limits.caller),
            At::All => (&mut self.all, self.limits.all),
        }
    }

    /// Takes `bytes`, if they fit and nobody waits who came before.
    fn take(&mut self, at: &At, bytes: usize) -> bool {
        let (level, limit) = self.level(at);
        let fits = level.waiting.is_empty() && level.fits(bytes, 0, limit);
        if fits {
            level.held += bytes;
            self.peak = self.peak.max(self.all.held);
        } else {
            self.tidy(at);
        }
        fits
    }

    fn give_back(&mut self, at: &At, bytes: usize) {
        let (level, limit) = self.level(at);
        level.held = level.held.saturating_sub(bytes);
        level.admit(limit);
        self.peak = self.peak.max(self.all.held);
        self.tidy(at);
    }

    /// Forgets a level that holds nothing.
    fn tidy(&mut self, at: &At) {
        let empty = |level: &Level| level.held == 0 && level.waiting.is_empty();
        match at {
            At::Connection(number) if self.connections.get(number).is_some_and(empty) => {
                self.connections.remove(number);
            }
            At::Caller(payer) if self.callers.get(payer).is_some_and(empty) => {
                self.callers.remove(payer);
            }
            At::Connection(_) | At::Caller(_) | At::All => {}
        }
    }
}

impl Levels {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing between lock and unlock panics, so poison says nothing here.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes `bytes` at one level, in the order of asking.
    async fn wait(self: &Arc<Levels>, at: At, bytes: usize) {
        let (ticket, admitted) = {
            let mut state = self.state();
            if state.take(&at, bytes) {
                return;
            }
            let ticket = state.tickets;
            state.tickets += 1;
            let (sender, admitted) = oneshot::channel();
            state.level(&at).0.waiting.insert(ticket, (bytes, sender));
            (ticket, admitted)
        };
        let mut waiting = Waiting { levels: self, at, bytes, ticket, over: false };
        let _ = admitted.await;
        waiting.over = true;
    }
}

/// A place among those who wait at a level. One that leaves before it is let in leaves nothing behind.
struct Waiting<'a> {
    levels: &'a Levels,
    at: At,
    bytes: usize,
    ticket: u64,
    over: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let mut state = self.levels.state();
        let (level, limit) = state.level(&self.at);
        match level.waiting.remove(&self.ticket) {
            // Those behind may fit where this one did not.
            Some(_) => level.admit(limit),
            // It was let in, and nobody has seen it.
            None => return state.give_back(&self.at, self.bytes),
        }
        state.tidy(&self.at);
    }
}

/// What one answer is charged; dropping it gives that back.
#[derive(Debug)]
struct Charge {
    levels: Arc<Levels>,
    bytes: usize,
    /// The levels that it was taken from.
    at: Vec<At>,
}

impl Charge {
    /// Charges `bytes` at all of these levels, or none.
    fn try_take(levels: &Arc<Levels>, at: Vec<At>, bytes: usize) -> Option<Charge> {
        let mut state = levels.state();
        let taken = at.iter().take_while(|at| state.take(at, bytes)).count();
        if taken < at.len() {
            at.iter().take(taken).for_each(|at| state.give_back(at, bytes));
            return None;
        }
        drop(state);
        Some(Charge { levels: Arc::clone(levels), bytes, at })
    }

    /// Charges more, up to `bytes` in all, if that fits at once.
    fn try_grow(&mut self, bytes: usize) -> bool {
        let (own, more) = (self.bytes, bytes.saturating_sub(self.bytes));
        let mut state = self.levels.state();
        for at in &self.at {
            let (level, limit) = state.level(at);
            if !level.fits(more, own, limit) {
                return false;
            }
        }
        for at in &self.at {
            state.level(at).0.held += more;
        }
        state.peak = state.peak.max(state.all.held);
        self.bytes += more;
        true
    }

    /// Gives back what is beyond `bytes`.
    fn shrink(&mut self, bytes: usize) {
        let less = self.bytes.saturating_sub(bytes);
        if less == 0 {
            return;
        }
        let mut state = self.levels.state();
        self.at.iter().for_each(|at| state.give_back(at, less));
        self.bytes -= less;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let mut state = self.levels.state();
        self.at.iter().for_each(|at| state.give_back(at, self.bytes));
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
        let of = AccountOf { levels: Arc::clone(&self.0), connection, free: FREE, kept: None };
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
        Account { of: Arc::clone(&self.of), place: Some(Place { order: Arc::clone(order), number }) }
    }

    /// The same connection, for calls whose room is held until `kept` gives it back.
    #[must_use]
    pub fn keeping(&self, kept: &Arc<KeptCharges>) -> Account {
        let of = AccountOf { kept: Some(Arc::clone(kept)), ..AccountOf::clone(&self.of) };
        Account { of: Arc::new(of), place: self.place.clone() }
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

impl BatchOrder {
    /// Says that the call of this place has ended, and what it needed is charged.
    pub fn ended(&self, number: usize) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let (first, later) = &mut *ended;
        if later.len() <= number {
            later.resize(number + 1, false);
        }
        if let Some(place) = later.get_mut(number) {
            *place = true;
        }
        let before = *first;
        while later.get(*first).is_some_and(|ended| *ended) {
            *first += 1;
        }
        let moved = *first > before;
        drop(ended);
        if moved {
            self.moved.notify_waiters();
        }
    }
}

impl Place {
    fn is_first(&self) -> bool {
        self.order.ended.lock().unwrap_or_else(PoisonError::into_inner).0 >= self.number
    }

    /// Resolves when every call before this one has ended.
    async fn first(&self) {
        loop {
            let mut moved = pin!(self.order.moved.notified());
            moved.as_mut().enable();
            if self.is_first() {
                return;
            }
            moved.await;
        }
    }

    /// Counts `bytes` as charged ahead of their turn, if there may be so many.
    fn ahead(&self, bytes: usize) -> bool {
        let more = |ahead: usize| ahead.checked_add(bytes).filter(|ahead| *ahead <= AHEAD);
        self.order.ahead.fetch_update(Relaxed, Relaxed, more).is_ok()
    }
}

/// The room of one call's answer.
#[derive(Debug)]
pub(crate) struct AnswerRoom {
    account: Account,
    payer: Payer,
    charge: Mutex<Option<Charge>>,
    /// What it waits for, as a place in [`PER`].
    waits_for: AtomicU8,
}

/// For whom there is no room, in the words of the other limits.
const PER: [&str; 4] = ["batch", "connection", "caller", "server"];

impl AnswerRoom {
    pub(crate) fn new(account: Account, caller: Option<&Caller>, peer: Option<IpAddr>) -> AnswerRoom {
        let payer = Payer::of(caller, peer);
        AnswerRoom { account, payer, charge: Mutex::default(), waits_for: AtomicU8::new(0) }
    }

    fn charge(&self) -> MutexGuard<'_, Option<Charge>> {
        self.charge.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The levels that an answer is charged at. One whose message keeps others already does not count for the
    /// connection: it would wait for those, and they are given back with it.
    fn levels(&self, connection: bool) -> Vec<At> {
        let alone = self.account.of.kept.as_ref().is_none_or(|kept| kept.is_empty());
        let connection = (connection && alone).then_some(At::Connection(self.account.of.connection));
        connection.into_iter().chain([At::Caller(self.payer.clone()), At::All]).collect()
    }

    /// Makes room for `bytes` in all, if there is some at once.
    pub(crate) fn try_reserve(&self, bytes: usize) -> bool {
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

    /// Makes room for `bytes` in all. What was reserved before is given back while there is none: whoever waits holds
    /// nothing that another one waits for.
    pub(crate) async fn reserve(&self, bytes: usize) {
        if self.try_reserve(bytes) {
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
                At::Connection(_) => 1,
                At::Caller(_) => 2,
                At::All => 3,
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

    /// How much is reserved.
    pub(crate) fn reserved(&self) -> usize {
        self.charge().as_ref().map_or(0, |charge| charge.bytes)
    }

    /// What is reserved, now held by an answer that takes `bytes`.
    pub(crate) fn hold(&self, bytes: usize) -> Option<Reservation> {
        let mut charge = self.charge().take()?;
        charge.shrink(bytes);
        Some(match &self.account.of.kept {
            None => Reservation::new(charge),
            Some(kept) => {
                let charge = Arc::new(charge);
                kept.keep(&charge);
                Reservation::new(charge)
            }
        })
    }

    /// Gives back what is reserved.
    pub(crate) fn give_back(&self) {
        drop(self.charge().take());
    }
}

#[cfg(test)]
mod tests;
