//! Request id and clock: what is known of a call from its first moment to its last.

use std::{
    sync::{Arc, LazyLock, OnceLock},
    time::SystemTime,
};

use redress_contract::{Caller, RequestId, Started};
use tokio::time::Instant;

use super::Asked;
use crate::{Ctx, Registry, registry::Entry};

/// One call, from its first moment to its last.
pub(crate) struct Call {
    pub(crate) registry: Registry,
    pub(super) since: Instant,
    pub(crate) request_id: RequestId,
    pub(super) parent: Option<RequestId>,
    pub(super) session_id: Option<Arc<str>>,
    pub(super) entry: Option<Arc<Entry>>,
    pub(super) caller: Option<Arc<Caller>>,
    pub(super) started: Started,
    pub(super) span: tracing::Span,
    pub(super) ended: bool,
}

impl Call {
    pub(crate) fn begin(registry: Registry, asked: &Asked<'_>, id: Option<RequestId>, since: Instant) -> Call {
        let request_id = id.unwrap_or_else(|| make_id(since));
        Call {
            span: span(&request_id, asked.parent.as_ref()),
            registry,
            since,
            request_id,
            parent: asked.parent.clone(),
            session_id: asked.session_id.clone(),
            entry: None,
            caller: None,
            started: Started::No,
            ended: false,
        }
    }

    /// What the handler is told about the call.
    pub(super) fn ctx(&mut self, entry: &Arc<Entry>, asked: &Asked<'_>) -> Ctx {
        let own = self.since + entry.deadline;
        Ctx {
            registry: self.registry.clone(),
            entry: Some(Arc::clone(entry)),
            caller: self.caller.clone(),
            request_id: self.request_id.clone(),
            parent: self.parent.clone(),
            deadline: Some(asked.deadline.map_or(own, |asked| asked.min(own))),
            depth: asked.depth,
            session_id: self.session_id.clone(),
            idempotency_key: asked.idempotency_key.clone(),
            last_event_id: asked.last_event_id.clone(),
            above: asked.cancellation.clone(),
            own: OnceLock::new(),
        }
    }
}

/// The span of a call: operation, code, kind and request id, and no input values.
fn span(request_id: &RequestId, parent: Option<&RequestId>) -> tracing::Span {
    tracing::info_span!(
        "redress.call",
        %request_id,
        parent_request_id = parent.map(tracing::field::display),
        operation = tracing::field::Empty,
        code = tracing::field::Empty,
        kind = tracing::field::Empty,
    )
}

/// A fresh UUIDv7. The wall clock is read once per process and carried on by the monotonic
/// one, which every call reads anyway; the random part makes the id unique.
fn make_id(now: Instant) -> RequestId {
    static ORIGIN: LazyLock<(Instant, u64)> = LazyLock::new(|| {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        (Instant::now(), u64::try_from(wall.as_millis()).unwrap_or(u64::MAX))
    });
    let (origin, wall_ms) = *ORIGIN;
    let since = u64::try_from(now.saturating_duration_since(origin).as_millis()).unwrap_or(0);
    let random = u128::from(fastrand::u64(..)) << 64 | u128::from(fastrand::u64(..));
    let mut bytes = [0; 10];
    for (place, byte) in bytes.iter_mut().zip(random.to_le_bytes()) {
        *place = byte;
    }
    RequestId::from_parts(wall_ms.saturating_add(since), &bytes)
}
