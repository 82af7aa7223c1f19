//! What a connection can do for one request while that runs.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
};

use redress_core::{self as core, Asker, Level, Note, ProgressListener, Request};
use redress_wire::mcp::method;
use serde_json::{json, value::RawValue};
use tokio::sync::mpsc;

use crate::{
    reply::Reply,
    session::{self, Session, notification},
};

/// How many things that were told wait to be sent.
const WAITING: usize = 64;

/// What a connection can do for one request while that runs. A request that stands on its own
/// has none of it.
#[derive(Clone, Copy, Default)]
pub(crate) struct ClientChannel<'a> {
    /// Where what the handler tells goes.
    pub(crate) notifier: Option<&'a Notifier>,
    /// Who hears the notes of every request of the connection, where this one has no place of
    /// its own for them.
    pub(crate) listener: Option<&'a Arc<dyn ProgressListener>>,
    /// Who answers while the handler waits.
    pub(crate) asker: Option<&'a Arc<dyn Asker>>,
    /// What is known of the connection from one request to the next.
    pub(crate) session: Option<&'a Session>,
}

/// What a handler told.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum OutgoingNotification {
    Step(ProgressStep),
    Note(Note),
}

impl OutgoingNotification {
    /// What was told, as a message to a client that knows its progress by `token`.
    pub(crate) fn message(&self, token: Option<&RawValue>) -> Vec<u8> {
        match self {
            OutgoingNotification::Step(ProgressStep { progress, total, message }) => {
                let mut params = json!({"progressToken": token, "progress": progress});
                if let Some(members) = params.as_object_mut() {
                    members.extend(total.map(|total| ("total".to_owned(), total.into())));
                    members.extend(message.clone().map(|message| ("message".to_owned(), message.into())));
                }
                notification(method::PROGRESS, &params)
            }
            OutgoingNotification::Note(note) => notification(method::NOTE, &session::note(note)),
        }
    }
}

/// An answer that is waited for, and what is told meanwhile.
pub(crate) struct NotifyingReply<F> {
    answer: Pin<Box<F>>,
    told: mpsc::Receiver<OutgoingNotification>,
    ended: Option<Reply>,
}

/// What comes next of a request.
pub(crate) enum RequestEvent {
    Told(OutgoingNotification),
    Ended(Reply),
}

impl<F: Future<Output = Reply>> NotifyingReply<F> {
    pub(crate) fn new(answer: F, told: mpsc::Receiver<OutgoingNotification>) -> NotifyingReply<F> {
        NotifyingReply { answer: Box::pin(answer), told, ended: None }
    }

    pub(crate) async fn next(&mut self) -> RequestEvent {
        if self.ended.is_none() {
            tokio::select! {
                biased;
                Some(told) = self.told.recv() => return RequestEvent::Told(told),
                reply = &mut self.answer => self.ended = Some(reply),
            }
        }
        // A call that never paused has left what it told behind.
        match (self.told.try_recv(), self.ended.take()) {
            (Err(_), Some(reply)) => RequestEvent::Ended(reply),
            (Ok(told), ended) => {
                self.ended = ended;
                RequestEvent::Told(told)
            }
            // Whoever has the answer does not ask for more.
            (Err(_), None) => std::future::pending().await,
        }
    }
}

/// How far a request has come.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ProgressStep {
    pub(crate) progress: f64,
    pub(crate) total: Option<f64>,
    pub(crate) message: Option<String>,
}

/// Where what one handler tells goes. What nobody takes in time is dropped: nothing that is told
/// holds a result back.
#[derive(Clone)]
pub(crate) struct Notifier {
    to: mpsc::Sender<OutgoingNotification>,
    steps: bool,
    notes: Option<Level>,
}

impl Notifier {
    /// A place for what is wanted, and where it can be read; none where nothing is.
    pub(crate) fn wanted(
        steps: bool,
        notes: Option<Level>,
    ) -> Option<(Notifier, mpsc::Receiver<OutgoingNotification>)> {
        if !steps && notes.is_none() {
            return None;
        }
        let (to, told) = mpsc::channel(WAITING);
        Some((Notifier { to, steps, notes }, told))
    }

    pub(crate) fn wants_steps(&self) -> bool {
        self.steps
    }

    pub(crate) fn step(&self, step: ProgressStep) {
        let _ = self.to.try_send(OutgoingNotification::Step(step));
    }
}

impl ClientChannel<'_> {
    /// The request, with the ways to its caller.
    pub(crate) fn attend<'a>(&self, request: Request<'a>) -> Request<'a> {
        let request = match (self.notifier, self.listener) {
            (Some(notifier), _) => {
                let heard = NotifyingListener { notifier: notifier.clone(), last: Mutex::new(f64::NEG_INFINITY) };
                request.with_listener(Arc::new(heard))
            }
            (None, Some(listener)) => request.with_listener(Arc::clone(listener)),
            (None, None) => request,
        };
        match self.asker {
            Some(asker) => request.with_asker(Arc::clone(asker)),
            None => request,
        }
    }
}

/// Hands on what a handler says. Steps that lead nowhere or back are not told: clients take them
/// for a mistake.
struct NotifyingListener {
    notifier: Notifier,
    last: Mutex<f64>,
}

impl ProgressListener for NotifyingListener {
    fn progress(&self, progress: core::Progress) {
        if !self.notifier.steps {
            return;
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if progress.done.is_finite() && progress.done > *last {
            *last = progress.done;
            let total = progress.total.filter(|total| total.is_finite());
            self.notifier.step(ProgressStep { progress: progress.done, total, message: progress.message });
        }
    }

    fn note(&self, note: Note) {
        let _ = self.notifier.to.try_send(OutgoingNotification::Note(note));
    }

    fn wants(&self, level: Level) -> bool {
        self.notifier.notes.is_some_and(|min| level >= min)
    }
}
