//! Calls over a WebSocket, one at a time.

use std::net::SocketAddr;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Error, Message as Frame, client::IntoClientRequest as _, http::HeaderValue},
};

use super::Identity;
use crate::{
    ending::Ending,
    plan::{Message, What},
};

pub(crate) struct WebSocket {
    address: SocketAddr,
    bearer: String,
    stream: Option<WebSocketStream<TcpStream>>,
}

impl WebSocket {
    pub(crate) fn new(address: SocketAddr, identity: &Identity) -> WebSocket {
        WebSocket { address, bearer: format!("Bearer {}", identity.token), stream: None }
    }

    pub(crate) fn close(&mut self) {
        self.stream = None;
    }

    pub(crate) async fn make(&mut self, message: &Message, call: &What) -> Result<Ending, String> {
        let made = self.made(message, call).await;
        if made.is_err() {
            self.stream = None;
        }
        made
    }

    async fn made(&mut self, message: &Message, call: &What) -> Result<Ending, String> {
        if self.stream.is_none() {
            match open(self.address, &self.bearer).await? {
                Ok(stream) => self.stream = Some(stream),
                Err(refused) => return Ok(refused),
            }
        }
        let stream = self.stream.as_mut().ok_or_else(|| "no connection".to_owned())?;
        let asked = asked(message, call).to_string();
        stream.send(Frame::text(asked)).await.map_err(|error| format!("cut: {error}"))?;
        let mut items = 0_u64;
        while let Some(frame) = stream.next().await {
            let frame = frame.map_err(|error| format!("cut: {error}"))?;
            let Frame::Text(text) = frame else { continue };
            let answer: Value = serde_json::from_str(&text).map_err(|error| format!("no message: {error}"))?;
            if answer["id"] != message.id.as_str() {
                return Err(format!("an answer to {} came for {}", answer["id"], message.id));
            }
            match answer["type"].as_str() {
                Some("call.responded") if call.is_stream() => items += 1,
                Some("call.responded") => return Ok(Ending::Output(answer["payload"]["output"].clone())),
                Some("call.completed") => return Ok(Ending::Output(json!({"items": items}))),
                Some("call.error") => return Ok(Ending::of_envelope(&answer["payload"])),
                other => return Err(format!("a message that is not known: {other:?}")),
            }
        }
        Err("the connection was closed".to_owned())
    }
}

/// The message that begins a call.
pub(crate) fn asked(message: &Message, call: &What) -> Value {
    let mut payload = json!({"operation": call.operation(), "input": call.input(), "request_id": message.id});
    if let Some(key) = &message.key {
        payload["idempotency_key"] = key.as_str().into();
    }
    json!({"type": "call.requested", "id": message.id, "payload": payload})
}

/// An open connection; or the failure with which the server refused to open one.
async fn open(address: SocketAddr, bearer: &str) -> Result<Result<WebSocketStream<TcpStream>, Ending>, String> {
    let mut request = format!("ws://{address}/ws").into_client_request().map_err(|error| error.to_string())?;
    let bearer = HeaderValue::from_str(bearer).map_err(|error| error.to_string())?;
    request.headers_mut().insert("authorization", bearer);
    let stream = TcpStream::connect(address).await.map_err(|error| format!("no connection: {error}"))?;
    stream.set_nodelay(true).map_err(|error| format!("no connection: {error}"))?;
    match client_async(request, stream).await {
        Ok((stream, _)) => Ok(Ok(stream)),
        Err(Error::Http(response)) => {
            let body: Value =
                response.body().as_deref().and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default();
            Ok(Err(Ending::of_envelope(&body)))
        }
        Err(error) => Err(format!("no connection: {error}")),
    }
}
