//! The OpenAPI 3.1 document of a contract.
//!
//! Every operation is a path of its own; every failure that it can end with stands under its
//! status, told apart by `code`; what OpenAPI has no word for is in `x-redress-*`, so that the
//! contract can be read back from the document. Sorted throughout: the same contract gives
//! the same bytes.

mod events;
mod failures;
mod operations;
mod reference;
mod rpc;
mod sample;
mod service;
mod shared;

use redress_contract::{Contract, OperationDeclaration};
use serde_json::{Map, Value, json};

use failures::{FailureSchemas, SharedAnswers};
pub(crate) use failures::{answered, engine_codes};

/// What a document says about the service as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// What the service is called.
    pub title: String,
    /// Its version.
    pub version: String,
    /// What it is for, in Markdown.
    pub description: Option<String>,
    /// Where it is served.
    pub server: String,
    /// How many calls a batch may have.
    pub max_batch: usize,
    /// Whether callers are told apart by a bearer token. A service on loopback that asks
    /// nobody for one must not claim that it does.
    pub bearer: bool,
}

impl Default for Info {
    fn default() -> Info {
        Info {
            title: "redress service".to_owned(),
            version: "0.0.0".to_owned(),
            description: None,
            server: "/".to_owned(),
            max_batch: 50,
            bearer: false,
        }
    }
}

/// The OpenAPI 3.1 document of the external operations of `contract`.
pub fn openapi(contract: &Contract, info: &Info) -> Value {
    let external = contract.operations().iter().filter(|operation| operation.is_external());
    let external: Vec<OperationDeclaration> = external.cloned().map(OperationDeclaration::bundled).collect();
    let external: Vec<&OperationDeclaration> = external.iter().collect();
    let failures = FailureSchemas::of(&external);
    let mut schemas = shared::schemas();
    schemas.extend(rpc::schemas());
    failures.insert_into(&mut schemas);
    let mut paths = service::paths(info, &external);
    let mut answers = SharedAnswers::default();
    for operation in &external {
        operations::schemas(operation, &mut schemas);
        paths.insert(super::path(operation.name()), operations::path_item(operation, &failures, info, &mut answers));
    }
    let mut components = Map::new();
    components.insert("schemas".into(), Value::Object(schemas));
    components.insert("parameters".into(), shared::parameters());
    components.insert("headers".into(), shared::headers());
    if let Value::Object(shared) = shared::responses() {
        answers.responses.extend(shared);
    }
    components.insert("responses".into(), Value::Object(answers.responses));
    components.insert("examples".into(), Value::Object(answers.examples));
    if info.bearer {
        components.insert("securitySchemes".into(), json!({"bearer": {"type": "http", "scheme": "bearer"}}));
    }
    let mut about = json!({"title": info.title, "version": info.version});
    if let (Some(description), Value::Object(about)) = (&info.description, &mut about) {
        about.insert("description".into(), Value::from(description.as_str()));
    }
    json!({
        "openapi": "3.1.0",
        "info": about,
        "servers": [{"url": info.server}],
        "tags": tags(&external),
        "paths": paths,
        "components": components,
        "x-redress-order": external.iter().map(|operation| operation.name()).collect::<Vec<_>>(),
    })
}

fn tags(operations: &[&OperationDeclaration]) -> Vec<Value> {
    let mut names: Vec<&str> = operations.iter().flat_map(|operation| operations::tags(operation)).collect();
    names.push(service::TAG);
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(|name| json!({"name": name})).collect()
}
