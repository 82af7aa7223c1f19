//! Schemas as a whole, on demand: what was cut for the lists is given to whoever asks for it.

use std::collections::BTreeMap;

use redress_contract::{Code, Schema};
use serde_json::{Value, json};

use super::{
    failures,
    input::{self, Operated},
    responses,
    schemas::{Direction, Schemas, Whole},
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
        leave(&mut whole, operation);
        whole.into()
    }

    /// Every schema of the import with nothing left out. What they refer to is there once, however many of them do, so that
    /// this can be asked for of any document.
    pub fn whole_schemas(&self) -> WholeSchemas {
        let schemas = Schemas::new(&self.source);
        let mut taken = Whole::new(&schemas, Direction::Request, ".in");
        let mut given = Whole::new(&schemas, Direction::Response, "");
        let operations: Vec<WholeOperation> =
            self.operations.iter().map(|one| self.whole_operation(&schemas, one, &mut taken, &mut given)).collect();
        let definitions = taken.definitions().into_iter().chain(given.definitions()).collect();
        WholeSchemas { operations, definitions }
    }

    fn whole_operation(
        &self,
        schemas: &Schemas<'_>,
        operation: &ImportedOperation,
        taken: &mut Whole<'_, '_>,
        given: &mut Whole<'_, '_>,
    ) -> WholeOperation {
        let declared = &operation.operation;
        let place = operation.pointer.as_str();
        let item_place = item_of(place);
        let (Some(node), Some(item)) = (self.source.root.at(place), self.source.root.at(&item_place)) else {
            return WholeOperation {
                input: declared.input().clone(),
                output: declared.output().clone(),
                details: BTreeMap::new(),
            };
        };
        let operated = Operated { node, place, item, item_place: &item_place, path: &operation.request.path };
        let input = input::input(&self.source, schemas, operated, &self.security_schemes);
        let mut input = taken.schema(&input.schema);
        leave(&mut input, operation);
        let responses = responses::responses(&self.source, schemas, node, place);
        let output = given.schema(&failures::output(&responses));
        let mut details = BTreeMap::new();
        for plan in operation.responses.iter().filter(|plan| !plan.derived) {
            let response = responses.iter().find(|response| response.status == plan.status);
            let (Some(code), Some(response)) = (&plan.code, response) else { continue };
            let Some(failure) = declared.failure(code.as_str()) else { continue };
            let mut whole = failure.details().as_value().clone();
            let several: Vec<Value> = response.content.iter().map(|content| content.schema.clone()).collect();
            if let Some(body) = whole.get_mut("properties").and_then(|members| members.get_mut("body")) {
                *body = if several.is_empty() { json!({}) } else { given.schema(&responses::any_of(several)) };
                details.insert(code.clone(), Schema::new(whole));
            }
        }
        WholeOperation { input: input.into(), output: output.into(), details }
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

/// Every schema of an import, with nothing left out.
#[derive(Clone, Debug, PartialEq)]
pub struct WholeSchemas {
    /// The schemas of each operation, in the order of [`Import::operations`]. References are `#/$defs/NAME`, and lead to
    /// [`definitions`](WholeSchemas::definitions).
    pub operations: Vec<WholeOperation>,
    /// What the schemas refer to, by name.
    pub definitions: BTreeMap<String, Value>,
}

/// The schemas of one operation, with nothing left out.
#[derive(Clone, Debug, PartialEq)]
pub struct WholeOperation {
    /// What it takes.
    pub input: Schema,
    /// What it gives.
    pub output: Schema,
    /// The details of the failures that the document names a status for.
    pub details: BTreeMap<Code, Schema>,
}

/// Takes away what an operator has fixed or hidden: it is no member of the input any more.
fn leave(input: &mut Value, operation: &ImportedOperation) {
    let is_left = |name: &str| operation.request.fields.iter().any(|field| field.field == name);
    if let Some(members) = input.get_mut("properties").and_then(Value::as_object_mut) {
        members.retain(|name, _| is_left(name));
    }
    if let Some(names) = input.get_mut("required").and_then(Value::as_array_mut) {
        names.retain(|name| name.as_str().is_some_and(is_left));
    }
}

/// The path that an operation stands in.
fn item_of(operation: &str) -> String {
    let parent = |pointer: &str| pointer.rsplit_once('/').map_or_else(String::new, |(parent, _)| parent.to_owned());
    let above = parent(operation);
    if pointer::last(&above) == "additionalOperations" { parent(&above) } else { above }
}
