//! A call with an idempotency key runs in a task of its own: should its caller go away, it runs to its end all the
//! same, and the repetition gets its outcome. What the service itself cancels is still cut off.

use std::{borrow::Cow, future::Future, sync::Arc};

use redress_contract::{Effect, EngineCode, Envelope, Meta, RequestId};
use tokio::runtime::Handle;

use super::{Call, CallInput};
use crate::{Registry, contained::contain, registry::RegistryInner};

/// What is left on the caller's side of a call that runs in a task of its own.
pub(super) struct Detached {
    registry: Registry,
    runtime: Handle,
    request_id: RequestId,
    session_id: Option<Arc<str>>,
}

/// What a call asks for, taken along into its task.
pub(super) struct OwnedCallInput {
    name: String,
    input: Vec<u8>,
    token: Option<crate::Secret>,
}

impl OwnedCallInput {
    pub(super) fn call_input(&self) -> CallInput<'_> {
        CallInput { name: &self.name, input: Cow::Borrowed(&self.input), token: self.token.clone() }
    }
}

impl From<CallInput<'_>> for OwnedCallInput {
    fn from(call_input: CallInput<'_>) -> OwnedCallInput {
        OwnedCallInput {
            name: call_input.name.to_owned(),
            input: call_input.input.into_owned(),
            token: call_input.token,
        }
    }
}

impl Call {
    /// How to run this call apart from its caller, where it comes with a key that the operation takes.
    pub(super) fn detached(&self, call_input: &CallInput<'_>) -> Option<Detached> {
        self.ctx.idempotency_key.as_ref()?;
        let registry = &self.ctx.registry;
        registry.find(call_input.name).filter(|entry| entry.declaration.takes_idempotency_key())?;
        // Without a runtime there is nowhere else to run; the call is cut off with its caller then.
        let runtime = Handle::try_current().ok()?;
        Some(Detached {
            registry: registry.clone(),
            runtime,
            request_id: self.ctx.request_id.clone(),
            session_id: self.ctx.session_id.clone(),
        })
    }
}

impl Detached {
    /// Runs the call to its end, whether or not this future is.
    pub(super) async fn run<T: Send + 'static>(
        self,
        call: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Envelope> {
        let RegistryInner { keyed, own_keyed, .. } = &*self.registry.0;
        let running = keyed.spawn_on(own_keyed.track_future(call), &self.runtime);
        running.await.map_err(|error| {
            // A panic is contained inside, so this is a runtime that shuts down; a panic all the same is an error. How far
            // the call had come by then, its record and its key know.
            if error.is_panic() {
                contain(|| tracing::error!(request_id = %self.request_id, "a call was lost by a panic"));
            } else {
                tracing::debug!(request_id = %self.request_id, %error, "a call ended with its runtime");
            }
            let mut problem = crate::Refusal::new(EngineCode::OutcomeUnknown).into_problem();
            problem.effect = Effect::Unknown;
            let (request_id, session_id) = (self.request_id, self.session_id);
            Envelope::failure(problem, None, Meta { session_id, ..Meta::new(request_id) })
        })
    }
}
