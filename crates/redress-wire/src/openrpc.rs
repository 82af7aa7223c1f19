//! The OpenRPC 1.3 document of a contract: every method with its errors.

use redress_contract::{Contract, EngineCode, ExampleEnding, Failure, Operation, Shape};
use serde_json::{Value, json};

use crate::{http::Info, jsonrpc};

/// The OpenRPC document of the external operations of `contract`. A subscription streams,
/// which JSON-RPC over HTTP cannot, so it is not a method.
pub fn openrpc(contract: &Contract, info: &Info) -> Value {
    let methods = contract
        .operations()
        .iter()
        .filter(|operation| operation.is_external() && operation.shape() != Shape::Subscription);
    let mut about = json!({"title": info.title, "version": info.version});
    if let (Some(description), Value::Object(about)) = (&info.description, &mut about) {
        about.insert("description".into(), Value::from(description.as_str()));
    }
    json!({
        "openrpc": "1.3.2",
        "info": about,
        "servers": [{"name": "rpc", "url": format!("{}/rpc", info.server.trim_end_matches('/'))}],
        "methods": methods.map(method).collect::<Vec<_>>(),
    })
}

fn method(operation: &Operation) -> Value {
    let input = operation.input();
    let mut method = json!({
        "name": operation.name(),
        "paramStructure": "by-name",
        "params": params(operation),
        "result": {"name": "output", "schema": operation.output()},
        "errors": errors(operation),
        "tags": operation.tags().iter().map(|tag| json!({"name": tag})).collect::<Vec<_>>(),
        // The parameters one by one lose what the schema says of the whole.
        "x-redress-input": input,
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

/// The members of the input, the ones that are needed first, as the specification asks.
fn params(operation: &Operation) -> Vec<Value> {
    let input = operation.input();
    let definitions = input.as_value().get("$defs");
    let (needed, other): (Vec<&str>, Vec<&str>) = input.properties().partition(|name| input.requires(name));
    let param = |name: &str, required: bool| {
        let mut schema = input.property(name).cloned().unwrap_or(Value::Bool(true));
        // Each parameter is a schema of its own, and takes along what it may refer to.
        if let (Some(definitions), Value::Object(words)) = (definitions, &mut schema) {
            words.insert("$defs".into(), definitions.clone());
        }
        json!({"name": name, "required": required, "schema": schema})
    };
    needed.iter().map(|name| param(name, true)).chain(other.iter().map(|name| param(name, false))).collect()
}

fn errors(operation: &Operation) -> Vec<Value> {
    let engine = EngineCode::ALL.into_iter().filter(|code| answers(operation, *code)).map(EngineCode::declaration);
    operation.failures().iter().cloned().chain(engine).map(|failure| error(&failure)).collect()
}

/// The engine codes that a method may end with.
fn answers(operation: &Operation, code: EngineCode) -> bool {
    crate::http::engine_codes(operation).contains(&code) && code != EngineCode::ParseError
}

fn error(failure: &Failure) -> Value {
    json!({
        "code": jsonrpc::number(failure.kind()),
        "message": failure.message(),
        "data": {"code": failure.code(), "kind": failure.kind(), "details": failure.details()},
        "x-redress-failure": failure,
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
