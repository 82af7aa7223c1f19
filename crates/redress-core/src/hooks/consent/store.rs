//! A consent, and where consents are kept.

use std::{
    collections::HashMap,
    fmt,
    future::ready,
    time::{Duration, Instant, SystemTime},
};

use parking_lot::{Mutex, MutexGuard};
use redress_contract::{Caller, Name};

use crate::{StoreError, author::handler::BoxFuture};

/// What a consent covers: one operation, or a whole namespace.
///
/// ```
/// use redress_core::ConsentScope;
/// use redress_core::contract::Name;
///
/// let scope: ConsentScope = "disk.*".parse().unwrap();
/// assert!(scope.covers(&Name::new("disk.wipe").unwrap()));
/// assert!(!scope.covers(&Name::new("disks.wipe").unwrap()));
/// assert_eq!(scope.to_string(), "disk.*");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ConsentScope {
    /// One operation.
    Operation(Name),
    /// Every operation of a namespace, written `namespace.*`.
    Namespace(String),
}

/// That a text is neither an operation's name nor `namespace.*`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a consent covers an operation such as `files.read` or a namespace such as `files.*`")]
#[non_exhaustive]
pub struct ConsentScopeError;

impl ConsentScope {
    /// Whether it covers `operation`.
    pub fn covers(&self, operation: &Name) -> bool {
        match self {
            ConsentScope::Operation(name) => name == operation,
            ConsentScope::Namespace(namespace) => namespace == operation.namespace(),
        }
    }
}

impl From<Name> for ConsentScope {
    fn from(name: Name) -> ConsentScope {
        ConsentScope::Operation(name)
    }
}

impl std::str::FromStr for ConsentScope {
    type Err = ConsentScopeError;

    fn from_str(text: &str) -> Result<ConsentScope, ConsentScopeError> {
        let wanted = Name::from_wire(text);
        if let Some(namespace) = wanted.strip_suffix(".*") {
            // A namespace is what may stand before the dot of a name.
            let known = !namespace.contains('.') && Name::new(&format!("{namespace}.x")).is_ok();
            return if known { Ok(ConsentScope::Namespace(namespace.to_owned())) } else { Err(ConsentScopeError) };
        }
        Name::new(&wanted).map(ConsentScope::Operation).map_err(|_| ConsentScopeError)
    }
}

impl fmt::Display for ConsentScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConsentScope::Operation(name) => f.write_str(name.as_str()),
            ConsentScope::Namespace(namespace) => write!(f, "{namespace}.*"),
        }
    }
}

/// What a person agrees to: for the calls of one caller, of one operation or a namespace, for a
/// time, with a reason. It is never a role and gives no scope of access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consent {
    /// Whose calls it lets pass.
    pub caller: String,
    /// What it covers.
    pub scope: ConsentScope,
    /// For how long.
    pub lasts: Duration,
    /// Why, in the person's words.
    pub reason: String,
}

/// A consent that still holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeldConsent {
    /// Whose calls it lets pass.
    pub caller: String,
    /// What it covers.
    pub scope: ConsentScope,
    /// Until when.
    pub until: SystemTime,
    /// Why, in the person's words.
    pub reason: String,
}

impl HeldConsent {
    /// A consent that holds until then.
    pub fn new(caller: impl Into<String>, scope: ConsentScope, until: SystemTime, reason: impl Into<String>) -> Self {
        HeldConsent { caller: caller.into(), scope, until, reason: reason.into() }
    }
}

/// Where consents are kept. One that cannot tell refuses: the call it was asked for does not run.
pub trait ConsentStore: Send + Sync + 'static {
    /// Whether there is a consent to `operation` for `caller`, and it still holds.
    fn has<'a>(&'a self, caller: &'a Caller, operation: &'a Name) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Keeps a consent, in place of an earlier one of the same caller for the same scope.
    fn grant(&self, consent: Consent) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Takes a consent back, and says whether there was one. Even where that cannot be kept, the
    /// consent does not hold any more in this process.
    fn withdraw<'a>(&'a self, caller: &'a str, scope: &'a ConsentScope) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// The consents of `caller` that hold, or everybody's, sorted by caller and scope.
    fn list<'a>(&'a self, caller: Option<&'a str>) -> BoxFuture<'a, Result<Vec<HeldConsent>, StoreError>>;

    /// Whether they are kept in a state folder, in which `redress consent` gives them and takes them back. Without one
    /// only calls of `consent.grant` reach them, and CONSENT_REQUIRED tells so.
    fn is_in_folder(&self) -> bool {
        false
    }
}

