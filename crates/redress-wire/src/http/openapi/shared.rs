//! The components that every document has: the parts of an envelope, and the headers.

use redress_contract::{Kind, Retry, Verb};
use serde_json::{Map, Value, json};

use super::reference;

/// What every bad ending has, whatever its code.
pub(super) const PROBLEM: &str = "redress.Problem";
/// An envelope that ended well, with any result.
pub(super) const SUCCESS: &str = "redress.Success";
/// An operation's declaration.
pub(super) const OPERATION: &str = "redress.Operation";

/// The parts of an envelope.
pub(super) fn schemas() -> Map<String, Value> {
    let kinds: Vec<&str> = Kind::ALL.into_iter().map(Kind::as_str).collect();
    let advice = Retry::ALL.map(Retry::as_str);
    let parts = json!({
        "redress.Kind": {
            "type": "string", "enum": kinds,
            "description": "What sort of bad ending it is; what a client that does not know the code goes by.",
        },
        "redress.Retry": {
            "type": "string", "enum": advice,
            "description": "Whether, and how, the same call may be made again.",
        },
        "redress.Effect": {
            "type": "string", "enum": ["none", "partial", "unknown"],
            "description": "Whether the side effect happened.",
        },
        "redress.Recovery": {
            "type": "object",
            "description": "What to do, for a program.",
            "properties": {
                "verb": {"type": "string", "enum": Verb::WORDS},
                "pointer": {"type": "string", "description": "Where to change the input (RFC 6901)."},
                "operation": {"type": "string", "description": "The operation to call."},
                "scope": {"type": "string", "description": "The scope to obtain."},
                "done": reference::to("redress.Done"),
            },
            "required": ["verb"],
        },
        "redress.Done": {
            "type": "object",
            "description": "How the output of the operation to call shows that the effect took place: by what is at \
                `pointer`, which equals `is`, or is there and not null. Then stop; else the call may be made again.",
            "properties": {
                "pointer": {"type": "string", "description": "A place in the output (RFC 6901)."},
                "is": {"type": ["string", "integer", "boolean"]},
            },
            "required": ["pointer"],
        },
        "redress.NextAction": {
            "type": "object",
            "description": "A call that helps, ready to be made.",
            "properties": {"operation": {"type": "string"}, "input": true, "why": {"type": "string"}},
            "required": ["operation", "input"],
        },
        "redress.Similar": {
            "type": "object",
            "description": "Something that exists and is near to what was asked for.",
            "properties": {"value": {"type": "string"}},
            "required": ["value"],
        },
        "redress.Meta": {
            "type": "object",
            "description": "What is known about the call itself.",
            "properties": {
                "request_id": {"type": "string", "description": "The name of the call, the same as in the log."},
                "elapsed_ms": {"type": "integer", "minimum": 0},
                "estimated_tokens": {"type": "integer", "minimum": 0},
                "session_id": {"type": "string"},
            },
            "required": ["request_id", "elapsed_ms", "estimated_tokens"],
        },
        PROBLEM: {
            "type": "object",
            "description": "A bad ending: an RFC 9457 problem document with the members of the envelope. \
                `type`, `title`, `detail` and `status` are absent where the envelope stands alone.",
            "properties": {
                "ok": {"const": false},
                "error": {"type": "string", "description": "What happened, for a person."},
                "code": {"type": "string", "description": "The stable name of what happened."},
                "kind": reference::to("redress.Kind"),
                "extends": {"type": "array", "items": {"type": "string"}, "description": "The more general codes, nearest first."},
                "hint": {"type": "string", "description": "What to do, for a person or a model."},
                "retryable": {"type": "boolean"},
                "retry": reference::to("redress.Retry"),
                "retry_after_ms": {"type": "integer", "minimum": 0},
                "effect": reference::to("redress.Effect"),
                "http": {"type": "integer", "minimum": 400, "maximum": 599},
                "recovery": reference::to("redress.Recovery"),
                "next_actions": {"type": "array", "items": reference::to("redress.NextAction")},
                "similar": {"type": "array", "items": reference::to("redress.Similar")},
                "details": {"description": "The failure's public fields."},
                "docs_url": {"type": "string", "format": "uri-reference"},
                "type": {"type": "string", "format": "uri-reference"},
                "title": {"type": "string"},
                "detail": {"type": "string"},
                "status": {"type": "integer", "minimum": 400, "maximum": 599},
                "_meta": reference::to("redress.Meta"),
            },
            "required": [
                "ok", "error", "code", "kind", "extends", "hint", "retryable", "retry", "effect", "http", "docs_url", "_meta",
            ],
        },
        SUCCESS: {
            "type": "object",
            "properties": {"ok": {"const": true}, "result": true, "_meta": reference::to("redress.Meta")},
            "required": ["ok", "result", "_meta"],
        },
        OPERATION: {
            "type": "object",
            "description": "An operation's declaration, as in /contract.json.",
            "properties": {
                "name": {"type": "string"},
                "shape": {"type": "string", "enum": ["query", "mutation", "subscription"]},
                "summary": {"type": "string"},
                "description": {"type": "string"},
                "input": true,
                "output": true,
                "failures": {"type": "array", "items": {"type": "object"}},
                "access": {"type": "object"},
                "verify": {"type": "object", "description": "How to find out whether a call that was cut off took place."},
            },
            "required": ["name", "shape", "input", "output", "failures", "access"],
        },
    });
    match parts {
        Value::Object(parts) => parts,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

/// The headers that calls may send.
pub(super) fn parameters() -> Value {
    json!({
        "IdempotencyKey": {
            "name": "Idempotency-Key", "in": "header",
            "description": "Makes the call safe to repeat: the same key with the same input runs once.",
            "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
        },
        "DeadlineMs": {
            "name": "Redress-Deadline-Ms", "in": "header",
            "description": "In how many milliseconds the caller wants its answer.",
            "schema": {"type": "integer", "minimum": 1, "maximum": 86_400_000},
        },
        "RequestId": {
            "name": "X-Request-Id", "in": "header",
            "description": "The caller's own name for the call. One that is not well formed is replaced.",
            "schema": {"type": "string"},
        },
        "LastEventId": {
            "name": "Last-Event-ID", "in": "header",
            "description": "The last event that the reader saw, on a stream that can be resumed.",
            "schema": {"type": "string"},
        },
    })
}

/// The headers that answers have.
pub(super) fn headers() -> Value {
    json!({
        "RequestId": {"description": "The name of the call, the same as in the log.", "schema": {"type": "string"}},
        "RetryAfter": {"description": "The seconds to wait.", "schema": {"type": "integer", "minimum": 0}},
        "RateLimit": {"description": "What is left of the caller's quotas, where it has some (draft-ietf-httpapi-ratelimit-headers).", "schema": {"type": "string"}},
        "RateLimitPolicy": {"description": "The caller's quotas, where it has some (draft-ietf-httpapi-ratelimit-headers).", "schema": {"type": "string"}},
        "WwwAuthenticate": {"description": "How to say who calls.", "schema": {"type": "string"}},
        "Allow": {"description": "The methods that are there.", "schema": {"type": "string"}},
    })
}

/// Answers that several paths share.
pub(super) fn responses() -> Value {
    json!({
        "Problem": {
            "description": "A bad ending, as a problem document.",
            "headers": {"X-Request-Id": {"$ref": "#/components/headers/RequestId"}},
            "content": {"application/problem+json": {"schema": reference::to(PROBLEM)}},
        },
        "Envelope": {
            "description": "A bad ending, as an envelope.",
            "headers": {"X-Request-Id": {"$ref": "#/components/headers/RequestId"}},
            "content": {
                "application/json": {"schema": reference::to(PROBLEM)},
                "application/problem+json": {"schema": reference::to(PROBLEM)},
            },
        },
    })
}
