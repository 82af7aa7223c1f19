//! The OpenRPC 1.3 document of a contract: every method with its errors.

use redress_contract::{Contract, EngineCode, ExampleEnding, FailureDeclaration, OperationDeclaration, Schema, Shape};
use serde_json::{Map, Value, json};

use crate::{http::Info, jsonrpc};

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The OpenRPC document of the external operations of `contract`. A subscription streams,
/// which JSON-RPC over HTTP cannot, so it is not a method.
pub fn openrpc(contract: &Contract, info: &Info) -> Value {
    let mut components = Components::default();
    let methods: Vec<Value> = contract
        .operations()
        .iter()
        .filter(|operation| operation.is_external() && operation.shape() != Shape::Subscription)
        .map(|operation| method(&operation.clone().bundled(), &mut components))
        .collect();
    let mut about = json!({"title": info.title, "version": info.version});
    if let (Some(description), Value::Object(about)) = (&info.description, &mut about) {
        about.insert("description".into(), Value::from(description.as_str()));
    }
    let mut document = json!({
        "openrpc": "1.3.2",
        "info": about,
        "servers": [{"name": "rpc", "url": format!("{}/rpc", info.server.trim_end_matches('/'))}],
        "methods": methods,
    });
    if let (false, Value::Object(members)) = (components.schemas.is_empty(), &mut document) {
        members.insert("components".into(), json!({"schemas": components.schemas}));
    }
    document
}

/// The schemas that refer to parts of themselves: a reference starts at the document's root, so that such a
/// schema has a place of its own there.
#[derive(Default)]
struct Components {
    schemas: Map<String, Value>,
}

impl Components {
    /// `schema` as it may stand anywhere in the document.
    fn put(&mut self, name: &str, schema: &Schema) -> Value {
        if !schema.parts().any(|keywords| keywords.contains_key("$ref")) {
            return with_dialect(schema.moved("#"));
        }
        let place = format!("#/components/schemas/{name}");
        self.schemas.insert(name.to_owned(), with_dialect(schema.moved(&place)));
        dialect(json!({"$ref": place}), needs_dialect(schema))
    }
}

/// `schema` with its dialect, where the one that OpenRPC assumes would read it otherwise.
fn with_dialect(schema: Value) -> Value {
    let schema = Schema::new(schema);
    let needs_dialect = needs_dialect(&schema);
    dialect(schema.into_value(), needs_dialect)
}

fn dialect(mut schema: Value, needs_dialect: bool) -> Value {
    if let (true, Value::Object(keywords)) = (needs_dialect, &mut schema) {
        keywords.insert("$schema".into(), DIALECT.into());
    }
    schema
}

/// Whether draft 7, which OpenRPC assumes, would read `schema` otherwise.
fn needs_dialect(schema: &Schema) -> bool {
    const LATER: [&str; 10] = [
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
        "dependentRequired",
        "dependentSchemas",
        "maxContains",
        "minContains",
        "prefixItems",
        "unevaluatedItems",
        "unevaluatedProperties",
    ];
    const NO_RULES: [&str; 8] =
        ["$ref", "$schema", "$defs", "definitions", "title", "description", "default", "examples"];
    const LATER_FORMATS: [&str; 2] = ["duration", "uuid"];
    schema.parts().any(|keywords| {
        let text = |keyword: &str| keywords.get(keyword).and_then(Value::as_str);
        // What stands beside a reference did not count, and the metaschemas were others.
        let has_rules = || keywords.keys().any(|keyword| !NO_RULES.contains(&keyword.as_str()));
        let refers = text("$ref").is_some_and(|reference| !reference.starts_with('#') || has_rules());
        let has_format = text("format").is_some_and(|format| LATER_FORMATS.contains(&format));
        refers || has_format || LATER.iter().any(|keyword| keywords.contains_key(*keyword))
    })
}

