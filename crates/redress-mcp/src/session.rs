//! What is known of a connection from one request to the next, and what it is told unasked.

use std::{collections::BTreeSet, sync::Arc};

use parking_lot::{Mutex, MutexGuard};
use redress_core::{Change, Level};
use redress_wire::mcp::{SubscriptionFilter, method};
use serde_json::{Value, json};

use crate::rounds::random;

/// How many documents one connection may ask to be told of, and how many bytes their names may have together.
pub(crate) const MAX_DOCUMENTS: usize = 1024;
pub(crate) const MAX_NAMES: usize = 128 * 1024;

/// A name that nobody can guess: 128 random bits. None where the system has no random bytes.
pub(crate) fn unguessable() -> Option<Arc<str>> {
    Some(redress_core::hex(&random::<16>().ok()?).into())
}

/// What is known of a connection from one request to the next.
#[derive(Debug)]
pub(crate) struct Session {
    state: Mutex<SessionState>,
}

#[derive(Debug)]
struct SessionState {
    /// The least level of notes that is wanted.
    level: Level,
    /// The documents whose changes are told.
    documents: ResourceSubscriptions,
}

/// The documents that somebody wants to be told of, as many as there may be.
#[derive(Debug, Default)]
pub(crate) struct ResourceSubscriptions {
    names: BTreeSet<String>,
    bytes: usize,
}

impl ResourceSubscriptions {
    /// Takes note of one; says whether there was room for it.
    pub(crate) fn add(&mut self, uri: &str) -> bool {
        if self.names.contains(uri) {
            return true;
        }
        let bytes = self.bytes.saturating_add(uri.len());
        if self.names.len() >= MAX_DOCUMENTS || bytes > MAX_NAMES {
            return false;
        }
        self.bytes = bytes;
        self.names.insert(uri.to_owned())
    }

    fn remove(&mut self, uri: &str) {
        if self.names.remove(uri) {
            self.bytes -= uri.len();
        }
    }

    pub(crate) fn into_names(self) -> BTreeSet<String> {
        self.names
    }
}

/// Something that a client is told unasked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    Tools,
    Prompts,
    Resources,
    Updated(String),
}

impl Default for Session {
    fn default() -> Session {
        Session { state: Mutex::new(SessionState { level: Level::Info, documents: ResourceSubscriptions::default() }) }
    }
}

impl Session {
    fn state(&self) -> MutexGuard<'_, SessionState> {
        // No change of it can be half made, so a lock without poison will do.
        self.state.lock()
    }

    /// The least level of notes that is wanted.
    pub(crate) fn level(&self) -> Level {
        self.state().level
    }

    pub(crate) fn set_level(&self, level: Level) {
        self.state().level = level;
    }

    /// Takes note of a document; says whether there was room for it.
    pub(crate) fn subscribe(&self, uri: &str) -> bool {
        self.state().documents.add(uri)
    }

    pub(crate) fn unsubscribe(&self, uri: &str) {
        self.state().documents.remove(uri);
    }

    /// What a client of the legacy era is told of a change: every list, and the documents that it
    /// asked for.
    pub(crate) fn notices(&self, change: &Change) -> Vec<Notice> {
        let wanted = SubscriptionFilter {
            tools_list_changed: true,
            prompts_list_changed: true,
            resources_list_changed: true,
            resource_subscriptions: self.state().documents.names.clone(),
        };
        notices(change, &wanted)
    }
}

/// What a client that wants these changes is told of one.
pub(crate) fn notices(change: &Change, wanted: &SubscriptionFilter) -> Vec<Notice> {
    let tools = wanted.tools_list_changed.then_some(Notice::Tools);
    let prompts = wanted.prompts_list_changed.then_some(Notice::Prompts);
    let resources = wanted.resources_list_changed.then_some(Notice::Resources);
    let updated = |uri: &str| wanted.resource_subscriptions.contains(uri).then(|| Notice::Updated(uri.to_owned()));
    let everything = || {
        let lists = [&tools, &prompts, &resources].into_iter().flatten().cloned();
        lists.chain(wanted.resource_subscriptions.iter().map(|uri| Notice::Updated(uri.clone()))).collect()
    };
    match change {
        Change::Operations => tools.into_iter().collect(),
        Change::Prompts => prompts.into_iter().collect(),
        Change::Resources => resources.into_iter().collect(),
        Change::Resource(uri) => updated(uri).into_iter().collect(),
        Change::Missed => everything(),
        // A change of a sort that is not known here may be of anything.
        _ => everything(),
    }
}

impl Notice {
    /// Its method, and its parameters.
    pub(crate) fn message(self) -> (&'static str, Value) {
        match self {
            Notice::Tools => (method::TOOLS_CHANGED, json!({})),
            Notice::Prompts => (method::PROMPTS_CHANGED, json!({})),
            Notice::Resources => (method::RESOURCES_CHANGED, json!({})),
            Notice::Updated(uri) => (method::RESOURCE_UPDATED, json!({"uri": uri})),
        }
    }
}

/// A message that wants no answer.
pub(crate) fn notification(method: &str, params: &Value) -> Vec<u8> {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string().into_bytes()
}

/// A note as the parameters of its message.
pub(crate) fn note(note: &redress_core::Note) -> Value {
    let mut params = json!({"level": note.level, "data": note.data});
    if let (Some(operation), Value::Object(params)) = (&note.operation, &mut params) {
        params.insert("logger".into(), operation.as_str().into());
    }
    params
}

/// The level of this name.
pub(crate) fn level(name: &str) -> Option<Level> {
    serde_json::from_value(name.into()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_sessions_have_one_name() {
        let (one, other) = (unguessable().unwrap(), unguessable().unwrap());
        assert!(one.len() == 32 && one != other);
    }

    #[test]
    fn a_connection_is_told_of_so_many_documents_and_of_so_many_bytes_of_their_names() {
        let short = Session::default();
        assert!((0..MAX_DOCUMENTS).all(|number| short.subscribe(&format!("a://{number}"))));
        assert!(!short.subscribe("a://more") && short.subscribe("a://1"), "what it is told of already needs no room");
        let long = Session::default();
        let name = |number: usize| format!("a://{}/{number}", "x".repeat(8_000));
        let taken = (0..MAX_DOCUMENTS).take_while(|number| long.subscribe(&name(*number))).count();
        assert_eq!(taken, MAX_NAMES / name(10).len());
        long.unsubscribe(&name(0));
        long.unsubscribe(&name(0));
        assert!(long.subscribe(&name(0)) && !long.subscribe(&name(taken)));
    }
}
