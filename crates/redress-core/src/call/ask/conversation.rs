//! What one call has asked and been told so far, between two rounds of it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Answer, Question, QuestionKind};
use crate::CONSENT_QUESTION;

/// How many bytes a state may have: it goes to the caller and comes back with every round.
const MAX_STATE: usize = 64 * 1024;

/// What one call has asked and been told so far, for a face that ends a call with questions
/// and is called again with the answers.
///
/// The state is written by [`Registry::converse`](crate::Registry::converse) and read by
/// [`resumed`](Conversation::resumed). It holds the answers as they were given, so a face that
/// lets it out of its hands has to seal it against change and to hide nothing in it. Whose call
/// it belongs to, and with which input, is in the state and is checked by the call path.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    pub(super) kinds: BTreeSet<QuestionKind>,
    pub(super) record: Record,
    pub(super) given: BTreeMap<String, Answer>,
}

/// Why a state cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// It is not one that a call has written.
    #[error("the state was not written by a call")]
    Foreign(#[source] serde_json::Error),
    /// It is larger than any that a call writes.
    #[error("the state is too large")]
    Large,
}

/// What stays of a call between two rounds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    /// The call that it belongs to: a digest of operation, caller and input.
    pub(super) call: Option<String>,
    pub(super) answered: Vec<AnsweredQuestion>,
    /// What was asked in the last round.
    pub(super) open: Vec<OpenQuestion>,
    /// What the handler remembers.
    pub(super) kept: BTreeMap<String, Value>,
}

/// A question that was answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct AnsweredQuestion {
    pub(super) open: OpenQuestion,
    pub(super) answer: Answer,
}

/// A question, as far as it has to be known again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OpenQuestion {
    /// Its name outside, which no other question of the call has.
    pub(super) key: String,
    /// Its name in the handler.
    pub(super) id: String,
    /// What was asked.
    pub(super) digest: String,
}

impl OpenQuestion {
    fn is_consent(&self) -> bool {
        self.id == CONSENT_QUESTION
    }

    pub(super) fn asks(&self, id: &str, digest: &str) -> bool {
        self.id == id && self.digest == digest
    }
}

impl Conversation {
    /// The first round with a caller who can be asked these sorts of questions.
    pub fn new(kinds: impl IntoIterator<Item = QuestionKind>) -> Conversation {
        Conversation { kinds: kinds.into_iter().collect(), ..Conversation::default() }
    }

    /// A further round, from the state that the last one ended with.
    pub fn resumed(kinds: impl IntoIterator<Item = QuestionKind>, state: &[u8]) -> Result<Conversation, StateError> {
        if state.len() > MAX_STATE {
            return Err(StateError::Large);
        }
        let record = serde_json::from_slice(state).map_err(StateError::Foreign)?;
        Ok(Conversation { record, ..Conversation::new(kinds) })
    }

    /// Adds the caller's answer to the question `key` of the last round. One that nobody asked
    /// for is left out, and one that does not fit its question is asked for again.
    #[must_use]
    pub fn answer(mut self, key: impl Into<String>, answer: Answer) -> Conversation {
        let key = key.into();
        if self.record.open.iter().any(|open| open.key == key) {
            self.given.insert(key, answer);
        }
        self
    }

    /// Whether it holds a person's consent to its call. A face that lets the state out of its hands has to see to it that
    /// each state gives a consent once.
    pub fn holds_consent(&self) -> bool {
        let is = |open: &OpenQuestion, answer: &Answer| open.is_consent() && answer.accepted().is_some();
        let given = self.record.open.iter().filter_map(|open| Some((open, self.given.get(&open.key)?)));
        let answered = self.record.answered.iter().map(|answered| (&answered.open, &answered.answer));
        given.chain(answered).any(|(open, answer)| is(open, answer))
    }

    /// The same without a person's consent, which is asked for anew.
    #[must_use]
    pub fn without_consent(mut self) -> Conversation {
        self.record.answered.retain(|answered| !answered.open.is_consent());
        for open in self.record.open.iter().filter(|open| open.is_consent()) {
            self.given.remove(&open.key);
        }
        self
    }

    /// What was asked in the last round.
    pub fn open(&self) -> impl Iterator<Item = &str> {
        self.record.open.iter().map(|open| open.key.as_str())
    }
}

impl Record {
    /// The answer to a question, from this round or an earlier one.
    pub(super) fn answer(
        &mut self,
        given: &mut BTreeMap<String, Answer>,
        id: &str,
        question: &Question,
    ) -> Option<Answer> {
        let digest = question.digest();
        if let Some(answered) = self.answered.iter().find(|answered| answered.open.asks(id, &digest)) {
            return Some(answered.answer.clone());
        }
        let open = self.open.iter().find(|open| open.asks(id, &digest))?.clone();
        let answer = given.remove(&open.key).filter(|answer| question.takes(answer))?;
        self.answered.push(AnsweredQuestion { open, answer: answer.clone() });
        Some(answer)
    }

    /// The question with a key of its own: its id, unless another question has that.
    pub(super) fn name(&self, asked: &[(OpenQuestion, Question)], id: &str, digest: String) -> OpenQuestion {
        let known = || {
            let answered = self.answered.iter().map(|answered| &answered.open);
            answered.chain(&self.open).chain(asked.iter().map(|(open, _)| open))
        };
        if let Some(open) = known().find(|open| open.asks(id, &digest)) {
            return open.clone();
        }
        let mut key = id.to_owned();
        let mut number = 2;
        while known().any(|open| open.key == key) {
            key = format!("{id}.{number}");
            number += 1;
        }
        OpenQuestion { key, id: id.to_owned(), digest }
    }

    /// The record as it is handed out; nothing where it has grown too large for that.
    pub(super) fn write(&self) -> Option<Vec<u8>> {
        serde_json::to_vec(self).ok().filter(|state| state.len() <= MAX_STATE)
    }
}
