//! Consents: asked in memory, changed in the file first.

use std::{
    collections::{BTreeMap, HashMap},
    future::ready,
    sync::Arc,
};

use redress_core::{
    Consent, ConsentScope, ConsentStore, HeldConsent, StoreError,
    contract::{Caller, Name},
};

use crate::{
    clock::{from_ms, ms, to_ms},
    command::WriteWork,
    consent_orders::ConsentOrder,
    shared::{BoxFuture, StateInner},
};

/// The consents that hold, as this process knows them.
#[derive(Default)]
pub(crate) struct Consents {
    held: HashMap<String, BTreeMap<ConsentScope, HeldConsent>>,
    /// Those that were taken back while the file may still say otherwise, each with its place in the order of changes.
    withdrawn: HashMap<(String, String), u64>,
    changes: u64,
}

impl Consents {
    /// Takes up what the file holds.
    pub(crate) fn of(kept: impl IntoIterator<Item = HeldConsent>) -> Consents {
        let mut consents = Consents::default();
        kept.into_iter().for_each(|consent| consents.insert(consent));
        consents
    }

    fn insert(&mut self, consent: HeldConsent) {
        self.held.entry(consent.caller.clone()).or_default().insert(consent.scope.clone(), consent);
    }

    /// The place of the next change in their order.
    pub(crate) fn next(&mut self) -> u64 {
        self.changes += 1;
        self.changes
    }

    /// Takes note that a grant is kept, unless it was taken back since.
    pub(crate) fn granted(&mut self, consent: &HeldConsent, order: u64) {
        let key = (consent.caller.clone(), consent.scope.to_string());
        if self.withdrawn.get(&key).is_none_or(|withdrawn| *withdrawn < order) {
            self.insert(consent.clone());
        }
    }

    /// Takes note that a withdrawal is kept.
    pub(crate) fn withdrawn(&mut self, caller: &str, scope: &str, order: u64) {
        let key = (caller.to_owned(), scope.to_owned());
        if self.withdrawn.get(&key) == Some(&order) {
            self.withdrawn.remove(&key);
        }
    }

    /// Takes note of what was ordered in the folder and is kept.
    pub(crate) fn ordered(&mut self, orders: &[ConsentOrder], place: u64) {
        for order in orders {
            match order {
                ConsentOrder::Grant(consent) => self.granted(consent, place),
                ConsentOrder::Withdraw { caller, scope } => {
                    self.held.get_mut(caller).and_then(|own| own.remove(scope));
                }
            }
        }
    }

    /// Forgets what has ended by itself.
    pub(crate) fn forget_ended(&mut self, now_ms: i64) {
        self.held.retain(|_, own| {
            own.retain(|_, consent| to_ms(consent.until) > now_ms);
            !own.is_empty()
        });
    }
}

/// For how long a consent is given at most.
const LONGEST_MS: i64 = 24 * 60 * 60 * 1000;

/// Whether a consent holds at this time. One that ends later than any that is given now was given by a clock that was
/// ahead, the service's before it was set back or that of whoever ordered it: it gives nothing.
pub(crate) fn holds(consent: &HeldConsent, now_ms: i64) -> bool {
    (now_ms + 1..=now_ms.saturating_add(LONGEST_MS)).contains(&to_ms(consent.until))
}

/// The consents of a state.
pub(crate) struct ConsentTable(pub(crate) Arc<StateInner>);

impl ConsentStore for ConsentTable {
    fn is_in_folder(&self) -> bool {
        true
    }

    fn has<'a>(&'a self, caller: &'a Caller, operation: &'a Name) -> BoxFuture<'a, Result<bool, StoreError>> {
        let now_ms = self.0.latest_ms();
        let consents = self.0.consents();
        let holds = consents
            .held
            .get(caller.id())
            .is_some_and(|own| own.values().any(|consent| consent.scope.covers(operation) && holds(consent, now_ms)));
        drop(consents);
        Box::pin(ready(Ok(holds)))
    }

    fn grant(&self, consent: Consent) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            if !self.0.queue.is_open() {
                return Err(StoreError::new("the state cannot be written right now"));
            }
            let until = from_ms(self.0.latest_ms().saturating_add(ms(consent.lasts).min(LONGEST_MS)));
            let consent = HeldConsent::new(consent.caller, consent.scope, until, consent.reason);
            let waiting = {
                // Under the lock, so that the order of changes is that of the queue.
                let mut consents = self.0.consents();
                let order = consents.next();
                self.0.queue.push(WriteWork::Grant { consent, order })?
            };
            waiting.within(self.0.options.patience).await.map(|_| ())
        })
    }

    fn withdraw<'a>(&'a self, caller: &'a str, scope: &'a ConsentScope) -> BoxFuture<'a, Result<bool, StoreError>> {
        let now_ms = self.0.latest_ms();
        let text = scope.to_string();
        let mut consents = self.0.consents();
        let order = consents.next();
        let taken = consents.held.get_mut(caller).and_then(|own| own.remove(scope));
        consents.withdrawn.insert((caller.to_owned(), text.clone()), order);
        // Even one that does not hold any more is taken out of the file.
        let pushed = self.0.queue.push(WriteWork::Withdraw { caller: caller.to_owned(), scope: text, order });
        drop(consents);
        let held = taken.is_some_and(|consent| holds(&consent, now_ms));
        Box::pin(async move { pushed?.within(self.0.options.patience).await.map(|_| held) })
    }

    fn list<'a>(&'a self, caller: Option<&'a str>) -> BoxFuture<'a, Result<Vec<HeldConsent>, StoreError>> {
        let now_ms = self.0.latest_ms();
        let consents = self.0.consents();
        let whose = consents.held.iter().filter(|(whose, _)| caller.is_none_or(|caller| caller == *whose));
        let mut held: Vec<HeldConsent> =
            whose.flat_map(|(_, own)| own.values()).filter(|held| holds(held, now_ms)).cloned().collect();
        drop(consents);
        held.sort_by(|a, b| (&a.caller, &a.scope).cmp(&(&b.caller, &b.scope)));
        Box::pin(ready(Ok(held)))
    }
}
