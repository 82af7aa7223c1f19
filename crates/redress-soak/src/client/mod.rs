//! A client that takes any way to the server, one message after the other.

mod answer;
mod http;
mod web_socket;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use self::web_socket::WebSocket;
pub(crate) use self::{
    http::{Http, Version},
    web_socket::asked,
};
use crate::{
    ending::Ending,
    plan::{Message, Way, What},
};

/// How long a client waits for an answer. Longer than any operation may take with the grace of a server that goes down,
/// so whoever waits so long was forgotten.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

/// Who calls.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// The name in the records of the server.
    pub(crate) caller: Arc<str>,
    pub(crate) token: Arc<str>,
}

/// One client. Its connections are opened when they are needed and again after they broke.
pub(crate) struct Client {
    one: Http,
    two: Http,
    web_socket: WebSocket,
    identity: Identity,
}

/// How the calls of a message ended, and how long the message took.
pub(crate) struct Answered {
    pub(crate) endings: Vec<Ending>,
    pub(crate) took: Duration,
}

impl Client {
    pub(crate) fn new(address: SocketAddr, identity: &Identity) -> Client {
        Client {
            one: Http::new(address, Version::One, identity),
            two: Http::new(address, Version::Two, identity),
            web_socket: WebSocket::new(address, identity),
            identity: identity.clone(),
        }
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Sends the message and waits until each of its calls has ended.
    pub(crate) async fn make(&mut self, message: &Message) -> Answered {
        let since = Instant::now();
        let endings = match timeout(PATIENCE, self.endings(message)).await {
            Ok(endings) => endings,
            Err(_) => {
                // What is still to come on these connections belongs to nobody any more.
                self.one.close();
                self.two.close();
                self.web_socket.close();
                vec![Ending::Silent; message.calls.len()]
            }
        };
        Answered { endings, took: since.elapsed() }
    }

    async fn endings(&mut self, message: &Message) -> Vec<Ending> {
        let ending = match (message.way, message.calls.as_slice()) {
            (Way::Batch, calls) => return self.batch(message, calls).await,
            (Way::Http1, [call]) => path(&mut self.one, message, call).await,
            (Way::Http2, [call]) => path(&mut self.two, message, call).await,
            (Way::Call, [call]) => {
                let body = json!({"operation": call.operation(), "input": call.input()});
                whole(&mut self.one, "/call", message, &body).await.map(|reply| answer::of_envelope(&reply))
            }
            (Way::Rpc, [call]) => {
                let body = json!({"jsonrpc": "2.0", "id": 1, "method": call.operation(), "params": call.input()});
                whole(&mut self.one, "/rpc", message, &body).await.map(|reply| answer::of_rpc(&reply))
            }
            (Way::Mcp, [call]) => mcp(&mut self.one, message, call).await,
            (Way::WebSocket, [call]) => self.web_socket.make(message, call).await,
            (_, calls) => Err(format!("{} calls in a message for one", calls.len())),
        };
        vec![ending.unwrap_or_else(Ending::Cut)]
    }

    async fn batch(&mut self, message: &Message, calls: &[What]) -> Vec<Ending> {
        let body: Vec<Value> =
            calls.iter().map(|call| json!({"operation": call.operation(), "input": call.input()})).collect();
        match whole(&mut self.one, "/batch", message, &body.into()).await {
            Ok(reply) => answer::of_batch(&reply, message),
            Err(why) => vec![Ending::Cut(why); calls.len()],
        }
    }
}

/// A call of the operation's own path.
async fn path(http: &mut Http, message: &Message, call: &What) -> Result<Ending, String> {
    let target = format!("/ops/{}", call.operation().replace('.', "/"));
    let body = Bytes::from(call.input().to_string());
    let head = http.post(&target, message, body)?;
    let mut reply = http.send(head).await?;
    if reply.is_stream() {
        return answer::of_stream(&mut reply).await;
    }
    let whole = reply.whole(&message.id).await?;
    Ok(answer::of_path(&whole))
}

async fn mcp(http: &mut Http, message: &Message, call: &What) -> Result<Ending, String> {
    let mut params = json!({"name": call.operation().replace('.', "_"), "arguments": call.input()});
    if let Some(key) = &message.key {
        params["_meta"] = json!({"dev.redress/idempotency_key": key});
    }
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let reply = whole(http, "/mcp", message, &body).await?;
    Ok(answer::of_mcp(&reply, call.is_stream()))
}

/// Posts a document and reads the whole answer.
async fn whole(http: &mut Http, target: &str, message: &Message, body: &Value) -> Result<answer::Whole, String> {
    let request = http.post(target, message, Bytes::from(body.to_string()))?;
    http.send(request).await?.whole(&message.id).await
}