fn method(operation: &OperationDeclaration, components: &mut Components) -> Value {
    let name = operation.name();
    let mut method = json!({
        "name": operation.name(),
        "paramStructure": "by-name",
        "params": params(operation),
        "result": {"name": "output", "schema": components.put(&format!("{name}.output"), operation.output())},
        "errors": errors(operation, components),
        "tags": operation.tags().iter().map(|tag| json!({"name": tag})).collect::<Vec<_>>(),
        // The parameters one by one lose what the schema says of the whole.
        "x-redress-input": components.put(&input_name(operation), operation.input()),
        "x-redress-shape": operation.shape(),
        "x-redress-access": operation.access(),
    });
    let Value::Object(members) = &mut method else { return method };
    if !operation.summary().is_empty() {
        members.insert("summary".into(), Value::from(operation.summary()));
    }
    if !operation.description().is_empty() {
        members.insert("description".into(), Value::from(operation.description()));
    }
    if let Some(verification) = operation.verification() {
        members.insert("x-redress-verify".into(), json!(verification));
    }
    if let Some(deprecation) = operation.deprecated() {
        members.insert("deprecated".into(), Value::Bool(true));
        members.insert("x-redress-deprecated".into(), json!(deprecation));
    }
    let examples: Vec<Value> = operation.examples().iter().enumerate().filter_map(example).collect();
    if !examples.is_empty() {
        members.insert("examples".into(), Value::Array(examples));
    }
    method
}

fn input_name(operation: &OperationDeclaration) -> String {
    format!("{}.input", operation.name())
}

/// The members of the input, the ones that are needed first, as the specification asks.
fn params(operation: &OperationDeclaration) -> Vec<Value> {
    // Where there is a reference, the whole is a component, and a parameter refers to parts of that.
    let whole = operation.input().moved(&format!("#/components/schemas/{}", input_name(operation)));
    let input = described(operation.input(), whole);
    let whole_needs_dialect = needs_dialect(operation.input());
    let (needed, other): (Vec<&str>, Vec<&str>) = input.properties().partition(|name| input.requires(name));
    let param = |name: &str, required: bool| {
        let schema = Schema::new(input.property(name).cloned().unwrap_or(Value::Bool(true)));
        let refers = schema.parts().any(|keywords| keywords.contains_key("$ref"));
        let needs_dialect = refers && whole_needs_dialect || needs_dialect(&schema);
        let schema = dialect(schema.into_value(), needs_dialect);
        json!({"name": name, "required": required, "schema": schema})
    };
    needed.iter().map(|name| param(name, true)).chain(other.iter().map(|name| param(name, false))).collect()
}

/// The schema that says which members the input has: an input that is nothing but a reference leaves that to
/// what it refers to.
fn described(input: &Schema, whole: Value) -> Schema {
    const FARTHEST: usize = 16;
    let mut place = String::new();
    for _ in 0..FARTHEST {
        let here = input.referred(&format!("#{place}"));
        let further = here.filter(|here| here.get("properties").is_none()).and_then(|here| here.get("$ref"));
        match further.and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#')) {
            Some(next) => next.clone_into(&mut place),
            None => break,
        }
    }
    let whole = Schema::new(whole);
    match whole.referred(&format!("#{place}")) {
        Some(here) => Schema::new(here.clone()),
        None => whole,
    }
}

fn errors(operation: &OperationDeclaration, components: &mut Components) -> Vec<Value> {
    let engine = EngineCode::ALL.into_iter().filter(|code| answers(operation, *code)).map(EngineCode::declaration);
    let failures = operation.failures().iter().cloned().chain(engine);
    failures.map(|failure| error(operation, &failure, components)).collect()
}

/// The engine codes that a method may end with.
fn answers(operation: &OperationDeclaration, code: EngineCode) -> bool {
    crate::http::engine_codes(operation).contains(&code) && code != EngineCode::ParseError
}

fn error(operation: &OperationDeclaration, failure: &FailureDeclaration, components: &mut Components) -> Value {
    let details = components.put(&format!("{}.{}.details", operation.name(), failure.code()), failure.details());
    json!({
        "code": jsonrpc::number(failure.kind()),
        "message": failure.message(),
        "data": {"code": failure.code(), "kind": failure.kind(), "details": details},
        "x-redress-failure": failure.clone().with_details(details.clone()),
    })
}

fn example((place, example): (usize, &redress_contract::Example)) -> Option<Value> {
    let ExampleEnding::Output(output) = &example.ending else { return None };
    let params = example.input.as_object()?.iter().map(|(name, value)| json!({"name": name, "value": value}));
    Some(json!({
        "name": format!("example_{}", place + 1),
        "params": params.collect::<Vec<_>>(),
        "result": {"name": "output", "value": output},
    }))
}
