//! The paths that every service has beside its operations.

use redress_contract::{ExampleEnding, OperationDeclaration, Shape};
use serde_json::{Map, Value, json};

use super::{Info, events, reference, rpc, shared};

/// The tag of these paths.
pub(super) const TAG: &str = "redress";

pub(super) fn paths(info: &Info, operations: &[&OperationDeclaration]) -> Map<String, Value> {
    let call = example(operations, |shape| shape != Shape::Subscription);
    let subscription = example(operations, |shape| shape == Shape::Subscription);
    let asked = json!({
        "type": "object",
        "properties": {"operation": {"type": "string"}, "input": true},
        "required": ["operation"],
        "additionalProperties": false,
    });
    let envelope = json!({"oneOf": [reference::to(shared::SUCCESS), reference::to(shared::PROBLEM)]});
    let mut paths = Map::new();
    let mut add = |path: &str, method: &str, operation: Value| {
        let mut item = Map::new();
        item.insert(method.to_owned(), operation);
        paths.insert(path.to_owned(), Value::Object(item));
    };
    add("/call", "post", {
        let answers = json!({"200": json_answer("The call ended well.", &reference::to(shared::SUCCESS))});
        let body = body(&asked, call.as_ref().map(|(name, input)| json!({"operation": name, "input": input})));
        asking("redress.call", "Call any operation, answered with an envelope", body, answers)
    });
    add("/batch", "post", {
        let many = json!({"type": "array", "items": asked, "minItems": 1, "maxItems": info.max_batch});
        let answers = json!({"200": json_answer("One envelope for each call, in order.", &json!({"type": "array", "items": envelope}))});
        let body = body(&many, call.as_ref().map(|(name, input)| json!([{"operation": name, "input": input}])));
        asking("redress.batch", "Make several calls at once", body, answers)
    });
    add("/subscribe", "post", {
        let stream = events::answer(&Value::Bool(true));
        let body = body(&asked, subscription.map(|(name, input)| json!({"operation": name, "input": input})));
        let mut described =
            asking("redress.subscribe", "Subscribe to any operation that streams", body, json!({"200": stream}));
        if let Some(parameters) = described["parameters"].as_array_mut() {
            parameters.push(json!({"$ref": "#/components/parameters/LastEventId"}));
        }
        described
    });
    add("/rpc", "post", {
        let refused = |text: &str| json_answer(text, &rpc::refused());
        let answers = json!({
            "200": json_answer("The answers; a failure is an answer too.", &rpc::answers()),
            "204": {
                "description": "There were notifications only.",
                "headers": {"X-Request-Id": {"$ref": "#/components/headers/RequestId"}},
            },
            "400": refused("A header cannot be honoured."),
            "413": refused("The message is too large."),
            "415": refused("The message does not claim to be JSON."),
            "503": refused("The service is shutting down."),
        });
        let request =
            |(name, input): &(String, Value)| json!({"jsonrpc": "2.0", "id": 1, "method": name, "params": input});
        asking("redress.rpc", "JSON-RPC 2.0", body(&rpc::message(info.max_batch), call.as_ref().map(request)), answers)
    });
    let any = json!({"type": "object"});
    add(
        "/ops",
        "get",
        giving(
            "redress.operations",
            "The operations that the caller may call",
            "application/json",
            &json!({
                "type": "object",
                "properties": {"operations": {"type": "array", "items": {"type": "object"}}},
                "required": ["operations"],
            }),
        ),
    );
    add("/openapi.json", "get", giving("redress.openapi", "This document", "application/json", &any));
    add("/openrpc.json", "get", giving("redress.openrpc", "The OpenRPC document", "application/json", &any));
    add("/contract.json", "get", giving("redress.contract", "The contract", "application/json", &any));
    add("/errors", "get", page("redress.errors", "Every code that a call may end with", Vec::new()));
    let code = json!({"name": "code", "in": "path", "required": true, "schema": {"type": "string"}});
    add("/errors/{code}", "get", page("redress.error", "What a code means and what to do", vec![code]));
    let health = json!({"type": "object", "properties": {"status": {"type": "string"}}, "required": ["status"]});
    add("/healthz", "get", giving("redress.healthz", "Whether the service runs", "application/json", &health));
    add("/readyz", "get", giving("redress.readyz", "Whether the service takes calls", "application/json", &health));
    paths
}

fn json_answer(description: &str, schema: &Value) -> Value {
    json!({
        "description": description,
        "headers": {"X-Request-Id": {"$ref": "#/components/headers/RequestId"}},
        "content": {"application/json": {"schema": schema}},
    })
}

/// The first call that an author gave as one that ends well: its name and its input.
fn example(operations: &[&OperationDeclaration], is_meant: impl Fn(Shape) -> bool) -> Option<(String, Value)> {
    operations.iter().filter(|operation| is_meant(operation.shape())).find_map(|operation| {
        let well = operation.examples().iter().find(|example| matches!(example.ending, ExampleEnding::Output(_)))?;
        Some((operation.name().to_string(), well.input.clone()))
    })
}

/// What is sent, with an example where there is one.
fn body(schema: &Value, example: Option<Value>) -> Value {
    let mut content = json!({"schema": schema});
    if let (Some(example), Value::Object(content)) = (example, &mut content) {
        content.insert("example".into(), example);
    }
    json!({"required": true, "content": {"application/json": content}})
}

/// A path that takes a message, with the headers that every call may have.
fn asking(id: &str, summary: &str, body: Value, mut answers: Value) -> Value {
    if let Value::Object(answers) = &mut answers {
        answers.insert("default".into(), json!({"$ref": "#/components/responses/Envelope"}));
    }
    let headers = ["DeadlineMs", "RequestId", "IdempotencyKey"];
    let headers = headers.map(|name| json!({"$ref": format!("#/components/parameters/{name}")}));
    json!({
        "operationId": id,
        "summary": summary,
        "tags": [TAG],
        "parameters": headers,
        "requestBody": body,
        "responses": answers,
    })
}

/// A path that gives a document.
fn giving(id: &str, summary: &str, media: &str, schema: &Value) -> Value {
    json!({
        "operationId": id,
        "summary": summary,
        "tags": [TAG],
        "responses": {
            "200": {"description": "The document.", "content": {media: {"schema": schema}}},
            "default": {"$ref": "#/components/responses/Problem"},
        },
    })
}

/// A page for people and programs.
fn page(id: &str, summary: &str, parameters: Vec<Value>) -> Value {
    let mut page = giving(id, summary, "application/json", &json!({"type": "object"}));
    if let Some(content) = page.pointer_mut("/responses/200/content").and_then(Value::as_object_mut) {
        content.insert("text/html".into(), json!({"schema": {"type": "string"}}));
    }
    if let (false, Value::Object(page)) = (parameters.is_empty(), &mut page) {
        page.insert("parameters".into(), Value::Array(parameters));
    }
    page
}