/// Each consent of each caller.
type ByCaller = HashMap<String, HashMap<ConsentScope, MemoryConsent>>;

/// Until when a consent holds, and why it was given.
#[derive(Debug)]
struct MemoryConsent {
    until: SystemTime,
    /// The same by the clock that only runs: one on the wall that is set back makes no consent longer. None, where that
    /// is further away than it can show.
    running_until: Option<Instant>,
    reason: String,
}

impl MemoryConsent {
    fn lasting(lasts: Duration, reason: String) -> MemoryConsent {
        let (wall, running) = (SystemTime::now(), Instant::now());
        let until = wall.checked_add(lasts).unwrap_or(wall);
        MemoryConsent { until, running_until: running.checked_add(lasts), reason }
    }

    fn holds(&self, (wall, running): (SystemTime, Instant)) -> bool {
        self.until > wall && self.running_until.is_none_or(|until| until > running)
    }
}

fn now() -> (SystemTime, Instant) {
    (SystemTime::now(), Instant::now())
}

/// Consents kept in memory, gone with the process.
#[derive(Debug, Default)]
pub struct ConsentMemory(Mutex<ByCaller>);

impl ConsentMemory {
    /// No consents.
    pub fn new() -> ConsentMemory {
        ConsentMemory::default()
    }

    fn map(&self) -> MutexGuard<'_, ByCaller> {
        // A panic elsewhere cannot leave the map half changed, so a lock without poison will do.
        self.0.lock()
    }
}

impl ConsentStore for ConsentMemory {
    fn has<'a>(&'a self, caller: &'a Caller, operation: &'a Name) -> BoxFuture<'a, Result<bool, StoreError>> {
        let now = now();
        let mut map = self.map();
        let holds = map.get_mut(caller.id()).is_some_and(|own| {
            own.retain(|_, consent| consent.holds(now));
            own.keys().any(|scope| scope.covers(operation))
        });
        drop(map);
        Box::pin(ready(Ok(holds)))
    }

    fn grant(&self, consent: Consent) -> BoxFuture<'_, Result<(), StoreError>> {
        let kept = MemoryConsent::lasting(consent.lasts, consent.reason);
        self.map().entry(consent.caller).or_default().insert(consent.scope, kept);
        Box::pin(ready(Ok(())))
    }

    fn withdraw<'a>(&'a self, caller: &'a str, scope: &'a ConsentScope) -> BoxFuture<'a, Result<bool, StoreError>> {
        let now = now();
        let taken = self.map().get_mut(caller).and_then(|own| own.remove(scope));
        Box::pin(ready(Ok(taken.is_some_and(|consent| consent.holds(now)))))
    }

    fn list<'a>(&'a self, caller: Option<&'a str>) -> BoxFuture<'a, Result<Vec<HeldConsent>, StoreError>> {
        let now = now();
        let mut held = Vec::new();
        for (whose, own) in self.map().iter().filter(|(whose, _)| caller.is_none_or(|caller| caller == *whose)) {
            for (scope, kept) in own.iter().filter(|(_, consent)| consent.holds(now)) {
                held.push(HeldConsent::new(whose.clone(), scope.clone(), kept.until, kept.reason.clone()));
            }
        }
        held.sort_by(|a, b| (&a.caller, &a.scope).cmp(&(&b.caller, &b.scope)));
        Box::pin(ready(Ok(held)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_makes_no_consent_longer_and_one_set_ahead_ends_it() {
        let (hour, minute) = (Duration::from_secs(3600), Duration::from_secs(60));
        let consent = MemoryConsent::lasting(10 * minute, String::new());
        let (wall, running) = now();
        assert!(consent.holds((wall, running)) && consent.holds((wall - hour, running + minute)));
        assert!(!consent.holds((wall - hour, running + hour)), "an hour has passed, whatever the wall shows");
        assert!(!consent.holds((wall + hour, running)));
    }
}
