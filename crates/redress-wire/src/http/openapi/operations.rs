//! One operation as a path.

use redress_contract::{EngineCode, ExampleEnding, OperationDeclaration, Shape};
use serde_json::{Map, Value, json};

use super::{
    Info, events,
    failures::{self, FailureSchemas, SharedAnswers},
    reference, shared,
};
use crate::http::{FlatInput, OPERATION_JSON, Parameter};

/// Members of a declaration that OpenAPI has words of its own for.
const SAID: [&str; 8] = ["name", "summary", "description", "input", "output", "tags", "failures", "visibility"];

fn input_name(operation: &OperationDeclaration) -> String {
    format!("{}.input", operation.name())
}

fn output_name(operation: &OperationDeclaration) -> String {
    format!("{}.output", operation.name())
}

/// The tags of an operation: its namespace first.
pub(super) fn tags(operation: &OperationDeclaration) -> Vec<&str> {
    let mut tags = vec![operation.name().namespace()];
    tags.extend(operation.tags().iter().map(String::as_str).filter(|tag| *tag != operation.name().namespace()));
    tags
}

/// Adds the schemas of what an operation takes and gives.
pub(super) fn schemas(operation: &OperationDeclaration, schemas: &mut Map<String, Value>) {
    for (name, schema) in [(input_name(operation), operation.input()), (output_name(operation), operation.output())] {
        let moved = reference::moved(schema, &name);
        schemas.insert(name, moved);
    }
}

pub(super) fn path_item(
    operation: &OperationDeclaration,
    failures: &FailureSchemas,
    info: &Info,
    answers: &mut SharedAnswers,
) -> Value {
    json!({
        "get": match FlatInput::of(operation) {
            Some(flat) => get_call(operation, &flat, failures, info, answers),
            None => get_declaration(operation),
        },
        "post": post(operation, failures, info, answers),
    })
}

fn post(
    operation: &OperationDeclaration,
    failures: &FailureSchemas,
    info: &Info,
    answers: &mut SharedAnswers,
) -> Value {
    let mut described = described(operation, operation.name().as_str(), info);
    let mut responses = failures::responses(operation, failures, &[], answers);
    responses.insert("200".into(), success(operation));
    described.insert("responses".into(), json!(responses));
    let input = json!({"schema": reference::to(&input_name(operation)), "examples": input_examples(operation)});
    described.insert(
        "requestBody".into(),
        json!({
            "required": operation.input().required().next().is_some(),
            "content": {"application/json": input},
        }),
    );
    described.extend(extensions(operation, failures));
    Value::Object(described)
}

/// A call by `GET`: the members of a flat input as query parameters. Who accepts only the
/// declaration gets that, or NOT_FOUND where it may not know of the operation.
fn get_call(
    operation: &OperationDeclaration,
    flat: &FlatInput,
    failures: &FailureSchemas,
    info: &Info,
    answers: &mut SharedAnswers,
) -> Value {
    let mut described = described(operation, &format!("{}.get", operation.name()), info);
    let mut parameters: Vec<Value> = in_query(operation, flat, |parameter| parameter.required).collect();
    parameters.extend(header_parameters(operation));
    described.insert("parameters".into(), Value::Array(parameters));
    let mut responses = failures::responses(operation, failures, &[EngineCode::NotFound], answers);
    let mut answer = success(operation);
    if let Some(content) = answer.pointer_mut("/content").and_then(Value::as_object_mut) {
        content.insert(OPERATION_JSON.into(), json!({"schema": reference::to(shared::OPERATION)}));
    }
    responses.insert("200".into(), answer);
    responses.remove("415");
    described.insert("responses".into(), json!(responses));
    Value::Object(described)
}

/// The declaration of an operation that a plain `GET` cannot call; of a subscription with flat input, for whoever accepts
/// events, its stream.
fn get_declaration(operation: &OperationDeclaration) -> Value {
    let mut described = json!({
        "operationId": format!("{}.describe", operation.name()),
        "summary": format!("The declaration of {}", operation.name()),
        "tags": tags(operation),
        "responses": {
            "200": {
                "description": "The declaration.",
                "content": {
                    "application/json": {"schema": reference::to(shared::OPERATION)},
                    OPERATION_JSON: {"schema": reference::to(shared::OPERATION)},
                },
            },
            "default": {"$ref": "#/components/responses/Problem"},
        },
    });
    let Some(flat) = FlatInput::of_stream(operation) else { return described };
    described["summary"] = format!("The declaration of {}, or its stream as events", operation.name()).into();
    described["responses"]["200"]["description"] =
        "The declaration; for `Accept: text/event-stream`, the stream.".into();
    // The declaration is asked for without any of them, and given whatever they are: what a stream takes, the body of the
    // `POST` says.
    let mut parameters: Vec<Value> = in_query(operation, &flat, |_| false).collect();
    parameters.iter_mut().for_each(|parameter| parameter["schema"] = json!({}));
    parameters.extend(header_parameters(operation));
    described["parameters"] = Value::Array(parameters);
    let stream = events::answer(&reference::to(&output_name(operation)));
    if let Some(content) = described.pointer_mut("/responses/200/content").and_then(Value::as_object_mut) {
        content.extend(stream.get("content").and_then(Value::as_object).cloned().unwrap_or_default());
    }
    described
}

