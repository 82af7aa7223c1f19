//! The client at the other end: what it can be asked, what it was asked, and what it is told.

use std::sync::{Arc, OnceLock};

use redress_core::{Answer, AskError, Asker, Level, Note, Progress, ProgressListener, Question, QuestionKind};
use redress_wire::mcp::{ClientCapabilities, method};

use super::out::Out;
use crate::{
    client_questions::Questions,
    rounds,
    session::{self, Session, notification},
};

/// The client at the other end. Only one that has said hello, as the legacy era does, can be
/// asked and told things: others say with each request what they want.
pub(super) struct StdioClient {
    out: Out,
    session: Session,
    greeted: OnceLock<Greeted>,
    questions: Questions,
}

/// What follows from the greeting. The same for every request, so it is made once.
struct Greeted {
    asker: Option<Arc<dyn Asker>>,
    listener: Arc<dyn ProgressListener>,
}

impl StdioClient {
    pub(super) fn new(out: Out) -> StdioClient {
        StdioClient { out, session: Session::default(), greeted: OnceLock::new(), questions: Questions::default() }
    }

    /// Takes note of what the client can be asked. It can say so once.
    pub(super) fn greeted(this: &Arc<StdioClient>, can: ClientCapabilities) {
        this.greeted.get_or_init(|| {
            let asker: Arc<dyn Asker> = Arc::new(StdioAsker { client: Arc::downgrade(this), can });
            let listener = Arc::new(StdioNotes { client: Arc::downgrade(this) });
            Greeted { asker: can.any().then_some(asker), listener }
        });
    }

    pub(super) fn session(&self) -> &Session {
        &self.session
    }

    pub(super) fn asker(&self) -> Option<&Arc<dyn Asker>> {
        self.greeted.get()?.asker.as_ref()
    }

    pub(super) fn listener(&self) -> Option<&Arc<dyn ProgressListener>> {
        self.greeted.get().map(|greeted| &greeted.listener)
    }

    /// The least level of notes that is wanted, of a client that has said hello.
    pub(super) fn level(&self) -> Option<Level> {
        self.greeted.get().map(|_| self.session.level())
    }

    /// The questions that wait for an answer.
    pub(super) fn questions(&self) -> &Questions {
        &self.questions
    }
}

/// Asks the client while a call waits.
struct StdioAsker {
    client: std::sync::Weak<StdioClient>,
    can: ClientCapabilities,
}

impl Asker for StdioAsker {
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
            let waiting = client.questions.begin(|line| client.out.offer(line))?;
            let message = waiting.message(key, question);
            client.out.send(message).await.map_err(|_| AskError::Gone)?;
            waiting.answer(key).await
        })
    }
}

/// Hands the notes of every call to the client. What it does not take in time is dropped.
struct StdioNotes {
    client: std::sync::Weak<StdioClient>,
}

impl ProgressListener for StdioNotes {
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
