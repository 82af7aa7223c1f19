//! What a tool says of its output, and what may stand as `structuredContent` because of it.

use redress_contract::{Gives, OperationDeclaration, OutputBreach, Retry, Shape};
use serde_json::{Map, Value, json};

use super::{Era, schema};

/// What the advertised output schema of a tool admits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputSchema {
    /// The output alone. A bad ending has no `structuredContent` then.
    #[default]
    Success,
    /// The output, or the envelope of a bad ending.
    Union,
    /// No schema is advertised, so anything may stand there.
    None,
}

/// Which endings come in an envelope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EnvelopeUse {
    /// Bad ones; a good one is its output.
    #[default]
    Failures,
    /// All.
    Always,
}

/// How outputs and their schemas are carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputForm {
    /// What the advertised schema admits.
    pub output_schema: OutputSchema,
    /// Which endings come in an envelope.
    pub envelope: EnvelopeUse,
    /// Whether the whole envelope of a bad ending stands in the `_meta` of its result. Some hosts show that to the model
    /// beside the text, which costs it twice.
    pub error_meta: bool,
}

impl Default for OutputForm {
    fn default() -> OutputForm {
        OutputForm { output_schema: OutputSchema::default(), envelope: EnvelopeUse::default(), error_meta: true }
    }
}

/// The output schema that a tool advertises in this era; none where it may not be, because
/// the legacy era knows objects only.
pub(super) fn advertised(operation: &OperationDeclaration, form: OutputForm, era: Era) -> Option<Value> {
    // Pieces to look at are shown and not read, so there is nothing to promise of them. Nor is there of what may break its
    // schema and be delivered: strict clients throw such a result away.
    let promised = operation.gives() != Gives::Blocks && operation.output_breach() != OutputBreach::Marked;
    if form.output_schema == OutputSchema::None || !promised {
        return None;
    }
    let schema::PlainSchema { schema: given, mut definitions } = schema::apart(operation.output());
    let mut success = match operation.shape() {
        Shape::Query | Shape::Mutation => given,
        Shape::Subscription => collected(given),
    };
    if form.envelope == EnvelopeUse::Always {
        success = object(json!({
            "type": "object",
            "properties": {"ok": {"const": true}, "result": success, "_meta": {"type": "object"}},
            "required": ["ok", "result"],
        }));
    }
    let is_object = success.get("type") == Some(&Value::from("object"));
    if era == Era::Legacy && !is_object {
        return None;
    }
    if success.is_empty() && form.output_schema == OutputSchema::Success {
        // A schema that admits everything says nothing, and costs what it says.
        return None;
    }
    let mut advertised = match form.output_schema {
        OutputSchema::Union => {
            let mut union = Map::new();
            if is_object {
                union.insert("type".into(), "object".into());
            }
            union.insert("anyOf".into(), json!([success, failure(operation)]));
            union
        }
        OutputSchema::Success | OutputSchema::None => success,
    };
    if !definitions.is_empty() {
        definitions.sort_keys();
        advertised.insert("$defs".into(), Value::Object(definitions));
    }
    Some(Value::Object(advertised))
}

/// What a stream becomes as the output of a call: its items, and whether they are all.
fn collected(item: Map<String, Value>) -> Map<String, Value> {
    object(json!({
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": item},
            "complete": {"type": "boolean", "description": "Whether the stream came to its own end."},
            "cut": {"enum": ["items", "bytes", "time"], "description": "What cut the stream off, if anything did."},
        },
        "required": ["items", "complete"],
    }))
}

/// The envelope of a bad ending. The code stays open: a layer below may bring one of its own.
fn failure(operation: &OperationDeclaration) -> Value {
    let codes: Vec<&str> = operation.failures().iter().map(|failure| failure.code().as_str()).collect();
    let mut code = json!({"type": "string"});
    if let (false, Value::Object(code)) = (codes.is_empty(), &mut code) {
        code.insert("examples".into(), json!(codes));
    }
    json!({
        "type": "object",
        "properties": {
            "ok": {"const": false},
            "error": {"type": "string"},
            "code": code,
            "kind": {"type": "string"},
            "hint": {"type": "string"},
            "retryable": {"type": "boolean"},
            "retry": {"enum": Retry::ALL},
            "retry_after_ms": {"type": "integer"},
            "next_actions": {"type": "array", "items": {"type": "object"}},
            "details": {"type": "object"},
        },
        "required": ["ok", "error", "code", "kind", "hint", "retryable", "retry"],
    })
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}
