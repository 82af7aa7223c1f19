//! One call on every face: a line with the name of the operation, and its input. All end alike.

use redress::{Caller, Registry, Request};
use serde_json::{Value, json, value::RawValue};

use super::cut;
use crate::{
    oracle::{self, Ending},
    service::{self, Service},
};

pub(super) fn target(data: &[u8]) {
    let (name, input) = cut(data);
    let Ok(name) = std::str::from_utf8(name) else { return };
    service::talk(async |service| {
        let registry = &service.registry;
        let request = Request::new(input).with_caller(Caller::local());
        let direct = registry.call(name, request).await.into_bytes();
        oracle::bounded(&direct, data);
        let direct = oracle::envelope(registry, &oracle::json(&direct));
        // A stream is asked for elsewhere, and a name that needs escapes in a path is none.
        if registry.operation(name).is_some_and(|operation| operation.streaming().is_some()) {
            return;
        }
        if let Some(operation) = registry.operation(name) {
            let path = redress_wire::http::path(operation.name());
            let own = oracle::plain(registry, &service.post(&path, input).await);
            same(&direct, &own, &path);
        }
        // In a message the input is a member, so it has to be JSON to be looked at at all.
        let Ok(input) = serde_json::from_slice::<&RawValue>(input) else { return };
        let message = serde_json::to_vec(&json!({"operation": name, "input": 0})).expect("a value is JSON");
        let generic = service.post("/call", &with(&message, br#""input":0"#, br#""input":"#, input)).await;
        same(&direct, &oracle::enveloped(registry, &generic), "/call");
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": name, "params": 0}).to_string();
        let rpc = service.post("/rpc", &with(message.as_bytes(), br#""params":0"#, br#""params":"#, input)).await;
        let rpc = oracle::json(&rpc.body);
        if name != "rpc.discover" {
            same(&direct, &in_error(registry, &rpc), "/rpc");
        }
        if let Some(tool) = tool(registry, name) {
            let answer = tool_call(service, &tool, input).await;
            same(&direct, &in_tool(registry, &answer), "/mcp");
        }
    });
}

/// A message with the input as it was written.
fn with(message: &[u8], place: &[u8], before: &[u8], input: &RawValue) -> Vec<u8> {
    let at = message.windows(place.len()).rposition(|window| window == place).expect("the place was written");
    let (head, tail) = (&message[..at], &message[at + place.len()..]);
    [head, before, input.get().as_bytes(), tail].concat()
}

fn in_error(registry: &Registry, answer: &Value) -> Ending {
    match answer.get("error") {
        Some(error) => oracle::envelope(registry, &error["data"]),
        None => Ending::Well(answer["result"].clone()),
    }
}

/// The tool that an operation is; prompts and documents are none, and neither is what cannot be seen.
fn tool(registry: &Registry, name: &str) -> Option<String> {
    let operation = registry.operation(name)?;
    let plain = *operation.role() == redress::contract::Role::Plain && operation.is_external();
    plain.then(|| operation.tool_name())
}

async fn tool_call(service: &Service, tool: &str, input: &RawValue) -> Value {
    let params = json!({"name": tool, "arguments": 0});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let message = with(message.as_bytes(), br#""arguments":0"#, br#""arguments":"#, input);
    let mut request = service::post("/mcp", &message);
    let headers = request.headers_mut();
    headers.insert("accept", "application/json, text/event-stream".parse().expect("it is plain text"));
    headers.insert("mcp-protocol-version", "2025-06-18".parse().expect("it is plain text"));
    oracle::json(&service.send(request).await.body)
}

fn in_tool(registry: &Registry, answer: &Value) -> Ending {
    let result = &answer["result"];
    assert!(result.is_object(), "a bad argument is a result too: {answer}");
    if result["isError"] == true {
        return oracle::envelope(registry, &result["_meta"]["dev.redress/error"]);
    }
    let output = match result.get("structuredContent") {
        Some(output) => output.clone(),
        None => serde_json::from_str(result["content"][0]["text"].as_str().unwrap_or("null")).unwrap_or_default(),
    };
    Ending::Well(output)
}

#[track_caller]
fn same(direct: &Ending, face: &Ending, name: &str) {
    assert_eq!(direct, face, "{name} ends otherwise");
}
