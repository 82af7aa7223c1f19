//! Questions to a client, asked while a call waits for the answer.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use redress_core::{Answer, AskError, Question};
use redress_wire::mcp::method;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use tokio::sync::oneshot;

use crate::{rounds, session::notification};

/// The questions that wait for an answer, by the ids that they were sent under.
#[derive(Debug, Default)]
pub(crate) struct Questions(Mutex<PendingQuestions>);

#[derive(Debug, Default)]
struct PendingQuestions {
    last: u64,
    waiting: HashMap<u64, oneshot::Sender<Response>>,
    /// Whether nobody answers any more.
    gone: bool,
}

/// What came back.
#[derive(Debug)]
enum Response {
    Result(Value),
    Error,
}

impl Questions {
    /// Takes note of a question that will be asked. `take_back` sends what tells the client that nobody waits any more.
    pub(crate) fn begin<F: Fn(Vec<u8>)>(&self, take_back: F) -> Result<QuestionGuard<'_, F>, AskError> {
        let (sender, answer) = oneshot::channel();
        let mut asked = self.asked();
        // Looked at under the lock, so that nobody starts to wait after all were let go.
        if asked.gone {
            return Err(AskError::Gone);
        }
        asked.last += 1;
        let id = asked.last;
        asked.waiting.insert(id, sender);
        Ok(QuestionGuard { questions: self, id, answer, take_back })
    }

    /// Takes a message that may be an answer, to a question that waits or to none; says whether it is one.
    pub(crate) fn answered(&self, message: &[u8]) -> bool {
        #[derive(Deserialize)]
        struct ClientResponse<'a> {
            #[serde(borrow, default)]
            id: Option<&'a RawValue>,
            #[serde(default)]
            result: Option<Value>,
            #[serde(borrow, default)]
            error: Option<&'a RawValue>,
        }
        let Ok(ClientResponse { id, result, error }) = serde_json::from_slice(message) else { return false };
        let response = match (result, error) {
            (Some(result), _) => Response::Result(result),
            (None, Some(_)) => Response::Error,
            (None, None) => return false,
        };
        let waiting = id.and_then(|id| id.get().parse().ok()).and_then(|id: u64| self.asked().waiting.remove(&id));
        if let Some(waiting) = waiting {
            // Who does not wait any more needs no answer.
            let _ = waiting.send(response);
        }
        true
    }

    /// Says to everybody who waits that no answer will come.
    pub(crate) fn gone(&self) {
        let mut asked = self.asked();
        asked.gone = true;
        asked.waiting.clear();
    }

    fn asked(&self) -> MutexGuard<'_, PendingQuestions> {
        // No change of it can be half made, so poison says nothing here.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question that waits. Let go before its answer came, it is taken back.
pub(crate) struct QuestionGuard<'a, F: Fn(Vec<u8>)> {
    questions: &'a Questions,
    id: u64,
    answer: oneshot::Receiver<Response>,
    take_back: F,
}

impl<F: Fn(Vec<u8>)> QuestionGuard<'_, F> {
    /// The question, as a message to the client.
    pub(crate) fn message(&self, key: &str, question: &Question) -> Vec<u8> {
        let (method, params) = rounds::asked(key, question);
        json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}).to_string().into_bytes()
    }

    /// The answer, once it has come.
    pub(crate) async fn answer(mut self, key: &str) -> Result<Answer, AskError> {
        match (&mut self.answer).await {
            Ok(Response::Result(result)) => {
                rounds::answer(result).ok_or_else(|| AskError::Unfit { id: key.to_owned() })
            }
            // A client that refuses says so with an error.
            Ok(Response::Error) => Ok(Answer::Declined),
            Err(_) => Err(AskError::Gone),
        }
    }
}

impl<F: Fn(Vec<u8>)> Drop for QuestionGuard<'_, F> {
    fn drop(&mut self) {
        if self.questions.asked().waiting.remove(&self.id).is_some() {
            (self.take_back)(notification(method::CANCELLED, &json!({"requestId": self.id})));
        }
    }
}