/// The members of a flat input as query parameters.
fn in_query<'a>(
    operation: &'a OperationDeclaration,
    flat: &'a FlatInput,
    is_required: impl Fn(&Parameter) -> bool + 'a,
) -> impl Iterator<Item = Value> + 'a {
    let input = input_name(operation);
    flat.parameters().map(move |(name, parameter)| {
        let mut query = json!({
            "name": name,
            "in": "query",
            "required": is_required(parameter),
            "schema": reference::to_member(&input, name),
        });
        let text = operation.input().property(name).and_then(|member| member.get("description")).cloned();
        if let (Some(text), Value::Object(query)) = (text, &mut query) {
            query.insert("description".into(), text);
        }
        query
    })
}

fn described(operation: &OperationDeclaration, id: &str, info: &Info) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("operationId".into(), Value::from(id));
    map.insert("tags".into(), json!(tags(operation)));
    if !operation.summary().is_empty() {
        map.insert("summary".into(), Value::from(operation.summary()));
    }
    if !operation.description().is_empty() {
        map.insert("description".into(), Value::from(operation.description()));
    }
    if operation.deprecated().is_some() {
        map.insert("deprecated".into(), Value::Bool(true));
    }
    if info.bearer {
        let access = operation.access();
        let security = if access.is_open() { json!([{}]) } else { json!([{"bearer": access.all_scopes()}]) };
        map.insert("security".into(), security);
    }
    map.insert("parameters".into(), Value::Array(header_parameters(operation)));
    map
}

fn header_parameters(operation: &OperationDeclaration) -> Vec<Value> {
    let mut names = vec!["DeadlineMs", "RequestId"];
    if operation.takes_idempotency_key() {
        names.push("IdempotencyKey");
    }
    if operation.streaming().is_some_and(|streaming| streaming.resumable) {
        names.push("LastEventId");
    }
    names.into_iter().map(|name| json!({"$ref": format!("#/components/parameters/{name}")})).collect()
}

fn success(operation: &OperationDeclaration) -> Value {
    let headers = json!({"X-Request-Id": {"$ref": "#/components/headers/RequestId"}});
    let output = reference::to(&output_name(operation));
    match operation.shape() {
        Shape::Query | Shape::Mutation => json!({
            "description": "The output.",
            "headers": headers,
            "content": {"application/json": {"schema": output, "examples": output_examples(operation)}},
        }),
        Shape::Subscription => events::answer(&output),
    }
}

fn input_examples(operation: &OperationDeclaration) -> Value {
    let named = operation.examples().iter().enumerate().map(|(place, example)| {
        let ends = match &example.ending {
            ExampleEnding::Output(_) => "ends well".to_owned(),
            ExampleEnding::Failure(code) => format!("ends with {code}"),
        };
        (format!("example_{}", place + 1), json!({"summary": ends, "value": example.input}))
    });
    Value::Object(named.collect())
}

fn output_examples(operation: &OperationDeclaration) -> Value {
    let named = operation.examples().iter().enumerate().filter_map(|(place, example)| match &example.ending {
        ExampleEnding::Output(output) => Some((format!("example_{}", place + 1), json!({"value": output}))),
        ExampleEnding::Failure(_) => None,
    });
    Value::Object(named.collect())
}

/// What OpenAPI has no word for: every other member of the declaration, and the failures
/// with their details by reference.
fn extensions(operation: &OperationDeclaration, schemas: &FailureSchemas) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("x-redress-name".into(), json!(operation.name()));
    if let Ok(Value::Object(declaration)) = serde_json::to_value(operation) {
        let unsaid = declaration.into_iter().filter(|(member, _)| !SAID.contains(&member.as_str()));
        map.extend(unsaid.map(|(member, value)| (format!("x-redress-{}", member.replace('_', "-")), value)));
    }
    map.insert("x-redress-tags".into(), json!(operation.tags()));
    let failures = operation.failures().iter().filter_map(|failure| {
        let mut declaration = serde_json::to_value(failure).ok()?;
        let details = failures::details_name(&schemas.name(failure));
        declaration.as_object_mut()?.insert("details".into(), reference::to(&details));
        Some(declaration)
    });
    map.insert("x-redress-failures".into(), failures.collect());
    map.insert(
        "x-redress-engine-codes".into(),
        failures::engine_codes(operation).iter().map(|code| code.as_str()).collect(),
    );
    map
}
