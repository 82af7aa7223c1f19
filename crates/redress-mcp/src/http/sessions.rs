//! Whose each session is. The name of a session tells which one is meant, and never who may use it.
//!
//! Why so:
//! - docs/decisions/0043-a-session-is-its-callers.md
//! - docs/decisions/0050-mcp-sessions-are-ours.md

use std::{collections::HashMap, sync::Arc};

use parking_lot::{Mutex, MutexGuard};

use super::session::HttpSession;
use crate::{mcp::McpInner, owner::Owner, rounds::Seal};

/// The sessions that are open, and what the states of calls that ask are sealed with. Clones are of the same ones: a face
/// that takes the place of another, as at a reload, is given the sessions of that, and goes on with its questions.
#[derive(Clone, Debug, Default)]
pub struct OpenSessions(pub(super) Arc<Sessions>);

/// The sessions that are open, by their names.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    open: Mutex<HashMap<Arc<str>, Arc<HttpSession>>>,
    seal: Mutex<Option<Arc<Seal>>>,
}

impl Sessions {
    fn table(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<HttpSession>>> {
        // No change of it can be half made, so a lock without poison will do.
        self.open.lock()
    }

    /// Lets a face go on with what the one before it has sealed.
    pub(super) fn carry_on(&self, face: &McpInner) {
        face.carry_on(&mut self.seal.lock());
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.table().len()
    }

    /// Takes note of a session before its name is told to anybody, unless there are as many as there may be.
    pub(super) fn open(&self, session: &Arc<HttpSession>, max: usize) -> bool {
        let mut table = self.table();
        let room = table.len() < max;
        if room {
            table.insert(Arc::clone(&session.name), Arc::clone(session));
        }
        room
    }

    /// The session of this name, if there is one of this owner.
    pub(super) fn find(&self, name: &str, owner: &Owner) -> Option<Arc<HttpSession>> {
        self.table().get(name).filter(|session| session.is_of(owner)).cloned()
    }

    /// Forgets a session that is over.
    pub(super) fn remove(&self, name: &str) {
        self.table().remove(name);
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        self.table().values().for_each(|session| session.end());
    }
}

#[cfg(test)]
mod tests {
    use redress_wire::mcp::read_params;
    use tokio_util::sync::CancellationToken;

    use super::*;

    fn session(name: &str, owner: &Owner) -> Arc<HttpSession> {
        let params = br#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{}}"#;
        let params = read_params(params).unwrap();
        Arc::new(HttpSession::new(name.into(), owner.clone(), None, &params, CancellationToken::new()))
    }

    #[tokio::test]
    async fn a_session_is_its_owners_until_it_ends_and_nobodys_after_that() {
        let (sessions, ada, bob) = (Sessions::default(), Owner::Caller("ada".into()), Owner::Caller("bob".into()));
        let (one, other) = (session("one", &ada), session("other", &bob));
        assert!(sessions.open(&one, 2) && sessions.open(&other, 2) && !sessions.open(&session("third", &ada), 2));
        let has = |name, owner| sessions.find(name, owner).is_some();
        assert!(has("one", &ada) && has("other", &bob));
        assert!(!has("one", &bob) && !has("other", &ada) && !has("none", &ada));
        one.end();
        assert!(!has("one", &ada));
        sessions.remove("one");
        assert_eq!(sessions.len(), 1);
        drop(sessions);
        assert!(other.over.is_cancelled(), "no session outlives its face");
    }
}
