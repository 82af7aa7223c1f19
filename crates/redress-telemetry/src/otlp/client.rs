//! The one HTTP client by which everything leaves.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};

use bytes::{Bytes, BytesMut};
use opentelemetry::Context;
use opentelemetry_http::{HttpClient, HttpError, Request, Response};
use reqwest::{
    Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
    redirect::Policy,
};
use tokio::runtime::{Builder, Handle, Runtime};

use super::{OtlpError, OtlpSettings};

/// How much of an answer is read. A collector has little to say.
const LONGEST_ANSWER: usize = 64 * 1024;

/// What messages are of, by the end of where they go.
const SORTS: [(&str, &str); 3] = [("/v1/traces", "traces"), ("/v1/metrics", "metrics"), ("/v1/logs", "logs")];

/// The client, with what is known about the collector.
#[derive(Clone)]
pub(super) struct OtlpClient(Arc<OtlpClientInner>);

struct OtlpClientInner {
    http: reqwest::Client,
    runtime: Handle,
    base: Url,
    failed: AtomicU64,
    /// Whether the last message of each sort was not taken. Only a change is told, and a collector may take one sort and
    /// not another.
    away: [AtomicBool; SORTS.len()],
}

/// The thread on which messages are sent. What is logged on it, by the client or what is below it, must not
/// become a message itself.
pub(super) struct Thread {
    handle: Handle,
    runtime: Option<Runtime>,
}

impl Thread {
    pub(super) fn start() -> std::io::Result<Thread> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("redress-otlp")
            .on_thread_start(|| std::mem::forget(Context::enter_telemetry_suppressed_scope()))
            .enable_all()
            .build()?;
        Ok(Thread { handle: runtime.handle().clone(), runtime: Some(runtime) })
    }

    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }
}

/// It may be dropped by a task, where to wait for a thread is not allowed.
impl Drop for Thread {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl OtlpClient {
    pub(super) fn new(settings: &OtlpSettings, thread: &Thread) -> Result<OtlpClient, OtlpError> {
        let mut base = Url::parse(&settings.endpoint).map_err(|_| OtlpError::Endpoint)?;
        if !matches!(base.scheme(), "http" | "https") || base.host().is_none() {
            return Err(OtlpError::Endpoint);
        }
        let path = base.path().trim_end_matches('/').to_owned();
        base.set_path(&path);
        let mut headers = HeaderMap::new();
        for (name, value) in &settings.headers {
            let read = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value.expose()).ok());
            let Some((read, mut value)) = read else { return Err(OtlpError::Header { name: name.clone() }) };
            value.set_sensitive(true);
            headers.insert(read, value);
        }
        let http = reqwest::Client::builder()
            .timeout(settings.timeout)
            .redirect(Policy::none())
            .default_headers(headers)
            .build()
            .map_err(OtlpError::Client)?;
        let (failed, away) = (AtomicU64::new(0), Default::default());
        let runtime = thread.handle().clone();
        Ok(OtlpClient(Arc::new(OtlpClientInner { http, runtime, base, failed, away })))
    }

    /// Where messages of one sort go.
    pub(super) fn address(&self, path: &str) -> String {
        let mut address = self.0.base.clone();
        address.set_path(&format!("{}{path}", self.0.base.path().trim_end_matches('/')));
        address.into()
    }

    /// How many attempts to send something have failed.
    pub(super) fn failed(&self) -> u64 {
        self.0.failed.load(Relaxed)
    }

    /// Sends a message once; says whether it was taken.
    pub(super) async fn post(&self, path: &str, message: Vec<u8>) -> bool {
        let request = self.0.http.post(self.address(path)).header(CONTENT_TYPE, "application/x-protobuf").body(message);
        let Ok(request) = request.build() else { return false };
        self.send(request).await.is_ok_and(|response| response.status().is_success())
    }

    async fn send(&self, request: reqwest::Request) -> Result<Response<Bytes>, HttpError> {
        let path = request.url().path();
        let sorts = SORTS.iter().zip(&self.0.away);
        let sort = sorts.into_iter().find(|((end, _), _)| path.ends_with(end)).map(|((_, sort), away)| (*sort, away));
        let sent = self.attempt(request).await;
        let taken = sent.as_ref().is_ok_and(|response| response.status().is_success());
        if !taken {
            self.0.failed.fetch_add(1, Relaxed);
        }
        let Some((sort, away)) = sort else { return sent };
        let collector = Host(&self.0.base);
        match (taken, away.swap(!taken, Relaxed)) {
            (false, false) => match &sent {
                Ok(response) => {
                    tracing::warn!(%collector, sort, status = response.status().as_u16(), "the collector does not take telemetry; calls go on without it");
                }
                Err(error) => {
                    tracing::warn!(%collector, sort, %error, "the collector cannot be reached; calls go on without it");
                }
            },
            (true, true) => tracing::info!(%collector, sort, "the collector takes telemetry again"),
            (true, false) | (false, true) => {}
        }
        sent
    }

    async fn attempt(&self, request: reqwest::Request) -> Result<Response<Bytes>, HttpError> {
        // An address may hold a password, which must not get into the log.
        let mut answer = self.0.http.execute(request).await.map_err(reqwest::Error::without_url)?;
        let mut body = BytesMut::new();
        while let Some(chunk) = answer.chunk().await.map_err(reqwest::Error::without_url)? {
            if body.len() + chunk.len() > LONGEST_ANSWER {
                return Err("the answer of the collector is too long".into());
            }
            body.extend_from_slice(&chunk);
        }
        let mut response = Response::new(body.freeze());
        *response.status_mut() = answer.status();
        *response.headers_mut() = std::mem::take(answer.headers_mut());
        Ok(response)
    }
}

impl HttpClient for OtlpClient {
    // As the attribute of the trait writes it. The exporters run on threads of their own, which have no reactor.
    fn send_bytes<'life0, 'async_trait>(
        &'life0 self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'async_trait>>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        let client = self.clone();
        Box::pin(async move {
            let request = reqwest::Request::try_from(request)?;
            let runtime = client.0.runtime.clone();
            runtime.spawn(async move { client.send(request).await }).await?
        })
    }
}

impl fmt::Debug for OtlpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OtlpClient").field(&Host(&self.0.base).to_string()).finish()
    }
}

/// The part of an address that is no secret.
struct Host<'a>(&'a Url);

impl fmt::Display for Host<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.host_str().unwrap_or_default())?;
        self.0.port_or_known_default().map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}
