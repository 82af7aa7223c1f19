//! HTTP/1.1 and HTTP/2, one connection at a time.

use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Request, Response,
    body::Incoming,
    client::conn::{TrySendError, http1, http2},
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

use super::{Identity, answer::Whole};
use crate::plan::Message;

/// The version that a connection speaks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Version {
    One,
    Two,
}

/// A client over one connection, which is opened when it is needed.
pub(crate) struct Http {
    address: SocketAddr,
    version: Version,
    bearer: String,
    sender: Option<Sender>,
}

enum Sender {
    One(http1::SendRequest<Full<Bytes>>),
    Two(http2::SendRequest<Full<Bytes>>),
}

/// The head of an answer, and its body as it comes.
pub(crate) struct Reply(pub(crate) Response<Incoming>);

impl Http {
    pub(crate) fn new(address: SocketAddr, version: Version, identity: &Identity) -> Http {
        Http { address, version, bearer: format!("Bearer {}", identity.token), sender: None }
    }

    pub(crate) fn close(&mut self) {
        self.sender = None;
    }

    /// A request that carries a document under the message's id and key.
    pub(crate) fn post(&self, target: &str, message: &Message, body: Bytes) -> Result<Request<Full<Bytes>>, String> {
        let uri = match self.version {
            Version::One => target.to_owned(),
            Version::Two => format!("http://{}{target}", self.address),
        };
        let mut request = Request::post(uri)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .header(AUTHORIZATION, &self.bearer)
            .header("x-request-id", &message.id);
        if matches!(self.version, Version::One) {
            request = request.header(HOST, self.address.to_string());
        }
        if let Some(key) = &message.key {
            request = request.header("idempotency-key", key);
        }
        request.body(Full::new(body)).map_err(|error| format!("the request was not made: {error}"))
    }

    /// A request for what a path gives.
    pub(crate) async fn get(&mut self, target: &str) -> Result<Reply, String> {
        let uri = match self.version {
            Version::One => target.to_owned(),
            Version::Two => format!("http://{}{target}", self.address),
        };
        let request = Request::get(uri)
            .header(HOST, self.address.to_string())
            .header(AUTHORIZATION, &self.bearer)
            .body(Full::default())
            .map_err(|error| format!("the request was not made: {error}"))?;
        self.send(request).await
    }

    /// Sends the request, and gives the answer once its head is there.
    pub(crate) async fn send(&mut self, request: Request<Full<Bytes>>) -> Result<Reply, String> {
        let mut request = request;
        // A kept connection may have been closed in the meantime. Then nothing was sent, and that is no call.
        for _ in 0..2 {
            let sender = self.sender().await?;
            let sent = match sender {
                Sender::One(sender) => sender.try_send_request(request).await,
                Sender::Two(sender) => sender.try_send_request(request).await,
            };
            match sent {
                Ok(response) => return Ok(Reply(response)),
                Err(mut unsent) => {
                    self.sender = None;
                    match unsent.take_message() {
                        Some(back) => request = back,
                        None => return Err(cut(unsent)),
                    }
                }
            }
        }
        Err("the connection was closed before anything was sent".to_owned())
    }

    async fn sender(&mut self) -> Result<&mut Sender, String> {
        let usable = match &self.sender {
            Some(Sender::One(sender)) => !sender.is_closed() && sender.is_ready(),
            Some(Sender::Two(sender)) => !sender.is_closed(),
            None => false,
        };
        if !usable {
            self.sender = Some(connect(self.address, self.version).await?);
        }
        self.sender.as_mut().ok_or_else(|| "no connection".to_owned())
    }
}

fn cut<T>(unsent: TrySendError<T>) -> String {
    format!("cut: {}", unsent.into_error())
}

async fn connect(address: SocketAddr, version: Version) -> Result<Sender, String> {
    let stream = TcpStream::connect(address).await.map_err(|error| format!("no connection: {error}"))?;
    stream.set_nodelay(true).map_err(|error| format!("no connection: {error}"))?;
    let io = TokioIo::new(stream);
    match version {
        Version::One => {
            let (sender, connection) = http1::handshake(io).await.map_err(|error| format!("no connection: {error}"))?;
            tokio::spawn(connection);
            Ok(Sender::One(sender))
        }
        Version::Two => {
            let (sender, connection) =
                http2::handshake(TokioExecutor::new(), io).await.map_err(|error| format!("no connection: {error}"))?;
            tokio::spawn(connection);
            Ok(Sender::Two(sender))
        }
    }
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.0.headers().get(name).and_then(|value| value.to_str().ok())
    }

    pub(crate) fn is_stream(&self) -> bool {
        self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"))
    }

    /// The whole body, of an answer that names the call it belongs to.
    pub(crate) async fn whole(self, id: &str) -> Result<Whole, String> {
        let (status, events) = (self.0.status(), self.is_stream());
        let named = self.header("x-request-id").map(str::to_owned);
        if named.as_deref().is_some_and(|named| named != id) {
            return Err(format!("an answer to {named:?} came for {id}"));
        }
        let body = self.bytes().await?;
        Ok(Whole { status, body, events })
    }

    pub(crate) async fn bytes(self) -> Result<Bytes, String> {
        let body = self.0.into_body().collect().await.map_err(|error| format!("cut in the body: {error}"))?;
        Ok(body.to_bytes())
    }

    /// The next piece of the body.
    pub(crate) async fn piece(&mut self) -> Option<Result<Bytes, String>> {
        loop {
            match self.0.body_mut().frame().await? {
                Ok(frame) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Some(Ok(bytes));
                    }
                }
                Err(error) => return Some(Err(format!("cut in the stream: {error}"))),
            }
        }
    }
}
