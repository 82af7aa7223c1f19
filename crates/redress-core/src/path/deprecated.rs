//! Deprecated operations: who still calls them.

use std::{
    collections::HashSet,
    hash::{BuildHasher as _, RandomState},
    sync::{Mutex, PoisonError},
};

use super::Call;
use crate::registry::Entry;

/// Of how many callers of one operation it is known that they were told of. More are not told of at all: an operation
/// that so many call is not about to go.
const MOST_CALLERS: usize = 1024;

/// Who has called a deprecated operation, by a hash of the caller's id.
#[derive(Debug, Default)]
pub(crate) struct StillCalled {
    callers: Mutex<HashSet<u64>>,
    hasher: RandomState,
}

impl StillCalled {
    /// Whether nobody was told of this caller yet.
    fn is_news(&self, caller: &str) -> bool {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        callers.len() < MOST_CALLERS && callers.insert(self.hasher.hash_one(caller))
    }
}

impl Call {
    /// Says once of each caller that it calls a deprecated operation, so that its operator knows whom to tell before the
    /// operation goes.
    #[cold]
    pub(super) fn note_deprecated(&self, entry: &Entry, still_called: &StillCalled) {
        let caller = self.ctx.caller.as_ref().map_or("anonymous", |caller| caller.id());
        let Some(deprecation) = entry.declaration.deprecated().filter(|_| still_called.is_news(caller)) else { return };
        let (since, replaced_by) = (&*deprecation.since, deprecation.replaced_by.as_deref());
        tracing::info!(request_id = %self.ctx.request_id, operation = self.operation(), caller, since, replaced_by, "a deprecated operation is still called");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_caller_is_news_once_and_there_is_an_end_to_those_who_are_remembered() {
        let still_called = StillCalled::default();
        assert!(still_called.is_news("ada") && still_called.is_news("bob"));
        assert!(!still_called.is_news("ada") && !still_called.is_news("bob"));
        let told = (0..2 * MOST_CALLERS).filter(|number| still_called.is_news(&number.to_string())).count();
        assert_eq!(told, MOST_CALLERS - 2);
    }
}
