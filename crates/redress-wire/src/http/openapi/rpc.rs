//! `/rpc`: the messages of JSON-RPC 2.0.

use serde_json::{Map, Value, json};

use super::{reference, shared};

const REQUEST: &str = "redress.RpcRequest";
const RESPONSE: &str = "redress.RpcResponse";

/// The messages, as components.
pub(super) fn schemas() -> Map<String, Value> {
    let id = json!({
        "type": ["string", "number", "null"],
        "description": "What the answer is known by; a request without it is a notification and is not answered.",
    });
    let version = json!({"const": "2.0"});
    let request = json!({
        "type": "object",
        "properties": {
            "jsonrpc": version,
            "method": {"type": "string", "description": "The name of an operation."},
            "params": {"type": "object", "description": "Its input."},
            "id": id,
        },
        "required": ["jsonrpc", "method"],
    });
    let error = json!({
        "type": "object",
        "properties": {
            "code": {"type": "integer", "description": "The number of the failure's kind."},
            "message": {"type": "string"},
            "data": reference::to(shared::PROBLEM),
        },
        "required": ["code", "message", "data"],
    });
    let response = json!({
        "type": "object",
        "properties": {"jsonrpc": version, "id": id, "result": true, "error": error},
        "required": ["jsonrpc", "id"],
        "oneOf": [{"required": ["result"]}, {"required": ["error"]}],
    });
    [(REQUEST.to_owned(), request), (RESPONSE.to_owned(), response)].into_iter().collect()
}

/// What is sent: one request, or a batch.
pub(super) fn message(max_batch: usize) -> Value {
    let request = reference::to(REQUEST);
    json!({"oneOf": [request, {"type": "array", "items": request, "minItems": 1, "maxItems": max_batch}]})
}

/// What comes back: one answer, or one for each request of a batch that wants one.
pub(super) fn answers() -> Value {
    let response = reference::to(RESPONSE);
    json!({"oneOf": [response, {"type": "array", "items": response, "minItems": 1}]})
}

/// What comes back for a message that is not even read.
pub(super) fn refused() -> Value {
    reference::to(RESPONSE)
}
