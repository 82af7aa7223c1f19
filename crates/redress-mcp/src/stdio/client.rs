//! The client at the other end: what it can be asked, what it was asked, and what it is told.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use redress_core::{Answer, AskError, Asker, Level, Listener, Note, Progress, Question, QuestionKind};
use redress_wire::mcp::{ClientCan, method};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use tokio::sync::oneshot;

use super::{notification, out::Out};
use crate::{
    rounds,
    session::{self, Session},
};

/// The client at the other end. Only one that has said hello, as the legacy era does, can be
/// asked and told things: others say with each request what they want.
pub(super) struct Client {
    out: Out,
    session: Session,
    greeted: OnceLock<Greeted>,
    asked: Mutex<Asked>,
    gone: AtomicBool,
}

/// What follows from the greeting. The same for every request, so it is made once.
struct Greeted {
    asker: Option<Arc<dyn Asker>>,
    listener: Arc<dyn Listener>,
}

/// The questions that wait for an answer, by the ids that they were sent under.
#[derive(Default)]
struct Asked {
    last: u64,
    waiting: HashMap<u64, oneshot::Sender<Response>>,
}

/// What came back.
enum Response {
    Result(Value),
    Error,
}

impl Client {
    pub(super) fn new(out: Out) -> Client {
        Client {
            out,
            session: Session::default(),
            greeted: OnceLock::new(),
            asked: Mutex::default(),
            gone: AtomicBool::new(false),
        }
    }

    /// Takes note of what the client can be asked. It can say so once.
    pub(super) fn greeted(this: &Arc<Client>, can: ClientCan) {
        this.greeted.get_or_init(|| {
            let asker: Arc<dyn Asker> = Arc::new(Asking { client: Arc::downgrade(this), can });
            let listener = Arc::new(Noting { client: Arc::downgrade(this) });
            Greeted { asker: can.any().then_some(asker), listener }
        });
    }

    pub(super) fn session(&self) -> &Session {
        &self.session
    }

    pub(super) fn asker(&self) -> Option<&Arc<dyn Asker>> {
        self.greeted.get()?.asker.as_ref()
    }

    pub(super) fn listener(&self) -> Option<&Arc<dyn Listener>> {
        self.greeted.get().map(|greeted| &greeted.listener)
    }

    /// The least level of notes that is wanted, of a client that has said hello.
    pub(super) fn level(&self) -> Option<Level> {
        self.greeted.get().map(|_| self.session.level())
    }

    /// Takes a line that may be an answer, to a question that waits or to none; says whether it is
    /// one.
    pub(super) fn answered(&self, line: &[u8]) -> bool {
        #[derive(Deserialize)]
        struct Given<'a> {
            #[serde(borrow, default)]
            id: Option<&'a RawValue>,
            #[serde(default)]
            result: Option<Value>,
            #[serde(borrow, default)]
            error: Option<&'a RawValue>,
        }
        let Ok(Given { id, result, error }) = serde_json::from_slice(line) else { return false };
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
    pub(super) fn gone(&self) {
        self.gone.store(true, Ordering::Release);
        self.asked().waiting.clear();
    }

    fn asked(&self) -> MutexGuard<'_, Asked> {
        // No change of it can be half made, so poison says nothing here.
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks the client while a call waits.
struct Asking {
    client: std::sync::Weak<Client>,
    can: ClientCan,
}

impl Asker for Asking {
    fn can(&self, kind: QuestionKind) -> bool {
        rounds::kinds(self.can).any(|able| able == kind)
    }

    fn ask<'a>(
        &'a self,
        key: &'a str,
        question: &'a Question,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<Answer, AskError>> + Send + 'a>> {
        Box::pin(async move {
            let client = self.client.upgrade().ok_or(AskError::Gone)?;
            let (sender, answer) = oneshot::channel();
            let id = {
                let mut asked = client.asked();
                // Looked at under the lock, so that nobody starts to wait after all were let go.
                if client.gone.load(Ordering::Acquire) {
                    return Err(AskError::Gone);
                }
                asked.last += 1;
                let id = asked.last;
                asked.waiting.insert(id, sender);
                id
            };
            let _waiting = Waiting { client: &client, id };
            let (method, params) = rounds::asked(key, question);
            let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
            client.out.send(message.to_string().into_bytes()).await.map_err(|_| AskError::Gone)?;
            match answer.await {
                Ok(Response::Result(result)) => {
                    rounds::answer(result).ok_or_else(|| AskError::Unfit { id: key.to_owned() })
                }
                // A client that refuses says so with an error.
                Ok(Response::Error) => Ok(Answer::Declined),
                Err(_) => Err(AskError::Gone),
            }
        })
    }
}

/// A question that waits. Let go before its answer came, it is taken back.
struct Waiting<'a> {
    client: &'a Client,
    id: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.client.asked().waiting.remove(&self.id).is_some() {
            let line = notification(method::CANCELLED, &json!({"requestId": self.id}));
            self.client.out.offer(line);
        }
    }
}

/// Hands the notes of every call to the client. What it does not take in time is dropped.
struct Noting {
    client: std::sync::Weak<Client>,
}

impl Listener for Noting {
    fn progress(&self, _: Progress) {}

    fn note(&self, note: Note) {
        if let Some(client) = self.client.upgrade() {
            client.out.offer(notification(method::NOTE, &session::note(&note)));
        }
    }

    fn wants(&self, level: Level) -> bool {
        self.client.upgrade().is_some_and(|client| level >= client.session.level())
    }
}
