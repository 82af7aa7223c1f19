//! Calls operations as a given caller, the way a face does.

use std::sync::Arc;

use futures_util::StreamExt as _;
use redress_contract::{Caller, Envelope};
use serde::Serialize;

use super::{CallAnswer, Collected, Coverage, WatchedStream};
use crate::{Registry, Request, Subscription};

/// Calls operations as a given caller, by the whole call path, the way a face does.
///
/// It calls as nobody until a caller is given. Every call that goes through it, and every
/// call that an operation makes below, is also told to the [coverage](Coverage) that the
/// environment asks for; nothing has to be changed where the registry is built.
///
/// ```
/// use redress_core::testing::Harness;
/// use redress_core::{Operation, Registry, contract};
/// use redress_core::contract::{Access, Caller};
/// use serde_json::json;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let whoami = contract::OperationDeclaration::query("users.whoami").with_summary("Say who calls.");
/// let whoami = Operation::dynamic(whoami)
///     .with_handler(|ctx, _| async move { Ok(json!(ctx.caller().map(Caller::id))) });
/// let harness = Harness::new(Registry::builder().add(whoami).build().unwrap());
///
/// let ada = harness.as_caller(Caller::new("ada"));
/// assert_eq!(ada.call("users.whoami", json!({})).await.output::<String>(), "ada");
/// assert_eq!(ada.anonymous().call("users.whoami", json!({})).await.code(), Some("AUTH_REQUIRED"));
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct Harness {
    registry: Registry,
    caller: Option<Arc<Caller>>,
    coverage: Coverage,
}

impl Harness {
    /// Calls the operations of `registry`, as nobody.
    pub fn new(registry: Registry) -> Harness {
        let coverage = Coverage::from_env();
        Harness { registry: registry.observed_by(coverage.clone()), caller: None, coverage }
    }

    /// The same operations, called by `caller`.
    #[must_use]
    pub fn as_caller(&self, caller: Caller) -> Harness {
        Harness { caller: Some(Arc::new(caller)), ..self.clone() }
    }

    /// The same operations, called by nobody.
    #[must_use]
    pub fn anonymous(&self) -> Harness {
        Harness { caller: None, ..self.clone() }
    }

    /// Calls an operation with `input`, written as JSON.
    ///
    /// # Panics
    ///
    /// When `input` cannot be written as JSON.
    pub async fn call(&self, name: &str, input: impl Serialize) -> CallAnswer {
        self.send(name, Request::new(json(&input))).await
    }

    /// Calls an operation with a request of the test's own: raw bytes, a token, a deadline,
    /// an idempotency key. The harness adds its caller.
    pub async fn send(&self, name: &str, request: Request<'_>) -> CallAnswer {
        CallAnswer(self.registry.call(name, self.called_by(request)).await)
    }

    /// Subscribes to an operation and reads the stream to its end.
    ///
    /// # Panics
    ///
    /// When `input` cannot be written as JSON.
    pub async fn subscribe(&self, name: &str, input: impl Serialize) -> Collected {
        let mut stream = match self.open(name, Request::new(json(&input))).await {
            Ok(stream) => stream,
            Err(envelope) => return Collected::refused(envelope),
        };
        let mut collected = Collected { items: Vec::new(), failed: None, completed: None, after: 0 };
        while let Some(event) = stream.next().await {
            collected.push(event);
        }
        collected
    }

    /// Subscribes to an operation and reads the stream as the test goes along: for a stream that has no end of its own.
    ///
    /// # Panics
    ///
    /// When `input` cannot be written as JSON.
    pub async fn watch(&self, name: &str, input: impl Serialize) -> WatchedStream {
        WatchedStream::new(self.open(name, Request::new(json(&input))).await)
    }

    /// Subscribes to an operation with a request of the test's own, for a test that reads the events themselves.
    pub async fn open(&self, name: &str, request: Request<'_>) -> Result<Subscription, Envelope> {
        self.registry.subscribe(name, self.called_by(request)).await
    }

    /// The registry, as the harness calls it.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Which (operation, code) pairs the calls of this harness produced.
    pub fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    fn called_by<'a>(&self, request: Request<'a>) -> Request<'a> {
        match &self.caller {
            Some(caller) => request.with_caller(Arc::clone(caller)),
            None => request,
        }
    }
}

fn json(input: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(input).expect("the input of a test can be written as JSON")
}
