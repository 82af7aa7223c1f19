//! One call that can ask its caller, and what the handler sees of that.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{
    Answer, AskError, Asker, Conversation, Question, QuestionKind,
    conversation::{AnsweredQuestion, OpenQuestion},
};
use crate::Ctx;

/// How many questions one call may have asked.
const MAX_QUESTIONS: usize = 32;
/// How often a question is asked while its answers do not fit.
const TRIES: usize = 3;

/// One call that can ask its caller. A composed call shares that of the call above it.
pub(crate) struct AskContext {
    way: AskRoute,
    talk: Mutex<Talk>,
    /// Whether the call can only go on with answers that come with its next round.
    waiting: AtomicBool,
    waits: Notify,
    /// Cancelled once the round is over: no answer comes any more.
    over: CancellationToken,
}

enum AskRoute {
    /// The face answers while the handler waits.
    Live(Arc<dyn Asker>),
    /// The call ends with its questions, and is made again with the answers.
    Rounds,
}

/// What a round ends with that asks something.
pub(crate) struct Round {
    pub(crate) questions: Vec<(String, Question)>,
    pub(crate) state: Vec<u8>,
}

#[derive(Default)]
struct Talk {
    conversation: Conversation,
    asked: Vec<(OpenQuestion, Question)>,
    /// Held by whoever asks a question live, by the key of the question.
    turns: HashMap<String, Arc<tokio::sync::Mutex<()>>>,
}

impl AskContext {
    pub(crate) fn live(asker: Arc<dyn Asker>) -> AskContext {
        AskContext::new(AskRoute::Live(asker), Conversation::default())
    }

    pub(crate) fn rounds(conversation: Conversation) -> AskContext {
        AskContext::new(AskRoute::Rounds, conversation)
    }

    fn new(way: AskRoute, conversation: Conversation) -> AskContext {
        let talk = Mutex::new(Talk { conversation, ..Talk::default() });
        AskContext { way, talk, waiting: AtomicBool::new(false), waits: Notify::new(), over: CancellationToken::new() }
    }

    /// What ends the round: a task of the handler's that still waits for an answer then learns
    /// that none comes.
    pub(crate) fn over(&self) -> &CancellationToken {
        &self.over
    }

    fn talk(&self) -> MutexGuard<'_, Talk> {
        // A panic elsewhere cannot leave the talk half changed, so poison says nothing here.
        self.talk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this call claims to go on with a conversation.
    pub(crate) fn is_resumed(&self) -> bool {
        self.talk().conversation.record.call.is_some()
    }

    /// Whether this call belongs to the conversation that it claims to go on with. A first round
    /// claims nothing.
    pub(crate) fn belongs(&self, call: impl FnOnce() -> String) -> bool {
        self.talk().conversation.record.call.as_ref().is_none_or(|known| *known == call())
    }

    /// Whether the call can only go on in its next round.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.load(Ordering::Acquire)
    }

    /// Whether the call has asked anything.
    pub(crate) fn has_asked(&self) -> bool {
        let talk = self.talk();
        !talk.asked.is_empty() || !talk.conversation.record.answered.is_empty()
    }

    /// Resolves when the call can only go on in its next round.
    pub(crate) async fn waiting(&self) {
        loop {
            let waits = self.waits.notified();
            if self.is_waiting() {
                return;
            }
            waits.await;
        }
    }

    /// The questions of this round, and the state from which the next one goes on; nothing
    /// where the state has grown too large to be handed out. `call` is what they belong to.
    pub(crate) fn questions(&self, call: String) -> Option<Round> {
        let mut talk = self.talk();
        let asked = std::mem::take(&mut talk.asked);
        let record = &mut talk.conversation.record;
        record.call = Some(call);
        record.open = asked.iter().map(|(open, _)| open.clone()).collect();
        let state = record.write()?;
        let questions = asked.into_iter().map(|(open, question)| (open.key, question)).collect();
        Some(Round { questions, state })
    }

    /// The answer that somebody else has had to this question meanwhile.
    fn known(&self, open: &OpenQuestion) -> Option<Answer> {
        let talk = self.talk();
        let mut answered = talk.conversation.record.answered.iter();
        answered.find(|answered| answered.open == *open).map(|answered| answered.answer.clone())
    }

    fn can(&self, kind: QuestionKind) -> bool {
        match &self.way {
            AskRoute::Live(asker) => asker.can(kind),
            AskRoute::Rounds => self.talk().conversation.kinds.contains(&kind),
        }
    }

    async fn ask(&self, id: String, question: Question) -> Result<Answer, AskError> {
        if !self.can(question.kind()) {
            return Err(AskError::Unable(question.kind()));
        }
        let open = {
            let talk = &mut *self.talk();
            let Conversation { record, given, .. } = &mut talk.conversation;
            if let Some(answer) = record.answer(given, &id, &question) {
                return Ok(answer);
            }
            let open = record.name(&talk.asked, &id, question.digest());
            if !talk.asked.iter().any(|(asked, _)| *asked == open) {
                if talk.asked.len() + record.answered.len() >= MAX_QUESTIONS {
                    return Err(AskError::TooMany);
                }
                talk.asked.push((open.clone(), question.clone()));
            }
            open
        };
        match &self.way {
            AskRoute::Live(asker) => {
                // Who has the same question waits for the one answer to it.
                let turn = Arc::clone(self.talk().turns.entry(open.key.clone()).or_default());
                let _turn = turn.lock().await;
                if let Some(answer) = self.known(&open) {
                    return Ok(answer);
                }
                for _ in 0..TRIES {
                    let answer = asker.ask(&open.key, &question).await?;
                    if question.takes(&answer) {
                        let mut talk = self.talk();
                        talk.asked.retain(|(asked, _)| *asked != open);
                        talk.conversation.record.answered.push(AnsweredQuestion { open, answer: answer.clone() });
                        return Ok(answer);
                    }
                }
                Err(AskError::Unfit { id })
            }
            AskRoute::Rounds => {
                self.waiting.store(true, Ordering::Release);
                self.waits.notify_waiters();
                // The path lets the handler go; what it was about to do, the next round does. Only
                // a task that outlives the handler comes to see the end of the round.
                self.over.cancelled().await;
                Err(AskError::Gone)
            }
        }
    }
}

