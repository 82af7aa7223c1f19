//! What a question wants to be done, and what an operation does: as much of it as a verb tells.

use std::{collections::HashMap, sync::LazyLock};

use redress_contract::{OperationDeclaration, Shape};

use super::words::{stem, words};

/// What is done, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchAction {
    Read,
    Create,
    Update,
    Delete,
    /// Something changes, and no verb tells how.
    Change,
}

/// Which verbs say what; the first row that has a verb counts.
const VERBS: [(SearchAction, &str); 4] = [
    (
        SearchAction::Create,
        "create add new make insert register post put upload send start buy open invite attach run publish write save report store",
    ),
    (SearchAction::Update, "update edit change modify set patch replace rename move adjust"),
    (SearchAction::Delete, "delete remove erase revoke cancel kick throw take destroy"),
    (
        SearchAction::Read,
        "get fetch retrieve read show view see display list find search look query count download check",
    ),
];

/// Words with which a question begins that wants to know something.
const ASKING: [&str; 13] =
    ["which", "what", "who", "how", "when", "where", "is", "are", "does", "do", "can", "why", "whose"];
/// Words that follow a verb, whatever it is.
const ARTICLES: [&str; 16] = [
    "a", "an", "the", "my", "our", "his", "her", "their", "some", "somebody", "someone", "this", "that", "many",
    "several", "all",
];

/// How much more an operation fits that does what is wanted.
const DOES_IT: f64 = 1.5;
/// The same of one that changes something, where something is to be changed.
const CHANGES_TOO: f64 = 1.25;

fn of_verb(stemmed: &str) -> Option<SearchAction> {
    static BY_VERB: LazyLock<HashMap<String, SearchAction>> = LazyLock::new(|| {
        let mut by_verb = HashMap::new();
        for (action, verbs) in VERBS {
            for verb in verbs.split_whitespace() {
                by_verb.entry(stem(verb)).or_insert(action);
            }
        }
        by_verb
    });
    BY_VERB.get(stemmed).copied()
}

impl SearchAction {
    /// What `operation` does.
    pub(super) fn of(operation: &OperationDeclaration) -> SearchAction {
        match operation.shape() {
            Shape::Query | Shape::Subscription => SearchAction::Read,
            Shape::Mutation => {
                words(operation.name().as_str()).find_map(|word| of_verb(&word)).unwrap_or(SearchAction::Change)
            }
        }
    }

    /// What `question` wants. A question without a verb names what it wants to see.
    pub(super) fn wanted(question: &str) -> SearchAction {
        let mut parts = question.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
        let Some(first) = parts.next().map(str::to_lowercase) else { return SearchAction::Read };
        if ASKING.contains(&first.as_str()) {
            return SearchAction::Read;
        }
        if let Some(action) = of_verb(&stem(&first)) {
            return action;
        }
        let is_verb = parts.next().is_some_and(|second| ARTICLES.contains(&second.to_lowercase().as_str()));
        if is_verb { SearchAction::Change } else { SearchAction::Read }
    }

    /// How well an operation that does `self` fits where `wanted` is.
    pub(super) fn fits(self, wanted: SearchAction) -> f64 {
        match (self, wanted) {
            (SearchAction::Change, SearchAction::Change) => CHANGES_TOO,
            (does, wants) if does == wants => DOES_IT,
            (SearchAction::Read, _) | (_, SearchAction::Read) => 1.0,
            (SearchAction::Create | SearchAction::Update | SearchAction::Delete | SearchAction::Change, _) => {
                CHANGES_TOO
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_articles_and_words_of_asking_tell_what_is_wanted() {
        assert_eq!(SearchAction::wanted("delete a branch"), SearchAction::Delete);
        assert_eq!(SearchAction::wanted("Which models can I use"), SearchAction::Read);
        assert_eq!(SearchAction::wanted("pin a message"), SearchAction::Change);
        assert_eq!(SearchAction::wanted("exchange rates of a currency"), SearchAction::Read);
        assert_eq!(SearchAction::wanted(""), SearchAction::Read);
        let named = |name: &str| SearchAction::of(&OperationDeclaration::mutation(name));
        assert_eq!(named("repos.create_fork"), SearchAction::Create);
        assert_eq!(named("pulls.merge"), SearchAction::Change);
        assert_eq!(SearchAction::of(&OperationDeclaration::query("orders.delete_list")), SearchAction::Read);
    }
}
