//! A session: what is known of a client of the legacy era from one of its messages to the next.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use redress_core::{Answer, AskError, Asker, Change, ChangeReader, Question, QuestionKind};
use redress_wire::mcp::{ClientCapabilities, InitializeParams, LATEST_LEGACY, method, negotiate};
use tokio::{
    sync::Notify,
    time::{Instant, MissedTickBehavior},
};
use tokio_util::sync::CancellationToken;

use super::{StreamPermit, events::EventLog, sessions::Sessions};
use crate::{
    client_questions::Questions,
    mcp::McpInner,
    owner::Owner,
    requests::Requests,
    rounds,
    session::{MAX_DOCUMENTS, Session, notification},
};

/// After how much silence a session ends in which no request runs.
const IDLE: Duration = Duration::from_secs(300);
/// For how long the events of a request that ended are kept for a client that comes back, and of how many requests.
const KEPT_FOR: Duration = Duration::from_secs(60);
const MAX_KEPT: usize = 16;
/// How often it is looked whether any of that time has passed.
const BETWEEN_LOOKS: Duration = Duration::from_secs(15);
/// The number of the stream of changes. Those of requests are numbered from one on.
pub(super) const CHANGES: u64 = 0;

/// A session. It is over when its client says so, when it was silent for long, and when the service ends.
#[derive(Debug)]
pub(super) struct HttpSession {
    pub(super) name: Arc<str>,
    pub(super) owner: Owner,
    /// Given back when the session is over.
    place: Mutex<Option<StreamPermit>>,
    can: ClientCapabilities,
    /// Whether events have ids by which a client that lost its connection can go on.
    pub(super) resumable: bool,
    /// The level of notes, and the documents whose changes are told.
    pub(super) state: Session,
    pub(super) questions: Questions,
    pub(super) requests: Requests,
    /// What is told of changes.
    pub(super) changes: Arc<EventLog>,
    streams: Mutex<RequestStreams>,
    /// The changes from `notifications/initialized` on, for the task that tells them.
    reader: Mutex<Option<ChangeReader>>,
    initialized: Notify,
    said: Mutex<Instant>,
    pub(super) over: CancellationToken,
}

/// The streams of requests, by their numbers.
#[derive(Debug, Default)]
struct RequestStreams {
    last: u64,
    open: VecDeque<RequestStream>,
}

#[derive(Debug)]
struct RequestStream {
    number: u64,
    log: Arc<EventLog>,
    ended: Option<Instant>,
}

impl HttpSession {
    /// The session that `initialize` opens.
    pub(super) fn new(
        name: Arc<str>,
        owner: Owner,
        place: Option<StreamPermit>,
        params: &InitializeParams<'_>,
        over: CancellationToken,
    ) -> HttpSession {
        // Older clients take an event without a message for one that is broken, and ids are of use only with it.
        let resumable = negotiate(&params.protocol_version) >= LATEST_LEGACY;
        HttpSession {
            name,
            owner,
            place: Mutex::new(place),
            can: params.client_can(),
            resumable,
            state: Session::default(),
            questions: Questions::default(),
            requests: Requests::default(),
            // The three lists, and every document once.
            changes: Arc::new(EventLog::new(MAX_DOCUMENTS + 3, resumable)),
            streams: Mutex::default(),
            reader: Mutex::default(),
            initialized: Notify::new(),
            said: Mutex::new(Instant::now()),
            over,
        }
    }

    /// Whether it is open, and this owner's.
    pub(super) fn is_of(&self, owner: &Owner) -> bool {
        self.owner == *owner && !self.over.is_cancelled()
    }

    /// Takes note that something was said in it.
    pub(super) fn touch(&self) {
        *lock(&self.said) = Instant::now();
    }

    fn is_idle(&self) -> bool {
        self.requests.len() == 0 && lock(&self.said).elapsed() >= IDLE
    }

    /// Ends the session, and everything that runs in it.
    pub(super) fn end(&self) {
        self.over.cancel();
        self.questions.gone();
        self.changes.close();
        lock(&self.streams).open.clear();
        drop(lock(&self.place).take());
    }

