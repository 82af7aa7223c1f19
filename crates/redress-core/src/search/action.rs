//! What a question wants to be done, and what an operation does: as much of it as a verb tells.

use std::{collections::HashMap, sync::LazyLock};

use redress_contract::{OperationDeclaration, Shape};

use super::words::{stem, words};

/// What is done, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Read,
    Create,
    Update,
    Delete,
    /// Something changes, and no verb tells how.
    Change,
}

/// Which verbs say what; the first row that has a verb counts.
const VERBS: [(Action, &str); 4] = [
    (
        Action::Create,
        "create add new make insert register post put upload send start buy open invite attach run publish write save report store",
    ),
    (Action::Update, "update edit change modify set patch replace rename move adjust"),
    (Action::Delete, "delete remove erase revoke cancel kick throw take destroy"),
    (Action::Read, "get fetch retrieve read show view see display list find search look query count download check"),
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

fn of_verb(stemmed: &str) -> Option<Action> {
    static BY_VERB: LazyLock<HashMap<String, Action>> = LazyLock::new(|| {
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

impl Action {
    /// What `operation` does.
    pub(super) fn of(operation: &OperationDeclaration) -> Action {
        match operation.shape() {
            Shape::Query | Shape::Subscription => Action::Read,
            Shape::Mutation => {
                words(operation.name().as_str()).find_map(|word| of_verb(&word)).unwrap_or(Action::Change)
            }
        }
    }

    /// What `question` wants. A question without a verb names what it wants to see.
    pub(super) fn wanted(question: &str) -> Action {
        let mut parts = question.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
        let Some(first) = parts.next().map(str::to_lowercase) else { return Action::Read };
        if ASKING.contains(&first.as_str()) {
            return Action::Read;
        }
        if let Some(action) = of_verb(&stem(&first)) {
            return action;
        }
        let is_verb = parts.next().is_some_and(|second| ARTICLES.contains(&second.to_lowercase().as_str()));
        if is_verb { Action::Change } else { Action::Read }
    }

    /// How well an operation that does `self` fits where `wanted` is.
    pub(super) fn fits(self, wanted: Action) -> f64 {
        match (self, wanted) {
            (Action::Change, Action::Change) => CHANGES_TOO,
            (does, wants) if does == wants => DOES_IT,
            (Action::Read, _) | (_, Action::Read) => 1.0,
            (Action::Create | Action::Update | Action::Delete | Action::Change, _) => CHANGES_TOO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_articles_and_words_of_asking_tell_what_is_wanted() {
        assert_eq!(Action::wanted("delete a branch"), Action::Delete);
        assert_eq!(Action::wanted("Which models can I use"), Action::Read);
        assert_eq!(Action::wanted("pin a message"), Action::Change);
        assert_eq!(Action::wanted("exchange rates of a currency"), Action::Read);
        assert_eq!(Action::wanted(""), Action::Read);
        let named = |name: &str| Action::of(&OperationDeclaration::mutation(name));
        assert_eq!(named("repos.create_fork"), Action::Create);
        assert_eq!(named("pulls.merge"), Action::Change);
        assert_eq!(Action::of(&OperationDeclaration::query("orders.delete_list")), Action::Read);
    }
}
