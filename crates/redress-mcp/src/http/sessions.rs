//! Whose each session is. The name of a session tells which one is meant, and never who may use it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use super::Place;
use crate::owner::Owner;

/// What a session has until it ends.
#[derive(Debug)]
pub(crate) struct Belongings {
    owner: Owner,
    _place: Option<Place>,
}

impl Belongings {
    pub(super) fn new(owner: Owner, place: Option<Place>) -> Arc<Belongings> {
        Arc::new(Belongings { owner, _place: place })
    }
}

/// The sessions that are open, by their names. What each has is held by the session itself, so that one that ended
/// is nobody's.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<HashMap<Box<str>, Weak<Belongings>>>);

impl Sessions {
    fn table(&self) -> MutexGuard<'_, HashMap<Box<str>, Weak<Belongings>>> {
        // No change of it can be half made, so poison says nothing here.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of a session before its name is told to anybody.
    pub(super) fn opened(&self, name: &str, belongings: &Arc<Belongings>) {
        let mut table = self.table();
        table.retain(|_, known| known.strong_count() > 0);
        table.insert(name.into(), Arc::downgrade(belongings));
    }

    /// Whether there is such a session of this owner.
    pub(super) fn has(&self, name: &str, owner: &Owner) -> bool {
        let known = self.table().get(name).and_then(Weak::upgrade);
        known.is_some_and(|belongings| belongings.owner == *owner)
    }

    /// Forgets a session that its owner has ended.
    pub(super) fn ended(&self, name: &str) {
        self.table().remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_its_owners_until_it_ends_and_nobodys_after_that() {
        let (sessions, ada, bob) = (Sessions::default(), Owner::Caller("ada".into()), Owner::Caller("bob".into()));
        let (one, other) = (Belongings::new(ada.clone(), None), Belongings::new(bob.clone(), None));
        sessions.opened("one", &one);
        sessions.opened("other", &other);
        assert!(sessions.has("one", &ada) && sessions.has("other", &bob));
        assert!(!sessions.has("one", &bob) && !sessions.has("other", &ada) && !sessions.has("none", &ada));
        sessions.ended("one");
        assert!(!sessions.has("one", &ada));
        drop(other);
        assert!(!sessions.has("other", &bob));
        sessions.opened("third", &one);
        assert_eq!(sessions.table().len(), 1, "what has ended takes no room");
    }
}