    /// Takes a message that wants no answer.
    pub(super) fn notified(&self, inner: &McpInner, asked: &str, params: &[u8]) {
        if asked == method::CANCELLED {
            self.requests.cancel(params);
        }
        if asked == method::INITIALIZED {
            let mut reader = lock(&self.reader);
            if reader.is_none() {
                // From now on, and not from when the task comes to it.
                *reader = Some(inner.registry.changes().subscribe());
                self.initialized.notify_one();
            }
        }
    }

    fn tell(&self, change: &Change) {
        self.touch();
        for notice in self.state.notices(change) {
            let (method, params) = notice.message();
            self.changes.notify_once(notification(method, &params));
        }
    }

    /// Gives the stream of a request a number.
    pub(super) fn opened(&self, log: &Arc<EventLog>) -> u64 {
        let mut streams = lock(&self.streams);
        streams.last += 1;
        let number = streams.last;
        // Where it ended in the meantime, nobody says so any more.
        let ended = log.is_over().then(Instant::now);
        streams.open.push_back(RequestStream { number, log: Arc::clone(log), ended });
        self.forget(&mut streams);
        number
    }

    /// Takes note that the request whose stream this is has ended, if it has one.
    pub(super) fn ended(&self, log: &Arc<EventLog>) {
        let mut streams = lock(&self.streams);
        if let Some(stream) = streams.open.iter_mut().find(|stream| Arc::ptr_eq(&stream.log, log)) {
            stream.ended = Some(Instant::now());
        }
        self.forget(&mut streams);
    }

    /// The stream of this number, if it is still known.
    pub(super) fn stream(&self, number: u64) -> Option<Arc<EventLog>> {
        if number == CHANGES {
            return Some(Arc::clone(&self.changes));
        }
        let streams = lock(&self.streams);
        streams.open.iter().find(|stream| stream.number == number).map(|stream| Arc::clone(&stream.log))
    }

    /// Forgets streams of requests that ended long ago, and the oldest of too many.
    fn forget(&self, streams: &mut RequestStreams) {
        let mut more = streams.open.iter().filter(|stream| stream.ended.is_some()).count().saturating_sub(MAX_KEPT);
        streams.open.retain(|stream| {
            let Some(ended) = stream.ended else { return true };
            let kept = more == 0 && ended.elapsed() < KEPT_FOR;
            more = more.saturating_sub(1);
            kept
        });
    }

    /// Tells what changes, and ends the session when it was silent for long.
    pub(super) async fn attend(self: Arc<HttpSession>, sessions: Weak<Sessions>) {
        let mut looks = tokio::time::interval(BETWEEN_LOOKS);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut changes: Option<ChangeReader> = None;
        loop {
            tokio::select! {
                () = self.over.cancelled() => break,
                () = self.initialized.notified(), if changes.is_none() => changes = lock(&self.reader).take(),
                change = next(&mut changes) => match change {
                    Some(change) => self.tell(&change),
                    None => break,
                },
                _ = looks.tick() => {
                    self.forget(&mut lock(&self.streams));
                    if self.is_idle() {
                        break;
                    }
                }
            }
        }
        self.end();
        if let Some(sessions) = sessions.upgrade() {
            sessions.remove(&self.name);
        }
    }
}

