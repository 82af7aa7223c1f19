//! What is held at each level, and who waits there for how much.

use std::{
    collections::{BTreeMap, HashMap},
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicU64},
};

use redress_contract::Caller;
use tokio::sync::oneshot;

use super::BudgetLimits;
use crate::client_prefix;

/// Who is charged.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Payer {
    Caller(Arc<str>),
    Address(IpAddr),
    /// All of whom nobody knows even the address: a client can make a proxy contradict itself about it.
    Unknown,
}

impl Payer {
    pub(super) fn of(caller: Option<&Caller>, peer: Option<IpAddr>) -> Payer {
        match (caller, peer) {
            (Some(caller), _) => Payer::Caller(caller.id().into()),
            (None, Some(peer)) => Payer::Address(client_prefix(peer)),
            (None, None) => Payer::Unknown,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Levels {
    state: Mutex<LevelState>,
    pub(super) connections: AtomicU64,
    pub(super) waited: AtomicU64,
    pub(super) refused: AtomicU64,
}

#[derive(Debug, Default)]
pub(super) struct LevelState {
    pub(super) limits: BudgetLimits,
    pub(super) all: BudgetLevel,
    pub(super) callers: HashMap<Payer, BudgetLevel>,
    pub(super) connections: HashMap<u64, BudgetLevel>,
    tickets: u64,
    pub(super) peak: usize,
}

#[derive(Debug, Default)]
pub(super) struct BudgetLevel {
    pub(super) held: usize,
    /// Who waits for how much, in the order of asking.
    pub(super) waiting: BTreeMap<u64, (usize, oneshot::Sender<()>)>,
}

impl BudgetLevel {
    /// Whether `bytes` more fit for one that holds `own` of them already.
    fn fits(&self, bytes: usize, own: usize, limit: usize) -> bool {
        self.held == own || self.held.saturating_add(bytes) <= limit
    }

    /// Lets in who waits, for as long as they fit.
    pub(super) fn admit(&mut self, limit: usize) {
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
pub(super) enum LevelName {
    Connection(u64),
    Caller(Payer),
    All,
}

impl LevelState {
    fn level(&mut self, at: &LevelName) -> (&mut BudgetLevel, usize) {
        match at {
            LevelName::Connection(number) => (self.connections.entry(*number).or_default(), self.limits.connection),
            LevelName::Caller(payer) => (self.callers.entry(payer.clone()).or_default(), self.limits.caller),
            LevelName::All => (&mut self.all, self.limits.all),
        }
    }

    /// Takes `bytes`, if they fit and nobody waits who came before.
    fn take(&mut self, at: &LevelName, bytes: usize) -> bool {
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

    fn give_back(&mut self, at: &LevelName, bytes: usize) {
        let (level, limit) = self.level(at);
        level.held = level.held.saturating_sub(bytes);
        level.admit(limit);
        self.peak = self.peak.max(self.all.held);
        self.tidy(at);
    }

    /// Forgets a level that holds nothing.
    fn tidy(&mut self, at: &LevelName) {
        let empty = |level: &BudgetLevel| level.held == 0 && level.waiting.is_empty();
        match at {
            LevelName::Connection(number) if self.connections.get(number).is_some_and(empty) => {
                self.connections.remove(number);
            }
            LevelName::Caller(payer) if self.callers.get(payer).is_some_and(empty) => {
                self.callers.remove(payer);
            }
            LevelName::Connection(_) | LevelName::Caller(_) | LevelName::All => {}
        }
    }
}

impl Levels {
    pub(super) fn state(&self) -> MutexGuard<'_, LevelState> {
        // Nothing between lock and unlock panics, so poison says nothing here.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes `bytes` at one level, in the order of asking.
    pub(super) async fn wait(self: &Arc<Levels>, at: LevelName, bytes: usize) {
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
        let mut waiting = LevelWaiter { levels: self, at, bytes, ticket, over: false };
        let _ = admitted.await;
        waiting.over = true;
    }
}

/// A place among those who wait at a level. One that leaves before it is let in leaves nothing behind.
struct LevelWaiter<'a> {
    levels: &'a Levels,
    at: LevelName,
    bytes: usize,
    ticket: u64,
    over: bool,
}

impl Drop for LevelWaiter<'_> {
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
pub(super) struct Charge {
    pub(super) levels: Arc<Levels>,
    pub(super) bytes: usize,
    /// The levels that it was taken from.
    pub(super) at: Vec<LevelName>,
}

impl Charge {
    /// Charges `bytes` at all of these levels, or none.
    pub(super) fn try_take(levels: &Arc<Levels>, at: Vec<LevelName>, bytes: usize) -> Option<Charge> {
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
    pub(super) fn try_grow(&mut self, bytes: usize) -> bool {
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
    pub(super) fn shrink(&mut self, bytes: usize) {
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
