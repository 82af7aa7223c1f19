//! Back to a document: the operations of an import, as the service itself declares them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use crate::{
    Field, Import, ImportedOperation, Place,
    document::{Members, Node, pointer},
};

/// An OpenAPI document, its members in the order of the one that it was made from.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Document(pub(crate) Node);

impl Document {
    /// The document as a value, which sorts the members of objects.
    pub fn to_value(&self) -> Value {
        self.0.to_value()
    }

    /// The document as JSON.
    pub fn to_json(&self) -> Vec<u8> {
        // A tree of texts and numbers can be written.
        serde_json::to_vec(&self.0).unwrap_or_default()
    }
}

/// The document that an import was read from, with the operations that are left in it: every status, media type, header
/// and schema as it was declared. A document of 2.0 is one of 3.0 by then, files beside it have become part of it, and what
/// an override says (names, descriptions, parameters that callers do not see) is in it.
pub fn to_openapi(import: &Import) -> Document {
    let mut root = import.source.root.clone();
    let kept: BTreeMap<&str, Vec<&ImportedOperation>> =
        import.operations.iter().fold(BTreeMap::new(), |mut kept, one| {
            kept.entry(one.pointer.as_str()).or_insert_with(Vec::new).push(one);
            kept
        });
    let left: BTreeSet<&str> =
        kept.keys().copied().chain(import.skipped.iter().map(|one| one.pointer.as_str())).collect();
    if let Some(paths) = root.get_mut("paths").and_then(Node::as_object_mut) {
        for (path, item) in paths.iter_mut() {
            let place = pointer::joined("/paths", path);
            // A path that stands elsewhere is changed there.
            if item.get("$ref").is_none() {
                retain(item, &place, &left);
            }
        }
    }
    for (place, operations) in kept {
        let [operation] = operations.as_slice() else { continue };
        if let Some(node) = root.at_mut(place).and_then(Node::as_object_mut) {
            say(node, operation);
        }
    }
    Document(root)
}

/// Takes operations away that are not imported any more.
fn retain(item: &mut Node, place: &str, left: &BTreeSet<&str>) {
    const METHODS: [&str; 9] = ["get", "put", "post", "delete", "options", "head", "patch", "trace", "query"];
    if let Some(more) = item.get_mut("additionalOperations").and_then(Node::as_object_mut) {
        let place = pointer::joined(place, "additionalOperations");
        more.retain(|name, _| left.contains(pointer::joined(&place, name).as_str()));
    }
    if let Some(members) = item.as_object_mut() {
        members.retain(|name, _| {
            !METHODS.contains(&name.to_ascii_lowercase().as_str())
                || left.contains(pointer::joined(place, name).as_str())
        });
    }
}

/// Says what overrides have changed.
fn say(node: &mut Members, operation: &ImportedOperation) {
    if operation.overridden {
        node.insert("x-redress-name", Node::string(operation.operation.name().as_str()));
        if !operation.operation.summary().is_empty() {
            node.insert("summary", Node::string(operation.operation.summary()));
        }
        if !operation.operation.description().is_empty() {
            node.insert("description", Node::string(operation.operation.description()));
        }
        if let Some(Node::Array(parameters)) = node.get_mut("parameters") {
            parameters.retain(|parameter| !operation.request.fixed.iter().any(|field| is_of(field, parameter)));
        }
    }
}

fn is_of(field: &Field, parameter: &Node) -> bool {
    let place = match field.place {
        Place::Path => "path",
        Place::Query => "query",
        Place::Querystring => "querystring",
        Place::Header => "header",
        Place::Cookie => "cookie",
        Place::BodyMember | Place::Body => return false,
    };
    parameter.text("name") == Some(&field.name) && parameter.text("in") == Some(place)
}