/// The next change, once there is somebody who reads them.
async fn next(changes: &mut Option<ChangeReader>) -> Option<Change> {
    match changes {
        Some(changes) => changes.next().await,
        None => std::future::pending().await,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No change under any of these locks can be half made, so poison says nothing here.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Asks the client of a session on the stream of the request that asks.
#[derive(Debug)]
pub(super) struct StreamAsker {
    session: Arc<HttpSession>,
    log: Arc<EventLog>,
}

impl StreamAsker {
    /// The client of this session, if it can be asked anything.
    pub(super) fn of(session: &Arc<HttpSession>, log: &Arc<EventLog>) -> Option<Arc<dyn Asker>> {
        let asker = || StreamAsker { session: Arc::clone(session), log: Arc::clone(log) };
        session.can.any().then(|| Arc::new(asker()) as Arc<dyn Asker>)
    }
}

impl Asker for StreamAsker {
    fn can(&self, kind: QuestionKind) -> bool {
        rounds::kinds(self.session.can).any(|able| able == kind)
    }

    fn ask<'a>(
        &'a self,
        key: &'a str,
        question: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Result<Answer, AskError>> + Send + 'a>> {
        Box::pin(async move {
            let waiting = self.session.questions.begin(|message| self.log.notify(message))?;
            self.log.send(waiting.message(key, question));
            waiting.answer(key).await
        })
    }
}

#[cfg(test)]
mod tests {
    use redress_core::{Registry, consent_grant};
    use redress_wire::mcp::read_params;

    use super::*;
    use crate::{Mcp, McpOptions};

    fn session(version: &str) -> Arc<HttpSession> {
        let params = format!(r#"{{"protocolVersion":"{version}","capabilities":{{"roots":{{}}}},"clientInfo":{{}}}}"#);
        let params = read_params(params.as_bytes()).unwrap();
        Arc::new(HttpSession::new("s".into(), Owner::Unknown, None, &params, CancellationToken::new()))
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_ends_after_five_minutes_in_which_nothing_is_said_and_nothing_runs() {
        let session = session(LATEST_LEGACY);
        let attended = tokio::spawn(Arc::clone(&session).attend(Weak::new()));
        let token = session.requests.admit(redress_wire::jsonrpc::Id::read("7").unwrap()).unwrap();
        tokio::time::sleep(IDLE * 3).await;
        assert!(!attended.is_finished() && !token.is_cancelled(), "a request runs");
        session.touch();
        session.requests.ended("7");
        let before = Instant::now();
        attended.await.unwrap();
        assert!((IDLE..=IDLE + BETWEEN_LOOKS).contains(&before.elapsed()), "{:?}", before.elapsed());
        assert!(session.over.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn the_streams_of_the_last_requests_are_kept_for_a_minute() {
        let session = session(LATEST_LEGACY);
        let logs: Vec<_> = (0..MAX_KEPT + 2).map(|_| Arc::new(EventLog::new(1, true))).collect();
        let numbers: Vec<_> = logs.iter().map(|log| session.opened(log)).collect();
        let known = || numbers.iter().filter(|number| session.stream(**number).is_some()).count();
        assert_eq!((numbers[0], known()), (1, MAX_KEPT + 2), "whatever runs is kept");
        logs.iter().for_each(|log| session.ended(log));
        assert_eq!(known(), MAX_KEPT);
        assert!(session.stream(1).is_none() && session.stream(CHANGES).is_some());
        tokio::time::sleep(KEPT_FOR).await;
        session.forget(&mut lock(&session.streams));
        assert_eq!(known(), 0);
    }

    #[tokio::test]
    async fn changes_wait_for_a_client_that_has_no_stream_for_them_each_once() {
        let registry = Registry::builder().add(consent_grant()).build().unwrap();
        let mcp = Mcp::new(registry.clone(), McpOptions::default()).unwrap();
        let session = session("2025-06-18");
        let attended = tokio::spawn(Arc::clone(&session).attend(Weak::new()));
        session.notified(&mcp.0, method::INITIALIZED, b"");
        for _ in 0..40 {
            registry.changes().announce(Change::Operations);
        }
        registry.changes().announce(Change::Prompts);
        let reader = session.changes.read(None);
        let mut seen = Vec::new();
        while seen
            .last()
            .is_none_or(|message: &bytes::Bytes| !message.ends_with(br#"prompts/list_changed","params":{}}"#))
        {
            let next = std::future::poll_fn(|cx| session.changes.poll_next(reader, cx)).await;
            seen.push(next.unwrap().1);
        }
        assert!(seen.len() < 40, "{seen:?}");
        session.end();
        attended.await.unwrap();
    }
}
