//! Calls that help after a failure.

use redress_contract::{Recovery, Verb};
use redress_import::{Import, NextCallOrigin};

use crate::documents::{operation, read, with_paths};

const THINGS: &str = "/things:\n  get: {operationId: listThings, responses: {200: {description: ok}}}\n  post: {operationId: makeThing, responses: {201: {description: ok}, 500: {description: oops}}}\n/things/{id}:\n  parameters: [{name: id, in: path, required: true, schema: {type: string}}]\n  get: {operationId: getThing, responses: {200: {description: ok}, 404: {description: There is no such thing.}}}\n  patch: {operationId: changeThing, responses: {200: {description: ok}, 404: {description: gone}, 409: {description: Somebody else changed it.}, 503: {description: busy}}}\n/things/{id}/parts/{part}:\n  parameters:\n    - {name: id, in: path, required: true, schema: {type: string}}\n    - {name: part, in: path, required: true, schema: {type: string}}\n  get: {operationId: getPart, responses: {200: {description: ok}, 404: {description: gone}}}";

fn told(import: &Import) -> Vec<String> {
    let mut rows = Vec::new();
    for one in &import.operations {
        for failure in one.operation.failures() {
            let recovery = failure.recovery().unwrap();
            if let Verb::Call { operation, bind, .. } | Verb::Verify { operation, bind, .. } = recovery.verb() {
                let bind: Vec<String> = bind.iter().map(|bind| format!("{}={}", bind.field, bind.from)).collect();
                rows.push(format!(
                    "{} {} -> {} {operation}({}) {}",
                    one.operation.name(),
                    failure.code(),
                    recovery.verb().as_str(),
                    bind.join(", "),
                    recovery.hint()
                ));
            }
        }
    }
    rows
}

#[test]
fn the_shape_of_the_paths_shows_what_helps() {
    let import = with_paths(THINGS);
    insta::assert_snapshot!(told(&import).join("\n"), @r"
    things.make_thing HTTP_500 -> call things.list_things() Look first whether it took place, and make the same call again only if it did not.
    things.get_thing HTTP_404 -> call things.list_things() List what exists and pick one of those. The service says: There is no such thing.
    things.change_thing HTTP_404 -> call things.list_things() List what exists and pick one of those.
    things.change_thing HTTP_409 -> call things.get_thing(id=id) Look at what is there now, and change the input to fit it. The service says: Somebody else changed it.
    things.change_thing HTTP_503 -> call things.get_thing(id=id) Look first whether it took place, and make the same call again only if it did not.
    things.get_part HTTP_404 -> call things.list_things() List what exists and pick one of those.
    ");
    let change = operation(&import, "things.change_thing");
    let plan =
        change.responses.iter().find(|plan| plan.code.as_ref().is_some_and(|code| *code == *"HTTP_409")).unwrap();
    assert_eq!((plan.bound[0].member.as_str(), plan.bound[0].field.as_str()), ("id", "id"));
    let failure = change.operation.failure("HTTP_409").unwrap();
    assert!(failure.details().requires("id") && failure.details().property("id").is_some());
}

#[test]
fn a_link_of_a_failure_is_followed() {
    let import = read(
        r##"{"openapi": "3.1.0", "info": {"title": "a", "version": "1"}, "paths": {
        "/jobs": {"post": {"operationId": "startJob", "requestBody": {"required": true, "content": {"application/json": {"schema": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}}}},
            "responses": {"201": {"description": "ok"}, "409": {"description": "there is one", "links": {
                "known": {"operationId": "findJob", "parameters": {"name": "$request.body#/name"}, "description": "the job of that name"},
                "odd": {"operationId": "nobody"}}}}}},
        "/jobs/by-name/{name}": {"get": {"operationId": "findJob", "parameters": [{"name": "name", "in": "path", "required": true, "schema": {"type": "string"}}], "responses": {"200": {"description": "ok"}}}}
    }}"##,
    );
    let start = operation(&import, "jobs.start_job");
    assert_eq!(start.next_calls[0].origin, NextCallOrigin::Link);
    let recovery = start.operation.failure("HTTP_409").and_then(|failure| failure.recovery()).unwrap();
    assert_eq!(recovery.target().map(|name| name.as_str()), Some("jobs.find_job"));
    assert!(matches!(recovery.verb(), Verb::Call { why: Some(why), .. } if why == "the job of that name"));
}

#[test]
fn what_is_made_under_a_chosen_name_is_verified() {
    let import = with_paths(
        "/keys/{name}:\n  parameters: [{name: name, in: path, required: true, schema: {type: string}}]\n  get: {operationId: getKey, responses: {200: {description: ok, content: {application/json: {schema: {type: object, properties: {name: {type: string}}}}}}}}\n  put: {operationId: makeKey, responses: {201: {description: made}, 503: {description: busy}}}",
    );
    let make = operation(&import, "keys.make_key");
    let verification = make.operation.verification().unwrap();
    assert_eq!((verification.target().as_str(), verification.done().pointer.as_str()), ("keys.get_key", "/name"));
    let recovery = make.operation.failure("HTTP_503").and_then(|failure| failure.recovery()).unwrap();
    assert_eq!(recovery.verb().as_str(), "verify");
    assert!(recovery.hint().split_whitespace().count() >= Recovery::HINT_WORDS);
}
