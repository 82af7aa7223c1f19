//! What a handler knows about the call that it serves.

use std::{
    any::{Any, TypeId},
    net::IpAddr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use redress_contract::{Caller, Contract, FailureDeclaration, OperationDeclaration, RequestId};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    Account, ArgumentMissing, Face, ProgressListener, Registry, Secret,
    call::{ask::AskContext, budget::AnswerRoom},
    client_prefix,
    hex::hex,
    registry::RegisteredOperation,
};

/// What a handler knows about the call that it serves: who calls, until when, and what
/// else it may call.
///
/// A clone stands for the same call, for tasks and streams that outlive the function.
pub struct Ctx {
    pub(crate) registry: Registry,
    pub(crate) entry: Option<Arc<RegisteredOperation>>,
    pub(crate) caller: Option<Arc<Caller>>,
    pub(crate) request_id: RequestId,
    pub(crate) parent: Option<RequestId>,
    pub(crate) deadline: Option<Instant>,
    /// What its caller asked for alone, or the call above it.
    pub(crate) caller_deadline: Option<Instant>,
    pub(crate) depth: usize,
    pub(crate) face: Face,
    pub(crate) peer: Option<IpAddr>,
    /// What a caller that is not known can do to be.
    pub(crate) sign_in: Option<&'static str>,
    pub(crate) session_id: Option<Arc<str>>,
    pub(crate) idempotency_key: Option<Arc<str>>,
    pub(crate) last_event_id: Option<Arc<str>>,
    /// Who is told what the handler says while it is at work.
    pub(crate) listener: Option<Arc<dyn ProgressListener>>,
    /// The way back to the caller, where there is one.
    pub(crate) asking: Option<Arc<AskContext>>,
    /// The token of the caller: a face's, or the composing call's.
    pub(crate) above: Option<CancellationToken>,
    /// The token of this call, made only when something asks for it.
    pub(crate) own: OnceLock<CancellationToken>,
    /// What the answer is charged to.
    pub(crate) account: Option<Account>,
    /// The room of the answer, made only when something asks for it.
    pub(crate) room: OnceLock<Arc<AnswerRoom>>,
    /// Whether the handler waits for room at this moment; shared with the clone that it may have been given.
    pub(crate) reserves: OnceLock<Arc<AtomicBool>>,
}

impl Ctx {
    /// Who calls; nobody, on an operation that is open to the anonymous.
    pub fn caller(&self) -> Option<&Caller> {
        self.caller.as_deref()
    }

    /// The name of this call, the same as in the log and the answer.
    pub fn request_id(&self) -> &RequestId {
        &self.request_id
    }

    /// The name of the call that made this one, for a composed call.
    pub fn parent_request_id(&self) -> Option<&RequestId> {
        self.parent.as_ref()
    }

    /// When the engine will drop the handler. Inside an open stream that is its caller's deadline, or none: what the
    /// operation declares bounds the opening alone, and each composed call has a deadline of its own.
    pub fn deadline(&self) -> Option<std::time::Instant> {
        self.deadline.map(Instant::into_std)
    }

    /// Whether the [`deadline`](Ctx::deadline) is the caller's own, who gives less time than the operation has. That a handler was
    /// not done by then is no fault of what it waited for.
    pub fn is_hurried(&self) -> bool {
        self.caller_deadline.is_some() && self.deadline == self.caller_deadline
    }

    /// The way by which the call came in; for a composed call, that of the call at its root.
    pub fn face(&self) -> Face {
        self.face
    }

    /// The session that the call belongs to.
    pub fn session_id(&self) -> Option<&str> {
        self.session_id.as_deref()
    }

    /// The idempotency key that came with the call, as the caller chose it.
    pub fn idempotency_key(&self) -> Option<&str> {
        self.idempotency_key.as_deref()
    }

    /// The key to be passed on to another service, of a call of `operation`: the same for the same key of the same caller, and
    /// of nobody else. Two callers may choose the same key, and to that service they are one.
    pub fn idempotency_key_for(&self, operation: &str) -> Option<String> {
        let key = self.idempotency_key()?;
        let mut hash = Sha256::new();
        for part in [&*self.key_holder(), operation, key] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        Some(hex(&hash.finalize()))
    }

    /// Whose key or allowance it is. Two strangers who choose the same key must not get each other's outcome.
    pub(crate) fn key_holder(&self) -> String {
        match (&self.caller, self.peer) {
            (Some(caller), _) => caller.id().to_owned(),
            (None, Some(peer)) => format!("\0{}", client_prefix(peer)),
            (None, None) => String::new(),
        }
    }

    /// The last item that the reader of a resumable stream saw.
    pub fn last_event_id(&self) -> Option<&str> {
        self.last_event_id.as_deref()
    }

    /// Resolves when the call is cancelled or its deadline passes. The handler itself need
    /// not look, since it is dropped then; a task that it spawned should.
    pub async fn cancelled(&self) {
        self.cancellation().cancelled().await;
    }

    /// Whether the call is cancelled or its deadline has passed.
    pub fn is_cancelled(&self) -> bool {
        self.own.get().or(self.above.as_ref()).is_some_and(CancellationToken::is_cancelled)
    }

    /// The token of this call, for tasks that it spawns.
    pub fn cancellation(&self) -> &CancellationToken {
        self.own.get_or_init(|| match &self.above {
            Some(above) => above.child_token(),
            None => CancellationToken::new(),
        })
    }

