//! Schemas as a whole, on demand: what was cut for the lists is given to whoever asks for it.

use redress_contract::Schema;
use serde_json::Value;

use super::{
    failures,
    input::{self, Operated},
    responses,
    schemas::{Direction, Schemas},
};
use crate::{
    Import, ImportedOperation, StatusPattern,
    document::{Node, pointer},
};

impl Import {
    /// What an operation takes, with nothing left out and everything that it refers to beside it.
    pub fn full_input(&self, operation: &ImportedOperation) -> Schema {
        let schemas = Schemas::new(&self.source);
        let Some(node) = self.source.root.at(&operation.pointer) else { return operation.operation.input().clone() };
        let item_place = item_of(&operation.pointer);
        let Some(item) = self.source.root.at(&item_place) else { return operation.operation.input().clone() };
        let operated =
            Operated { node, place: &operation.pointer, item, item_place: &item_place, path: &operation.request.path };
        let taken = input::input(&self.source, &schemas, operated, &self.security_schemes);
        let mut whole = schemas.full(&taken.schema, Direction::Request);
        // What an operator has fixed or hidden is no member any more.
        let is_left = |name: &str| operation.request.fields.iter().any(|field| field.field == name);
        if let Some(members) = whole.get_mut("properties").and_then(Value::as_object_mut) {
            members.retain(|name, _| is_left(name));
        }
        if let Some(names) = whole.get_mut("required").and_then(Value::as_array_mut) {
            names.retain(|name| name.as_str().is_some_and(is_left));
        }
        whole.into()
    }

    /// What an operation gives, with nothing left out.
    pub fn full_output(&self, operation: &ImportedOperation) -> Schema {
        let schemas = Schemas::new(&self.source);
        let Some(node) = self.source.root.at(&operation.pointer) else { return operation.operation.output().clone() };
        let declared = responses::responses(&self.source, &schemas, node, &operation.pointer);
        schemas.full(&failures::output(&declared), Direction::Response).into()
    }

    /// What the body of an answer with a status of this pattern is, with nothing left out; none where the document names
    /// no such status.
    pub fn full_response(&self, operation: &ImportedOperation, status: StatusPattern) -> Option<Schema> {
        let schemas = Schemas::new(&self.source);
        let node: &Node = self.source.root.at(&operation.pointer)?;
        let declared = responses::responses(&self.source, &schemas, node, &operation.pointer);
        let response = declared.into_iter().find(|response| response.status == status)?;
        let several = response.content.into_iter().map(|content| content.schema).collect();
        Some(schemas.full(&responses::any_of(several), Direction::Response).into())
    }
}

/// The path that an operation stands in.
fn item_of(operation: &str) -> String {
    let parent = |pointer: &str| pointer.rsplit_once('/').map_or_else(String::new, |(parent, _)| parent.to_owned());
    let above = parent(operation);
    if pointer::last(&above) == "additionalOperations" { parent(&above) } else { above }
}
