//! The face on a socket of its own, and messages for both eras.

use std::{net::SocketAddr, sync::Arc};

use redress_core::{Registry, testing::Canary};
use redress_mcp::{HttpOptions, Mcp, McpOptions};
use redress_serve::Faces;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::demo::{self, Watched};

pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const LEGACY: &str = "2025-11-25";

/// A running service.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) client: reqwest::Client,
    pub(crate) canary: Canary,
    pub(crate) watched: Arc<Watched>,
}

/// An answer, every byte of which the canary has seen.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{self:?}"))
    }

    pub(crate) fn result(&self) -> Value {
        let mut json = self.json();
        assert!(json.get("error").is_none(), "{self:?}");
        json["result"].take()
    }

    pub(crate) fn error(&self) -> (i64, String) {
        let json = self.json();
        (json["error"]["code"].as_i64().unwrap(), json["error"]["message"].as_str().unwrap().to_owned())
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }
}

impl Running {
    pub(crate) async fn start() -> Running {
        Running::with(|_| {}, |_| {}).await
    }

    pub(crate) async fn with(options: impl FnOnce(&mut McpOptions), http: impl FnOnce(&mut HttpOptions)) -> Running {
        let (canary, watched) = (Canary::new(), Arc::new(Watched::default()));
        let registry = demo::registry(&canary, &watched);
        Running::of(registry, canary, watched, options, http).await
    }

    pub(crate) async fn of(
        registry: Registry,
        canary: Canary,
        watched: Arc<Watched>,
        options: impl FnOnce(&mut McpOptions),
        http: impl FnOnce(&mut HttpOptions),
    ) -> Running {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (mut mcp, mut over_http) = (McpOptions::default(), HttpOptions::default());
        // Many tests stream; that it takes a word of the operator has one of its own.
        mcp.subscriptions = true;
        options(&mut mcp);
        http(&mut over_http);
        let face = Mcp::new(registry.clone(), mcp).unwrap();
        let faces = Faces::new(registry).mcp(face).mcp_http(over_http);
        tokio::spawn(faces.serve(listener, std::future::pending()));
        Running { address, client: reqwest::Client::new(), canary, watched }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub(crate) async fn send(&self, body: impl Into<String>, headers: &[(&str, &str)]) -> Answer {
        let mut request = self.client.post(self.url()).body(body.into());
        if !headers.iter().any(|(name, _)| *name == "content-type") {
            request = request.header("content-type", "application/json");
        }
        if !headers.iter().any(|(name, _)| *name == "accept") {
            request = request.header("accept", "application/json, text/event-stream");
        }
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.unwrap();
        self.canary.check("the MCP face", format!("{headers:?}{text}"));
        Answer { status, headers, text }
    }

    /// Sends a request as a client of this version does.
    pub(crate) async fn ask(&self, version: &str, method: &str, params: Value) -> Answer {
        let (body, headers) = message(version, method, params);
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.send(body, &headers).await
    }

    pub(crate) async fn call(&self, version: &str, tool: &str, arguments: Value) -> Answer {
        self.ask(version, "tools/call", json!({"name": tool, "arguments": arguments})).await
    }
}

/// A request of this version, with the headers that belong to it.
pub(crate) fn message(version: &str, method: &str, mut params: Value) -> (String, Vec<(&'static str, String)>) {
    let mut headers = vec![("mcp-protocol-version", version.to_owned())];
    if version >= MODERN {
        headers.push(("mcp-method", method.to_owned()));
        if let Some(name) = params["name"].as_str().or(params["uri"].as_str()) {
            headers.push(("mcp-name", name.to_owned()));
        }
        let meta = params.as_object_mut().unwrap().entry("_meta").or_insert_with(|| json!({}));
        meta["io.modelcontextprotocol/protocolVersion"] = version.into();
        if meta["io.modelcontextprotocol/clientCapabilities"].is_null() {
            meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
        }
    }
    (json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string(), headers)
}

fn listed(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The envelope of a bad ending, after a look at how it is carried.
#[track_caller]
pub(crate) fn failure(result: &Value) -> Value {
    assert_eq!(result["isError"], true, "{result}");
    let envelope = &result["_meta"]["dev.redress/error"];
    let text = result["content"][0]["text"].as_str().unwrap();
    let (sentence, json) = text.split_once('\n').unwrap();
    assert_eq!(sentence, envelope["error"], "the text begins with the sentence");
    let told: Value = serde_json::from_str(json).unwrap();
    for member in ["code", "hint", "retry"] {
        assert!(envelope[member].is_string(), "{envelope}");
        assert_eq!(told[member], envelope[member], "the text is enough: {text}");
    }
    assert_eq!(told.get("retry_after_ms"), envelope.get("retry_after_ms"), "{text}");
    assert!(envelope["kind"].is_string() && told.get("kind").is_none(), "{text}");
    for (action, next) in listed(&told["next_actions"]).iter().zip(listed(&envelope["next_actions"])) {
        assert_eq!(action["tool"], next["operation"].as_str().unwrap().replace('.', "_"), "{text}");
        assert_eq!((&action["arguments"], action.get("why")), (&next["input"], next.get("why")), "{text}");
    }
    assert_eq!(listed(&told["next_actions"]).len(), listed(&envelope["next_actions"]).len(), "{text}");
    let similar: Vec<&Value> = listed(&envelope["similar"]).iter().map(|similar| &similar["value"]).collect();
    assert_eq!(listed(&told["similar"]).iter().collect::<Vec<_>>(), similar, "{text}");
    // Nothing that is told there is said otherwise here.
    for (name, value) in told["details"].as_object().into_iter().flatten() {
        assert_eq!(*value, envelope["details"][name], "{text}");
    }
    envelope.clone()
}