impl Ctx {
    /// Asks the caller: the person behind the call, or the model. `id` names the question
    /// within this operation; the same id and question, asked twice in one call, have one answer.
    ///
    /// On a face that has no way back to the caller while a call runs, the call ends here with
    /// the question. The caller makes it again with the answer, the handler runs **from its
    /// start**, and this answers at once. So ask first and act then. On a face that cannot ask at
    /// all this is an [`AskError`], which `?` turns into a failure that says so.
    ///
    /// What a composed call asks goes to the same caller. Waiting for an answer counts against
    /// the deadline.
    pub async fn ask(&self, id: &str, question: impl Into<Question>) -> Result<Answer, AskError> {
        let question = question.into();
        match &self.asking {
            None => Err(AskError::Unable(question.kind())),
            Some(asking) => asking.ask(self.own_name(id), question).await,
        }
    }

    /// Asks several things at once, so that the caller has to be gone back to only once. The
    /// answers come in the order of the questions. Where one of them cannot be asked, none is.
    pub async fn ask_all<'a>(
        &self,
        questions: impl IntoIterator<Item = (&'a str, Question)>,
    ) -> Result<Vec<Answer>, AskError> {
        let questions: Vec<_> = questions.into_iter().collect();
        let mut kinds = questions.iter().map(|(_, question)| question.kind());
        if let Some(kind) = kinds.find(|kind| !self.can_ask(*kind)) {
            return Err(AskError::Unable(kind));
        }
        let asked = questions.into_iter().map(|(id, question)| self.ask(id, question));
        futures_util::future::join_all(asked).await.into_iter().collect()
    }

    /// Whether the caller can be asked this sort of question.
    pub fn can_ask(&self, kind: QuestionKind) -> bool {
        self.asking.as_ref().is_some_and(|asking| asking.can(kind))
    }

    /// Keeps a value for the next round of this call, if there is one. It goes to the caller and
    /// back, sealed against change but readable, so it must hold nothing private.
    pub fn remember(&self, key: &str, value: impl Into<Value>) {
        if let Some(asking) = &self.asking {
            let key = self.own_name(key);
            asking.talk().conversation.record.kept.insert(key, value.into());
        }
    }

    /// What an earlier round of this call has kept.
    pub fn recall<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let key = self.own_name(key);
        T::deserialize(self.asking.as_ref()?.talk().conversation.record.kept.get(&key)?).ok()
    }

    /// A name that two operations of one call can both use.
    fn own_name(&self, name: &str) -> String {
        match (&self.parent, &self.entry) {
            (Some(_), Some(entry)) => format!("{}/{name}", entry.declaration.name()),
            (None, _) | (_, None) => name.to_owned(),
        }
    }
}

impl std::fmt::Debug for AskContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AskContext").field("waiting", &self.is_waiting()).finish_non_exhaustive()
    }
}
