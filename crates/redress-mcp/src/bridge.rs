//! The way through the protocol's library: sessions, streams of messages, and methods that are
//! asked for seldom. Its handler asks the same functions as every other way.

mod handler;
mod live;

use std::{pin::Pin, sync::Arc, time::Duration};

use ::http::{HeaderValue, Request, Response, header, request::Parts};
use bytes::Bytes;
use http_body_util::{Either, Full};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};

use crate::{Asking, Body, HttpOptions, mcp::Inner};
use handler::Handler;

/// After how much silence a stream shows that it is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// An answer on its way. It is boxed, since it would make every request on any way as large as the
/// largest one.
type Answering<'a> = Pin<Box<dyn Future<Output = Response<Body>> + Send + 'a>>;

/// The protocol's library as a service: for requests on their own, and for sessions.
#[derive(Clone)]
pub(crate) struct Bridge {
    stateless: StreamableHttpService<Handler, LocalSessionManager>,
    session: StreamableHttpService<Handler, LocalSessionManager>,
    manager: Arc<LocalSessionManager>,
}

impl Bridge {
    pub(crate) fn new(inner: &Arc<Inner>, options: &HttpOptions) -> Bridge {
        let manager = Arc::new(LocalSessionManager::default());
        // Host and Origin were looked at before, by one rule for all ways.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_json_response(true)
            .with_sse_keep_alive(Some(KEEP_ALIVE))
            .with_cancellation_token(options.shutdown.clone())
            .with_max_request_body_bytes(options.max_body);
        let service = |manager: &Arc<LocalSessionManager>, config, in_session: bool| {
            let inner = Arc::clone(inner);
            let handler = move || Ok(Handler::new(Arc::clone(&inner), in_session));
            StreamableHttpService::new(handler, Arc::clone(manager), config)
        };
        let alone = config.clone().with_legacy_session_mode(false).with_sse_retry(None);
        Bridge {
            stateless: service(&Arc::default(), alone, false),
            session: service(&manager, config.with_legacy_session_mode(true), true),
            manager,
        }
    }

    /// How many sessions there are.
    pub(crate) async fn sessions(&self) -> usize {
        self.manager.sessions.read().await.len()
    }

    /// Answers a request that stands on its own.
    pub(crate) fn stateless(&self, parts: Parts, body: Bytes, asking: Asking) -> Answering<'_> {
        let request = request(parts, body, asking);
        Box::pin(async { self.stateless.handle(request).await.map(Either::Right) })
    }

    /// Answers a message of a session, or one that opens it.
    pub(crate) fn session(&self, parts: Parts, body: Bytes, asking: Asking) -> Answering<'_> {
        let request = request(parts, body, asking);
        Box::pin(async { self.session.handle(request).await.map(Either::Right) })
    }
}

fn request(mut parts: Parts, body: Bytes, asking: Asking) -> Request<Full<Bytes>> {
    // The library refuses whoever does not take both, even where only one can come.
    let both = HeaderValue::from_static("application/json, text/event-stream");
    parts.headers.insert(header::ACCEPT, both);
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    // The token has told who calls, and goes no further.
    parts.headers.remove(header::AUTHORIZATION);
    parts.extensions.insert(asking);
    Request::from_parts(parts, Full::new(body))
}
