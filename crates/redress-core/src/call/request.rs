//! One call as a face hands it in.

use std::{borrow::Cow, net::IpAddr, sync::Arc, time::Duration};

use redress_contract::{Caller, RequestId};
use tokio_util::sync::CancellationToken;

use crate::{Account, Asker, Face, ProgressListener, Secret};

/// One call as a face hands it in: the input, who calls, and what the caller asks of the
/// call itself.
///
/// ```
/// use redress_core::Request;
/// use redress_contract::Caller;
/// use std::time::Duration;
///
/// let request = Request::new(br#"{"path":"a.md"}"#.as_slice())
///     .with_caller(Caller::new("ada").scope("files:read"))
///     .with_deadline(Duration::from_secs(2));
/// assert_eq!(request.input(), br#"{"path":"a.md"}"#);
/// ```
#[derive(Clone, Default)]
pub struct Request<'a> {
    pub(crate) input: Cow<'a, [u8]>,
    pub(crate) caller: Option<Arc<Caller>>,
    pub(crate) token: Option<Secret>,
    pub(crate) request_id: Option<RequestId>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) cancellation: Option<CancellationToken>,
    pub(crate) face: Face,
    pub(crate) peer: Option<IpAddr>,
    pub(crate) session_id: Option<Arc<str>>,
    pub(crate) idempotency_key: Option<Arc<str>>,
    pub(crate) last_event_id: Option<Arc<str>>,
    pub(crate) listener: Option<Arc<dyn ProgressListener>>,
    pub(crate) asker: Option<Arc<dyn Asker>>,
    pub(crate) account: Option<Account>,
    pub(crate) sign_in: Option<&'static str>,
}

impl<'a> Request<'a> {
    /// A call with this input, which is JSON; nothing at all counts as an empty object.
    pub fn new(input: impl Into<Cow<'a, [u8]>>) -> Request<'a> {
        Request { input: input.into(), ..Request::default() }
    }

    /// Says who calls.
    #[must_use]
    pub fn with_caller(mut self, caller: impl Into<Arc<Caller>>) -> Request<'a> {
        self.caller = Some(caller.into());
        self
    }

    /// Gives the token from which the registry's identity provider tells who calls.
    #[must_use]
    pub fn with_token(mut self, token: Secret) -> Request<'a> {
        self.token = Some(token);
        self
    }

    /// Gives the caller's own request id. One that is not well formed is replaced.
    #[must_use]
    pub fn with_request_id(mut self, id: &str) -> Request<'a> {
        self.request_id = RequestId::given(id);
        self
    }

    /// Asks for an answer within `deadline`; the operation's own, if shorter, still holds.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Request<'a> {
        self.deadline = Some(deadline);
        self
    }

    /// Lets `token` cancel the call.
    #[must_use]
    pub fn with_cancellation(mut self, token: CancellationToken) -> Request<'a> {
        self.cancellation = Some(token);
        self
    }

    /// Says by which way the call came in.
    #[must_use]
    pub fn with_face(mut self, face: Face) -> Request<'a> {
        self.face = face;
        self
    }

    /// Says from which address the call came. Limits tell the anonymous apart by it, and nothing else does.
    #[must_use]
    pub fn with_peer(mut self, peer: IpAddr) -> Request<'a> {
        self.peer = Some(peer);
        self
    }

    /// Says which session the call belongs to.
    #[must_use]
    pub fn with_session(mut self, id: impl Into<Arc<str>>) -> Request<'a> {
        self.session_id = Some(id.into());
        self
    }

    /// Makes the call safe to repeat, on an operation that takes a key.
    #[must_use]
    pub fn with_idempotency_key(mut self, key: impl Into<Arc<str>>) -> Request<'a> {
        self.idempotency_key = Some(key.into());
        self
    }

    /// Asks a resumable stream to go on after this item.
    #[must_use]
    pub fn with_last_event_id(mut self, id: impl Into<Arc<str>>) -> Request<'a> {
        self.last_event_id = Some(id.into());
        self
    }

    /// Lets `listener` hear what the handler says while it is at work.
    #[must_use]
    pub fn with_listener(mut self, listener: Arc<dyn ProgressListener>) -> Request<'a> {
        self.listener = Some(listener);
        self
    }

    /// Lets the handler ask its caller by `asker`, which answers while the handler waits.
    #[must_use]
    pub fn with_asker(mut self, asker: Arc<dyn Asker>) -> Request<'a> {
        self.asker = Some(asker);
        self
    }

    /// Charges the answer to `account`: the call starts when there is room for what it is expected to answer, and its
    /// answer is written when there is room for that.
    #[must_use]
    pub fn with_account(mut self, account: Account) -> Request<'a> {
        self.account = Some(account);
        self
    }

    /// Says what its caller can do to be known, where credentials are not it. It is the hint of AUTH_REQUIRED.
    #[must_use]
    pub fn with_sign_in(mut self, hint: &'static str) -> Request<'a> {
        self.sign_in = Some(hint);
        self
    }

    /// The input.
    pub fn input(&self) -> &[u8] {
        &self.input
    }
}

impl std::fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request")
            .field("request_id", &self.request_id)
            .field("caller", &self.caller)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}
