//! A call with an idempotency key runs in a task of its own: should its caller go away, it runs to its end all the
//! same, and the repetition gets its outcome. What the service itself cancels is still cut off.

use std::{borrow::Cow, future::Future, sync::Arc};

use redress_contract::{Effect, EngineCode, Envelope, Meta, RequestId};
use tokio::runtime::Handle;

use super::{Asked, Call};
use crate::{Registry, registry::Inner};

/// What is left on the caller's side of a call that runs in a task of its own.
pub(super) struct Apart {
    registry: Registry,
    runtime: Handle,
    request_id: RequestId,
    session_id: Option<Arc<str>>,
}

/// What a call asks for, taken along into its task.
pub(super) struct Taken {
    name: String,
    input: Vec<u8>,
    token: Option<crate::Secret>,
}

impl Taken {
    pub(super) fn asked(&self) -> Asked<'_> {
        Asked { name: &self.name, input: Cow::Borrowed(&self.input), token: self.token.clone() }
    }
}

impl From<Asked<'_>> for Taken {
    fn from(asked: Asked<'_>) -> Taken {
        Taken { name: asked.name.to_owned(), input: asked.input.into_owned(), token: asked.token }
    }
}

impl Call {
    /// How to run this call apart from its caller, where it comes with a key that the operation takes.
    pub(super) fn apart(&self, asked: &Asked<'_>) -> Option<Apart> {
        self.ctx.idempotency_key.as_ref()?;
        let registry = &self.ctx.registry;
        registry.find(asked.name).filter(|entry| entry.declaration.takes_idempotency_key())?;
        // Without a runtime there is nowhere else to run; the call is cut off with its caller then.
        let runtime = Handle::try_current().ok()?;
        Some(Apart {
            registry: registry.clone(),
            runtime,
            request_id: self.ctx.request_id.clone(),
            session_id: self.ctx.session_id.clone(),
        })
    }
}

impl Apart {
    /// Runs the call to its end, whether or not this future is.
    pub(super) async fn run<T: Send + 'static>(
        self,
        call: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Envelope> {
        let Inner { keyed, own_keyed, .. } = &*self.registry.0;
        let running = keyed.spawn_on(own_keyed.track_future(call), &self.runtime);
        running.await.map_err(|error| {
            // A panic is contained inside, so this is a runtime that shuts down. How far the call had come by then, its
            // record and its key know.
            tracing::debug!(request_id = %self.request_id, %error, "a call ended with its runtime");
            let mut problem = crate::Refusal::new(EngineCode::OutcomeUnknown).into_problem();
            problem.effect = Effect::Unknown;
            let (request_id, session_id) = (self.request_id, self.session_id);
            Envelope::failure(problem, None, Meta { session_id, ..Meta::new(request_id) })
        })
    }
}
