//! Who calls, and what they agreed to.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use redress_contract::{Caller, Name};

use crate::{Secret, handler::BoxFuture};

/// Why a token tells nobody who calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// The token is not one of ours.
    #[error("the token is not valid")]
    Invalid,
    /// The token was, and is no more.
    #[error("the token has expired")]
    Expired,
}

/// Tells from a token who calls.
pub trait IdentityProvider: Send + Sync + 'static {
    /// The caller that this token stands for, where that is known without waiting. It is asked first;
    /// nothing means that [`identify`](IdentityProvider::identify) has to tell.
    fn known(&self, token: &Secret) -> Option<Arc<Caller>> {
        let _ = token;
        None
    }

    /// The caller that this token stands for.
    fn identify<'a>(&'a self, token: &'a Secret) -> BoxFuture<'a, Result<Caller, IdentityError>>;
}

/// What a caller agreed to (B7): given by the caller, for one operation, for a time, with
/// a reason. It is never a role and gives no scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consent {
    /// Who agreed.
    pub caller: String,
    /// The operation agreed to.
    pub operation: Name,
    /// For how long.
    pub lasts: Duration,
    /// Why, in the caller's words.
    pub reason: String,
}

/// Where consents are kept.
pub trait ConsentStore: Send + Sync + 'static {
    /// Whether `caller` has agreed to `operation`, and the agreement still holds.
    fn has<'a>(&'a self, caller: &'a Caller, operation: &'a Name) -> BoxFuture<'a, bool>;

    /// Keeps a consent.
    fn grant(&self, consent: Consent) -> BoxFuture<'_, ()>;

    /// Takes a consent back.
    fn withdraw<'a>(&'a self, caller: &'a str, operation: &'a Name) -> BoxFuture<'a, ()>;
}

/// Consents kept in memory, gone with the process.
#[derive(Debug, Default)]
pub struct ConsentMemory(Mutex<HashMap<(String, Name), (SystemTime, String)>>);

impl ConsentMemory {
    /// No consents.
    pub fn new() -> ConsentMemory {
        ConsentMemory::default()
    }

    fn map(&self) -> std::sync::MutexGuard<'_, HashMap<(String, Name), (SystemTime, String)>> {
        // A panic elsewhere cannot leave the map half changed, so poison says nothing here.
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl ConsentStore for ConsentMemory {
    fn has<'a>(&'a self, caller: &'a Caller, operation: &'a Name) -> BoxFuture<'a, bool> {
        let key = (caller.id().to_owned(), operation.clone());
        let mut map = self.map();
        let holds = match map.get(&key) {
            Some((until, _)) if *until > SystemTime::now() => true,
            Some(_) => {
                map.remove(&key);
                false
            }
            None => false,
        };
        drop(map);
        Box::pin(std::future::ready(holds))
    }

    fn grant(&self, consent: Consent) -> BoxFuture<'_, ()> {
        let until = SystemTime::now().checked_add(consent.lasts).unwrap_or_else(SystemTime::now);
        self.map().insert((consent.caller, consent.operation), (until, consent.reason));
        Box::pin(std::future::ready(()))
    }

    fn withdraw<'a>(&'a self, caller: &'a str, operation: &'a Name) -> BoxFuture<'a, ()> {
        self.map().remove(&(caller.to_owned(), operation.clone()));
        Box::pin(std::future::ready(()))
    }
}
