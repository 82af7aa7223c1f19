//! An operation as a prompt, and what it gives.

use redress_contract::{OperationDeclaration, Schema};
use serde_json::{Map, Value};

use crate::jsonrpc::Id;

use super::{
    Era,
    describe::{self, ToolReader},
    prose::spoken,
    result::open,
    text::string,
};

/// An operation as a prompt, as a list holds it. Arguments are texts to a client, whatever
/// they are to the operation.
///
/// ```
/// use redress_contract::OperationDeclaration;
/// use redress_wire::mcp::ToolReader;
/// use serde_json::{Value, json};
///
/// let review = OperationDeclaration::query("notes.review").with_summary("Review a note.").prompt().with_input(json!({
///     "type": "object", "properties": {"path": {"type": "string", "description": "Which."}}, "required": ["path"],
/// }));
/// let prompt: Value = serde_json::from_slice(&redress_wire::mcp::prompt(&review, ToolReader::ANYBODY)).unwrap();
/// assert_eq!(prompt["name"], "notes_review");
/// assert_eq!(prompt["arguments"], json!([{"name": "path", "description": "Which.", "required": true}]));
/// ```
pub fn prompt(operation: &OperationDeclaration, reader: ToolReader<'_>) -> Vec<u8> {
    let mut prompt = Map::new();
    prompt.insert("name".into(), operation.tool_name().into());
    prompt.insert("title".into(), describe::title(operation).into());
    prompt.insert("description".into(), describe::description(operation, reader).into());
    let arguments: Vec<Value> =
        operation.input().properties().map(|name| argument(operation.input(), name, reader)).collect();
    if !arguments.is_empty() {
        prompt.insert("arguments".into(), arguments.into());
    }
    Value::Object(prompt).to_string().into_bytes()
}

fn argument(input: &Schema, name: &str, reader: ToolReader<'_>) -> Value {
    let mut argument = Map::new();
    argument.insert("name".into(), name.into());
    for word in ["title", "description"] {
        if let Some(text) = input.property(name).and_then(|schema| schema.get(word)).and_then(Value::as_str) {
            argument.insert(word.into(), spoken(text, reader.names).into());
        }
    }
    argument.insert("required".into(), input.requires(name).into());
    Value::Object(argument)
}

/// Appends the response to `prompts/get`. `messages` is the output of the prompt, a JSON object.
pub fn write_messages(id: Id<'_>, summary: &str, messages: &[u8], era: Era, out: &mut Vec<u8>) {
    open(id, era, out);
    out.extend_from_slice(br#""description":"#);
    string(summary, out);
    // The object goes on where this one stands.
    match messages.strip_prefix(b"{").and_then(|inside| inside.strip_suffix(b"}")) {
        Some(inside) if !inside.is_empty() => {
            out.push(b',');
            out.extend_from_slice(inside);
        }
        Some(_) | None => out.extend_from_slice(br#","messages":[]"#),
    }
    out.extend_from_slice(b"}}");
}
