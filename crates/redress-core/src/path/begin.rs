//! Request id and clock: what is known of a call from its first moment to its last.
//!
//! Why so: docs/decisions/0004-clock.md.

use std::{
    future::Future,
    sync::{
        Arc, LazyLock, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use redress_contract::{Allowance, EngineCode, RequestId, Started};
use tokio::time::Instant;

use super::{CallStop, FailedCall, audit::Audited};
use crate::{Ctx, contained::ContainedSpan, registry::RegisteredOperation};

/// One call, from its first moment to its last. What the handler is told about it grows with
/// the steps, in one place, and is lent to the handler as it is.
pub(crate) struct Call {
    pub(crate) ctx: Ctx,
    pub(super) since: Instant,
    /// Whether the handler has been polled. The handler borrows the context while it runs, so
    /// this is set through a shared reference.
    polled: AtomicBool,
    pub(super) span: ContainedSpan,
    pub(super) ended: bool,
    /// How long it took to open, for a stream that is open.
    pub(super) opened_after: Option<Duration>,
    /// What its record will say, where calls are recorded.
    pub(super) audited: Option<Box<Audited>>,
    /// What is left of the allowances that it was taken from, once that is known.
    pub(super) allowances: OnceLock<Box<[Allowance]>>,
}

impl Call {
    #[inline]
    pub(crate) fn begin(ctx: Ctx, since: Instant) -> Call {
        let span = ContainedSpan::new(|| span(&ctx.request_id, ctx.parent.as_ref()));
        Call {
            ctx,
            since,
            polled: AtomicBool::new(false),
            span,
            ended: false,
            opened_after: None,
            audited: None,
            allowances: OnceLock::new(),
        }
    }

    /// Takes note of the operation that is called, and until when it may take: its own word,
    /// or the caller's if that is sooner.
    pub(super) fn found(&mut self, entry: Arc<RegisteredOperation>) {
        let own = self.since.checked_add(entry.deadline);
        self.ctx.deadline = self.ctx.deadline.into_iter().chain(own).min();
        self.ctx.entry = Some(entry);
    }

    /// Takes note that there is no such operation: what is left to do has the time of an operation that does not say.
    pub(super) fn found_nothing(&mut self) {
        let given = self.since.checked_add(self.ctx.registry.0.settings.deadline);
        self.ctx.deadline = self.ctx.deadline.into_iter().chain(given).min();
    }

    /// Takes note that a stream is open. From here on it ends when its reader, its source or its caller's deadline
    /// says so; what the operation declares was for the opening.
    pub(super) fn opened(&mut self) {
        self.opened_after = Some(self.since.elapsed());
        self.ctx.deadline = self.ctx.caller_deadline;
    }

    /// The operation that is called, once it is found.
    pub(super) fn entry(&self) -> Result<&Arc<RegisteredOperation>, Box<FailedCall>> {
        self.ctx.entry.as_ref().ok_or_else(|| self.refuse(EngineCode::NotFound))
    }

    /// Waits for `step`, which runs code of the author's before the handler, no longer than the
    /// call itself may take.
    pub(super) async fn within<T>(
        &self,
        step: impl Future<Output = Result<T, Box<FailedCall>>>,
    ) -> Result<T, CallStop> {
        // What a composed call asks puts down the whole tree, at its root: to end this call alone
        // would fail what has no part in the question.
        let asks = async {
            match self.ctx.asking.as_ref().filter(|_| self.ctx.parent.is_none()) {
                Some(asking) => asking.waiting().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.called_off() => Err(self.refuse(EngineCode::Cancelled).into()),
            ended = step => Ok(ended?),
            () = asks => Err(CallStop::Suspended),
            () = self.at_deadline() => Err(self.too_late().into()),
        }
    }

    /// Resolves when the call may take no longer.
    pub(super) async fn at_deadline(&self) {
        match self.ctx.deadline {
            Some(deadline) => tokio::time::sleep_until(deadline).await,
            None => std::future::pending().await,
        }
    }

    /// Resolves when its caller calls it off.
    pub(super) async fn called_off(&self) {
        match &self.ctx.above {
            Some(token) => token.cancelled().await,
            None => std::future::pending().await,
        }
    }

    /// Takes note that the handler starts.
    pub(super) fn start(&self) {
        self.polled.store(true, Ordering::Relaxed);
    }

    /// What `map` says where the handler has started, whether it has or not.
    pub(super) fn as_if_started<T>(&self, map: impl FnOnce() -> T) -> T {
        let polled = self.polled.swap(true, Ordering::Relaxed);
        let mapped = map();
        self.polled.store(polled, Ordering::Relaxed);
        mapped
    }

    /// How far the call has come.
    pub(super) fn started(&self) -> Started {
        if !self.polled.load(Ordering::Relaxed) {
            Started::No
        } else if self.ctx.idempotency_key.is_some() && self.ctx.takes_key() {
            Started::WithKey
        } else {
            Started::Yes
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
pub(crate) fn make_id(now: Instant) -> RequestId {
    static ORIGIN: LazyLock<(Instant, u64)> = LazyLock::new(|| {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        (Instant::now(), u64::try_from(wall.as_millis()).unwrap_or(u64::MAX))
    });
    let (origin, wall_ms) = *ORIGIN;
    let since = u64::try_from(now.saturating_duration_since(origin).as_millis()).unwrap_or(0);
    let mut bytes = [0; 10];
    for (place, byte) in bytes.iter_mut().zip(fastrand::u128(..).to_le_bytes()) {
        *place = byte;
    }
    RequestId::from_parts(wall_ms.saturating_add(since), &bytes)
}
