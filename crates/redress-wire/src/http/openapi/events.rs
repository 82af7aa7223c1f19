//! A stream of server-sent events, described event by event.

use serde_json::{Value, json};

use super::{reference, shared};

/// The answer that is a stream. OpenAPI 3.1 has no word for the events of a stream; as other
/// documents do, the schema is that of one event, after its fields are read.
pub(super) fn answer(item: &Value) -> Value {
    json!({
        "description": "A stream of events: one `message` for each item, with an id; then `end`, or `error` with the envelope.",
        "headers": {"X-Request-Id": {"$ref": "#/components/headers/RequestId"}},
        "content": {"text/event-stream": {"schema": schema(item)}},
    })
}

fn schema(item: &Value) -> Value {
    let event = |name: &str, says: &str, data: Value| {
        json!({
            "type": "object",
            "description": says,
            "properties": {
                "event": {"const": name},
                "data": {"type": "string", "contentMediaType": "application/json", "contentSchema": data},
            },
            "required": ["event", "data"],
        })
    };
    let mut message = event("message", "An item.", item.clone());
    if let Value::Object(members) = &mut message {
        members["properties"]["id"] = json!({"type": "string", "description": "What `Last-Event-ID` names."});
        members["required"] = json!(["event", "data", "id"]);
    }
    let end = json!({
        "type": "object",
        "properties": {"ok": {"const": true}, "_meta": reference::to("redress.Meta")},
        "required": ["ok", "_meta"],
    });
    json!({"oneOf": [
        message,
        event("end", "The stream ended well; nothing comes after it.", end),
        event("error", "The stream ended badly; nothing comes after it.", reference::to(shared::PROBLEM)),
    ]})
}
