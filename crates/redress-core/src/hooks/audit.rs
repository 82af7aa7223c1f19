//! The seam for the record of who called what: it never sees an input, and every answer waits for it.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use redress_contract::{Caller, OperationDeclaration, Problem, RequestId};

use crate::{Face, Fingerprint, hooks::idempotency::fingerprint};

/// A call as the audit knows it: who, what, how it ended, and a digest of the input, never the input.
#[derive(Clone, Copy, Debug)]
pub struct AuditedCall<'a> {
    /// The name of the call.
    pub request_id: &'a RequestId,
    /// The name of the call that made it, for a composed call.
    pub parent: Option<&'a RequestId>,
    /// By which way it came in.
    pub face: Face,
    /// Who called; nobody, on an operation that is open to the anonymous.
    pub caller: Option<&'a Caller>,
    /// What was called.
    pub operation: &'a OperationDeclaration,
    /// The bad ending; nothing where it ended well.
    pub problem: Option<&'a Problem>,
    /// Whether it has no outcome yet, as it asked its caller something.
    pub asks: bool,
    /// Whether it got the outcome of an earlier call with its idempotency key, and nothing ran.
    pub repeated: bool,
    /// How long it took.
    pub elapsed: Duration,
    /// What [`Audit::digest`] made of the input; nothing where the input was too large to be looked at.
    pub input: Option<&'a Fingerprint>,
}

impl AuditedCall<'_> {
    /// How it ended, in one word: `ok`, `asks`, or its code.
    pub fn code(&self) -> &str {
        match self.problem {
            Some(problem) => problem.code.as_str(),
            None if self.asks => "asks",
            None => "ok",
        }
    }
}

/// Resolves when a record is kept, or when there is no sense in waiting for it any longer.
pub struct Receipt(Pin<Box<dyn Future<Output = ()> + Send + Sync>>);

impl Receipt {
    /// A receipt that is there when `kept` is.
    pub fn new(kept: impl Future<Output = ()> + Send + Sync + 'static) -> Receipt {
        Receipt(Box::pin(kept))
    }
}

impl Future for Receipt {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

impl std::fmt::Debug for Receipt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Receipt(…)")
    }
}

/// Keeps a record of calls.
///
/// Every call that access has judged is recorded once, when it ends: streams at their end, composed calls with the
/// call above them, and a call that its caller leaves too. Three sorts of calls are not, so that nobody can fill a
/// disk without being known: those of no operation, those refused by access with no caller known (AUTH_REQUIRED),
/// and those refused before their handler for want of capacity (RATE_LIMITED, QUOTA_EXHAUSTED, OVERLOADED).
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use redress_core::{Audit, AuditedCall, Layers, Operation, Receipt, Registry, Request, contract};
/// use serde_json::json;
///
/// #[derive(Default)]
/// struct Lines(Mutex<Vec<String>>);
///
/// impl Audit for Lines {
///     fn record(&self, call: &AuditedCall<'_>) -> Option<Receipt> {
///         self.0.lock().unwrap().push(format!("{} {}", call.operation.name(), call.code()));
///         None
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let wink = contract::OperationDeclaration::query("eye.wink")
///     .with_summary("Wink once.")
///     .with_access(contract::Access::anyone());
/// let wink = Operation::dynamic(wink).with_handler(|_, _| async { Ok(json!("wink")) });
/// let lines = Arc::new(Lines::default());
/// let registry = Registry::builder().add(wink).build().unwrap();
/// let registry = registry.with_layers(Layers::new().audit(lines.clone()));
/// registry.call("eye.wink", Request::default()).await;
/// assert_eq!(*lines.0.lock().unwrap(), ["eye.wink ok"]);
/// # });
/// ```
pub trait Audit: Send + Sync + 'static {
    /// Takes the record, at once: a call that nobody waits for any more is recorded too, where nothing can wait.
    /// The answer of a call from outside waits for the receipt, if there is one; whoever makes it bounds that wait to
    /// a few seconds, after which the call is answered and the record stays queued.
    fn record(&self, call: &AuditedCall<'_>) -> Option<Receipt>;

    /// The digest of an input, for its record. It is made before the handler runs, since nothing is left of the input
    /// when a call is cut off. A bare digest tells a small input to anybody who guesses it, so an audit that others can
    /// read puts something secret into it.
    fn digest(&self, input: &[u8]) -> Fingerprint {
        fingerprint(input)
    }

    /// Whether records can be kept. While they cannot, new calls are refused with OVERLOADED before their handler.
    fn is_open(&self) -> bool {
        true
    }
}
