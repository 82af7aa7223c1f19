//! References to the components of the document.

use redress_contract::Schema;
use serde_json::Value;

/// A reference to the component `name`.
pub(super) fn to(name: &str) -> Value {
    serde_json::json!({"$ref": place(name)})
}

/// A reference to one member of what the component `name` describes.
pub(super) fn to_member(name: &str, member: &str) -> Value {
    let inside = Schema::reference_to_member(member);
    serde_json::json!({"$ref": format!("{}{}", place(name), inside.trim_start_matches('#'))})
}

/// `schema` as the component `name`: a reference starts at the document's root, which is no longer the
/// schema's own.
pub(super) fn moved(schema: &Schema, name: &str) -> Value {
    schema.moved(&place(name))
}

fn place(name: &str) -> String {
    format!("#/components/schemas/{name}")
}
