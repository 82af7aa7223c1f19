//! An operation as a document, or as a template of documents, and what it gives.

use redress_contract::{OperationDeclaration, ResourceContents};
use serde_json::{Map, Value};

use crate::jsonrpc::Id;

use super::{
    Caching, Era,
    describe::{self, ToolReader},
    result::open,
};

/// An operation as the document at one URI, as a list holds it.
pub fn resource(operation: &OperationDeclaration, reader: ToolReader<'_>) -> Option<Vec<u8>> {
    listed(operation, false, "uri", reader)
}

/// An operation as a template of documents, as a list holds it.
pub fn resource_template(operation: &OperationDeclaration, reader: ToolReader<'_>) -> Option<Vec<u8>> {
    listed(operation, true, "uriTemplate", reader)
}

fn listed(operation: &OperationDeclaration, template: bool, member: &str, reader: ToolReader<'_>) -> Option<Vec<u8>> {
    let uri = operation.uri().filter(|uri| uri.is_template() == template)?;
    let mut listed = Map::new();
    listed.insert(member.into(), uri.as_str().into());
    listed.insert("name".into(), operation.tool_name().into());
    listed.insert("title".into(), describe::title(operation).into());
    listed.insert("description".into(), describe::description(operation, reader).into());
    if let Some(mime_type) = operation.mime_type() {
        listed.insert("mimeType".into(), mime_type.into());
    }
    Some(Value::Object(listed).to_string().into_bytes())
}

/// Appends the response to `resources/read`.
pub fn write_contents(id: Id<'_>, parts: &[ResourceContents], era: Era, caching: Caching, out: &mut Vec<u8>) {
    open(id, era, out);
    out.extend_from_slice(br#""contents":"#);
    // A part is made of texts, which can always be written.
    let _ = serde_json::to_writer(&mut *out, parts);
    if era == Era::Modern {
        caching.write_to(out);
    }
    out.extend_from_slice(b"}}");
}
