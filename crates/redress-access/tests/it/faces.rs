//! Every face of one service, asked with the same credentials.

use std::{net::SocketAddr, sync::Arc};

use futures_util::{SinkExt as _, StreamExt as _};
use redress_access::Authenticator;
use redress_core::{
    Layers, Operation, Registry,
    contract::{self, Caller},
};
use redress_serve::Faces;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_tungstenite::{
    connect_async,
    tungstenite::{Error, Message, client::IntoClientRequest as _},
};
use tokio_util::sync::{CancellationToken, DropGuard};

/// A service whose operation `things.read` wants the scope `things:read`, and says who calls.
pub(crate) struct Site {
    address: SocketAddr,
    client: reqwest::Client,
    _stop: DropGuard,
}

/// How a face answered.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) face: &'static str,
    /// The code of a bad ending.
    pub(crate) code: Option<String>,
    /// Who called, if it went well.
    pub(crate) caller: Option<String>,
    /// The whole failure, if it did not.
    pub(crate) failure: Value,
    /// What `WWW-Authenticate` said, where the face has a status of its own for the ending.
    pub(crate) challenge: Option<Option<String>>,
    /// Everything that came back.
    pub(crate) all: String,
}

impl Site {
    pub(crate) async fn start(access: Arc<Authenticator>) -> Site {
        let read = contract::OperationDeclaration::query("things.read")
            .with_summary("Read a thing.")
            .with_access(contract::Access::caller().scope("things:read"));
        let read =
            Operation::dynamic(read).with_handler(|ctx, _| async move { Ok(json!(ctx.caller().map(Caller::id))) });
        let registry = Registry::builder().add(read).build().unwrap().with_layers(Layers::new().identity(access));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let mcp = redress_mcp::Mcp::new(registry.clone(), redress_mcp::McpOptions::default()).unwrap();
        let faces = Faces::new(registry).mcp(mcp);
        tokio::spawn(faces.serve(listener, stop.clone().cancelled_owned()));
        Site { address, client: reqwest::Client::new(), _stop: stop.drop_guard() }
    }

    /// Asks every face for the operation.
    pub(crate) async fn ask(&self, authorization: Option<&str>) -> Vec<Told> {
        vec![
            self.http(authorization).await,
            self.call(authorization).await,
            self.jsonrpc(authorization).await,
            self.websocket(authorization).await,
            self.mcp(authorization).await,
        ]
    }

    pub(crate) async fn http(&self, authorization: Option<&str>) -> Told {
        let answer = self.post("/ops/things/read", json!({}), authorization).await;
        let (body, status) = (answer.json(), answer.status);
        let caller = (status == 200).then(|| body.as_str().unwrap().to_owned());
        answer.told("HTTP", caller, if status == 200 { Value::Null } else { body }, true)
    }

    async fn call(&self, authorization: Option<&str>) -> Told {
        let answer = self.post("/call", json!({"operation": "things.read"}), authorization).await;
        let body = answer.json();
        let caller = body["result"].as_str().map(str::to_owned);
        answer.told("/call", caller.clone(), if caller.is_some() { Value::Null } else { body }, true)
    }

    async fn jsonrpc(&self, authorization: Option<&str>) -> Told {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "things.read"});
        let answer = self.post("/rpc", message, authorization).await;
        let body = answer.json();
        let caller = body["result"].as_str().map(str::to_owned);
        answer.told("JSON-RPC", caller, body["error"]["data"].clone(), false)
    }

    async fn websocket(&self, authorization: Option<&str>) -> Told {
        let mut request = format!("ws://{}/ws", self.address).into_client_request().unwrap();
        if let Some(authorization) = authorization {
            request.headers_mut().insert("authorization", authorization.parse().unwrap());
        }
        let mut socket = match connect_async(request).await {
            Ok((socket, _)) => socket,
            Err(Error::Http(response)) => {
                let challenge = response.headers().get("www-authenticate");
                let challenge = challenge.map(|value| value.to_str().unwrap().to_owned());
                let all = format!("{:?}", response.headers());
                let body = String::from_utf8(response.into_body().unwrap_or_default()).unwrap();
                let failure: Value = serde_json::from_str(&body).unwrap_or_else(|_| panic!("{body}"));
                return Told::of("WebSocket", None, failure, Some(challenge), all + &body);
            }
            Err(error) => panic!("{error}"),
        };
        let call = json!({"type": "call.requested", "id": "1", "payload": {"operation": "things.read", "input": {}}});
        socket.send(Message::text(call.to_string())).await.unwrap();
        loop {
            let Message::Text(text) = socket.next().await.unwrap().unwrap() else { continue };
            let told: Value = serde_json::from_str(&text).unwrap();
            if told["id"] != "1" {
                continue;
            }
            let payload = &told["payload"];
            let caller = payload["output"].as_str().map(str::to_owned);
            let failure = if caller.is_some() { Value::Null } else { payload.clone() };
            return Told::of("WebSocket", caller, failure, None, text.to_string());
        }
    }

    async fn mcp(&self, authorization: Option<&str>) -> Told {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "things_read"}});
        let answer = self.post("/mcp", message, authorization).await;
        let body = answer.json();
        let caller = body["result"]["structuredContent"].as_str().or_else(|| {
            let text = body["result"]["content"][0]["text"].as_str()?;
            (body["result"]["isError"] != true).then_some(text.trim_matches('"'))
        });
        let caller = caller.map(str::to_owned);
        let data = body.pointer("/error/data").or_else(|| body.pointer("/result/_meta/dev.redress~1error"));
        let failure = data.cloned().unwrap_or_default();
        answer.told("MCP", caller, failure, true)
    }

    async fn post(&self, path: &str, body: Value, authorization: Option<&str>) -> Answer {
        let url = format!("http://{}{path}", self.address);
        let mut request = self.client.post(url).body(body.to_string()).header("content-type", "application/json");
        request = request.header("accept", "application/json, text/event-stream");
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Answer { status, headers, text: response.text().await.unwrap() }
    }
}

struct Answer {
    status: u16,
    headers: reqwest::header::HeaderMap,
    text: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{}: {}", self.status, self.text))
    }

    fn told(self, face: &'static str, caller: Option<String>, failure: Value, has_status: bool) -> Told {
        if has_status && !failure.is_null() {
            assert_eq!(json!(self.status), failure["http"], "{face}: {}", self.text);
        }
        let challenge = self.headers.get("www-authenticate").map(|value| value.to_str().unwrap().to_owned());
        let all = format!("{:?}{}", self.headers, self.text);
        Told::of(face, caller, failure, has_status.then_some(challenge), all)
    }
}

impl Told {
    fn of(
        face: &'static str,
        caller: Option<String>,
        failure: Value,
        challenge: Option<Option<String>>,
        all: String,
    ) -> Told {
        let code = failure["code"].as_str().map(str::to_owned);
        assert!(code.is_some() != caller.is_some(), "{face}: neither an output nor a failure, or both: {all}");
        Told { face, code, caller, failure, challenge, all }
    }
}
