//! The faces of a registry, asked without a socket.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    http::{Request, Response},
};
use redress_contract::Caller;
use redress_core::Registry;
use redress_serve::{CallerOf, Connection, Faces};
use serde_json::{Value, json};
use tower::ServiceExt as _;

/// How one face told the outcome of a call.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) face: &'static str,
    /// The envelope of a bad ending, or the output.
    pub(crate) outcome: Result<Value, Value>,
    pub(crate) headers: axum::http::HeaderMap,
    /// All that was sent, as text.
    pub(crate) text: String,
}

/// Whoever asks is known.
struct Ada;

impl CallerOf for Ada {
    fn caller_of(&self, _: Connection<'_>) -> Option<Arc<Caller>> {
        Some(Arc::new(Caller::new("ada")))
    }
}

pub(crate) struct Site(Router);

impl Site {
    pub(crate) fn new(registry: Registry) -> Site {
        Site(Faces::new(registry).caller(Ada).router())
    }

    /// One that lists four tools, whatever there are.
    pub(crate) fn discovering(registry: Registry) -> Site {
        let mut options = redress_mcp::McpOptions::default();
        options.discovery_above = 0;
        let mcp = redress_mcp::Mcp::new(registry.clone(), options).unwrap();
        Site(Faces::new(registry).caller(Ada).mcp(mcp).router())
    }

    /// Calls the operation over every face.
    pub(crate) async fn ask(&self, operation: &str, input: &Value) -> Vec<Told> {
        vec![self.http(operation, input).await, self.rpc(operation, input).await, self.mcp(operation, input).await]
    }

    pub(crate) async fn http(&self, operation: &str, input: &Value) -> Told {
        let path = format!("/ops/{}", operation.replace('.', "/"));
        let (headers, text) = self.post(&path, input, &[]).await;
        let value: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"));
        let is_problem = headers["content-type"] == "application/problem+json";
        Told { face: "http", outcome: if is_problem { Err(value) } else { Ok(value) }, headers, text }
    }

    pub(crate) async fn rpc(&self, operation: &str, input: &Value) -> Told {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": operation, "params": input});
        let (headers, text) = self.post("/rpc", &message, &[]).await;
        let value: Value = serde_json::from_str(&text).unwrap();
        let outcome = match value.get("error") {
            Some(error) => Err(error["data"].clone()),
            None => Ok(value["result"].clone()),
        };
        Told { face: "jsonrpc", outcome, headers, text }
    }

    pub(crate) async fn mcp(&self, operation: &str, input: &Value) -> Told {
        let result =
            self.mcp_message("tools/call", json!({"name": operation.replace('.', "_"), "arguments": input})).await;
        let (headers, text) = result;
        let value: Value = serde_json::from_str(&text).unwrap();
        let result = &value["result"];
        let outcome = if result["isError"] == true {
            Err(result["_meta"]["dev.redress/error"].clone())
        } else {
            Ok(serde_json::from_str(result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{text}"))).unwrap())
        };
        Told { face: "mcp", outcome, headers, text }
    }

    pub(crate) async fn mcp_message(&self, method: &str, params: Value) -> (axum::http::HeaderMap, String) {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.post("/mcp", &message, &[("mcp-protocol-version", "2025-11-25")]).await
    }

    pub(crate) async fn get(&self, path: &str) -> String {
        let request = Request::get(path).header("host", "127.0.0.1").body(Body::empty()).unwrap();
        read(self.0.clone().oneshot(request).await.unwrap()).await.1
    }

    async fn post(&self, path: &str, body: &Value, more: &[(&str, &str)]) -> (axum::http::HeaderMap, String) {
        let mut request = Request::post(path)
            .header("host", "127.0.0.1")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        for (name, value) in more {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body.to_string())).unwrap();
        read(self.0.clone().oneshot(request).await.unwrap()).await
    }
}

async fn read(response: Response<Body>) -> (axum::http::HeaderMap, String) {
    let (parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, 64 << 20).await.unwrap();
    (parts.headers, String::from_utf8(bytes.to_vec()).unwrap())
}
