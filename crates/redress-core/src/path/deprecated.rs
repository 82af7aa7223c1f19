//! Deprecated operations and former names: who still calls them.

use std::{
    collections::HashSet,
    hash::{BuildHasher as _, RandomState},
    sync::{Mutex, PoisonError},
};

use redress_contract::Name;

use super::Call;
use crate::registry::RegisteredOperation;

/// Of how many callers of one operation, by each of its names, it is known that they were told of. More are not told of at all: an operation
/// that so many call is not about to go.
const MAX_CALLERS: usize = 1024;

/// Who has called a deprecated operation, or one by an alias: a hash of the caller's id and, if it was one, of the alias.
#[derive(Debug, Default)]
pub(crate) struct StillCalled {
    callers: Mutex<HashSet<u64>>,
    hasher: RandomState,
}

impl StillCalled {
    /// Whether nobody was told of this caller yet.
    fn is_news(&self, caller: &str, alias: Option<&str>) -> bool {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        callers.len() < MAX_CALLERS && callers.insert(self.hasher.hash_one((caller, alias)))
    }
}

impl Call {
    /// Says once of each caller that it calls a deprecated operation, or one by an alias, so that its operator knows whom
    /// to tell before the operation or the name goes.
    #[cold]
    pub(super) fn note_deprecated(&self, entry: &RegisteredOperation, called: &str, still_called: &StillCalled) {
        let caller = self.ctx.caller.as_ref().map_or("anonymous", |caller| caller.id());
        let deprecated = entry.declaration.deprecated();
        if let Some(deprecation) = deprecated.filter(|_| still_called.is_news(caller, None)) {
            let (since, replaced_by) = (&*deprecation.since, deprecation.replaced_by.as_deref());
            tracing::info!(request_id = %self.ctx.request_id, operation = self.operation(), caller, since, replaced_by, "a deprecated operation is still called");
        }
        let called = Name::from_wire(called);
        let alias = entry.declaration.aliases().iter().map(Name::as_str).find(|alias| *alias == &*called);
        if let Some(alias) = alias.filter(|alias| still_called.is_news(caller, Some(alias))) {
            tracing::info!(request_id = %self.ctx.request_id, operation = self.operation(), caller, alias, "an operation is still called by an alias");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_caller_is_news_once_and_there_is_an_end_to_those_who_are_remembered() {
        let still_called = StillCalled::default();
        assert!(still_called.is_news("ada", None) && still_called.is_news("bob", None));
        assert!(!still_called.is_news("ada", None) && !still_called.is_news("bob", None));
        assert!(still_called.is_news("ada", Some("orders.old")) && !still_called.is_news("ada", Some("orders.old")));
        let told = (0..2 * MAX_CALLERS).filter(|number| still_called.is_news(&number.to_string(), None)).count();
        assert_eq!(told, MAX_CALLERS - 3);
    }
}