    /// Waits until there is room for an answer that takes `bytes` of memory, its making included: for a handler that
    /// knows how much it is about to read. It is called once, before anything is read; what the answer does not need
    /// is given back. Without it, an answer waits for its room when it is written as JSON.
    pub async fn reserve(&self, bytes: usize) {
        if let Some(room) = self.room().filter(|_| self.account.as_ref().is_some_and(|account| bytes > account.free()))
        {
            let _waiting = WaitMark::of(self.reserves.get_or_init(Arc::default));
            room.take(bytes).await;
        }
    }

    /// Whether its handler waits for room at this moment.
    pub(crate) fn reserves(&self) -> bool {
        self.reserves.get().is_some_and(|reserves| reserves.load(Ordering::Relaxed))
    }

    /// The room of this call's answer, where answers are charged.
    pub(crate) fn room(&self) -> Option<&Arc<AnswerRoom>> {
        let account = self.account.as_ref()?;
        Some(self.room.get_or_init(|| Arc::new(self.new_room(account))))
    }

    /// Room of its own, for one item of a stream.
    pub(crate) fn new_room(&self, account: &Account) -> AnswerRoom {
        AnswerRoom::new(account.clone(), self.caller(), self.peer)
    }

    /// State given to the registry by `.state(…)`. An argument of type `State<T>` is
    /// checked when the registry is built; this is not.
    pub fn state<T: Send + Sync + 'static>(&self) -> Result<&T, ArgumentMissing> {
        self.registry
            .state(TypeId::of::<T>())
            .and_then(|state| (**state).downcast_ref())
            .ok_or(ArgumentMissing::State(std::any::type_name::<T>()))
    }

    pub(crate) fn shared_state<T: Send + Sync + 'static>(&self) -> Result<Arc<T>, ArgumentMissing> {
        self.registry
            .state(TypeId::of::<T>())
            .and_then(|state| Arc::clone(state).downcast().ok())
            .ok_or(ArgumentMissing::State(std::any::type_name::<T>()))
    }

    /// Everything that is declared beside this operation, as plain values. An operation that
    /// shows declarations shows what is [`disclosed`](Ctx::disclosed) to its caller.
    pub fn contract(&self) -> &Contract {
        self.registry.contract()
    }

    /// The operations that the caller may call from outside right now, whole.
    pub fn open(&self) -> impl Iterator<Item = &OperationDeclaration> {
        self.registry.open_to(self.caller())
    }

    /// The operations that the caller may call from outside right now, each as far as the caller is told of it.
    pub fn disclosed(&self) -> Contract {
        self.registry.disclosed_to(self.caller())
    }

    /// The operation of this name or alias as far as the caller is told of it; nothing where it does not exist for them.
    pub fn disclosed_operation(&self, name: &str) -> Option<OperationDeclaration> {
        self.registry.disclosed_operation(name, self.caller())
    }

    /// The extensions that are loaded, in the order of loading.
    pub fn extensions(&self) -> &[crate::LoadedExtension] {
        self.registry.extensions()
    }

    /// The declaration of a code: the engine's own, or the first operation's that has it.
    pub fn declared(&self, code: &str) -> Option<FailureDeclaration> {
        self.registry.failure(code)
    }

    /// Whether the operation takes the idempotency key that came with the call.
    pub(crate) fn takes_key(&self) -> bool {
        self.entry.as_ref().is_some_and(|entry| entry.declaration.takes_idempotency_key())
    }

    /// A credential given to this operation when it was registered.
    pub fn credential(&self, name: &str) -> Option<&Secret> {
        self.entry.as_ref()?.credentials.get(name)
    }
}

impl Clone for Ctx {
    fn clone(&self) -> Ctx {
        // Both sides must hold the one token of this call, so it is made before they part.
        let own = OnceLock::from(self.cancellation().clone());
        let room = self.room().map(Arc::clone).map(OnceLock::from).unwrap_or_default();
        let reserves = self.account.as_ref().map(|_| Arc::clone(self.reserves.get_or_init(Arc::default)));
        let reserves = reserves.map(OnceLock::from).unwrap_or_default();
        Ctx {
            registry: self.registry.clone(),
            entry: self.entry.clone(),
            caller: self.caller.clone(),
            request_id: self.request_id.clone(),
            parent: self.parent.clone(),
            deadline: self.deadline,
            caller_deadline: self.caller_deadline,
            depth: self.depth,
            face: self.face,
            peer: self.peer,
            sign_in: self.sign_in,
            session_id: self.session_id.clone(),
            idempotency_key: self.idempotency_key.clone(),
            last_event_id: self.last_event_id.clone(),
            listener: self.listener.clone(),
            asking: self.asking.clone(),
            above: self.above.clone(),
            own,
            account: self.account.clone(),
            room,
            reserves,
        }
    }
}

/// That something is waited for, until it is dropped.
struct WaitMark<'a>(&'a AtomicBool);

impl<'a> WaitMark<'a> {
    fn of(waits: &'a AtomicBool) -> WaitMark<'a> {
        waits.store(true, Ordering::Relaxed);
        WaitMark(waits)
    }
}

impl Drop for WaitMark<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Ctx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ctx")
            .field("request_id", &self.request_id)
            .field("caller", &self.caller)
            .finish_non_exhaustive()
    }
}

/// State of any type.
pub(crate) type AnyState = Arc<dyn Any + Send + Sync>;
