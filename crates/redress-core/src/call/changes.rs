//! What changes while a service runs: which operations are there to be seen, and what is in
//! its documents.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use redress_contract::Role;
use tokio::sync::broadcast;

use crate::{Ctx, Registry, registry::RegisteredOperation};

/// How many changes a reader may be behind before it is told only that it missed some.
const KEPT: usize = 64;

/// Something that has changed while the service runs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// Which operations there are.
    Operations,
    /// Which prompts there are.
    Prompts,
    /// Which documents there are.
    Resources,
    /// What is in the document at this URI.
    Resource(Arc<str>),
    /// More than this reader could keep up with: anything may have changed.
    Missed,
}

/// What tells the readers of a registry.
#[derive(Debug)]
pub(crate) struct Announcer {
    version: AtomicU64,
    sender: broadcast::Sender<Change>,
}

impl Default for Announcer {
    fn default() -> Announcer {
        Announcer { version: AtomicU64::new(0), sender: broadcast::Sender::new(KEPT) }
    }
}

/// What changes while a service runs, and who wants to know.
///
/// ```
/// use redress_core::{Change, Operation, Registry, Request, contract};
/// use serde_json::json;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let beta = contract::OperationDeclaration::query("lab.beta").with_access(contract::Access::anyone());
/// let beta = Operation::dynamic(beta).with_handler(|_, _| async { Ok(json!(1)) });
/// let registry = Registry::builder().add(beta).build().unwrap();
///
/// let mut changes = registry.changes().subscribe();
/// assert!(registry.changes().hide("lab.beta"));
/// assert_eq!(changes.next().await, Some(Change::Operations));
/// assert_eq!(registry.call("lab.beta", Request::default()).await.code(), Some("NOT_FOUND"));
/// assert_eq!(registry.open_to(None).count(), 0);
///
/// assert!(registry.changes().show("lab.beta"));
/// assert!(registry.call("lab.beta", Request::default()).await.is_ok());
/// assert_eq!(registry.changes().version(), 2);
/// # });
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Changes<'a>(&'a Registry);

impl Registry {
    /// What changes while the service runs.
    pub fn changes(&self) -> Changes<'_> {
        Changes(self)
    }
}

impl Ctx {
    /// What changes while the service runs, for a handler that changes it.
    pub fn changes(&self) -> Changes<'_> {
        Changes(&self.registry)
    }
}

impl Changes<'_> {
    /// Hides an operation: from now on nobody sees it and nobody can call it. Calls that run
    /// come to their end. Says whether that changed anything.
    pub fn hide(&self, name: &str) -> bool {
        self.set_hidden(name, true)
    }

    /// Shows an operation that was hidden. Says whether that changed anything.
    pub fn show(&self, name: &str) -> bool {
        self.set_hidden(name, false)
    }

    fn set_hidden(&self, name: &str, hidden: bool) -> bool {
        let Some(entry) = self.0.find(name) else { return false };
        let changed = entry.hidden.swap(hidden, Ordering::AcqRel) != hidden;
        if changed {
            self.announce(kind(entry));
        }
        changed
    }

    /// Whether an operation is hidden.
    pub fn is_hidden(&self, name: &str) -> bool {
        self.0.find(name).is_some_and(|entry| entry.is_hidden())
    }

    /// Tells everybody that the document at `uri` is not what it was.
    pub fn resource(&self, uri: impl Into<Arc<str>>) {
        self.announce(Change::Resource(uri.into()));
    }

    /// Tells everybody of a change that was made elsewhere.
    pub fn announce(&self, change: Change) {
        let announcer = &self.0.0.announcer;
        if !matches!(change, Change::Resource(_)) {
            announcer.version.fetch_add(1, Ordering::AcqRel);
        }
        // With nobody listening there is nobody to be told.
        let _ = announcer.sender.send(change);
    }

    /// How often the lists have changed since the registry was built.
    pub fn version(&self) -> u64 {
        self.0.0.announcer.version.load(Ordering::Acquire)
    }

    /// The changes from now on.
    pub fn subscribe(&self) -> ChangeReader {
        ChangeReader(self.0.0.announcer.sender.subscribe())
    }
}

fn kind(entry: &RegisteredOperation) -> Change {
    match entry.declaration.role() {
        Role::Plain => Change::Operations,
        Role::Prompt => Change::Prompts,
        Role::Resource { .. } => Change::Resources,
    }
}

/// Reads changes, one after the other.
#[derive(Debug)]
pub struct ChangeReader(broadcast::Receiver<Change>);

impl ChangeReader {
    /// The next change; nothing once the registry is gone.
    pub async fn next(&mut self) -> Option<Change> {
        match self.0.recv().await {
            Ok(change) => Some(change),
            Err(broadcast::error::RecvError::Lagged(_)) => Some(Change::Missed),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}
