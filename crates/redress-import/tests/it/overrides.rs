//! What an operator says otherwise.

use redress_contract::{Access, Recovery, Shape};
use redress_import::{Import, Override, OverrideError, Report, openapi};
use serde_json::{Value, json};

use crate::documents::{one, operation, read, with_paths};

fn over(json: Value) -> Override {
    serde_json::from_value(json).unwrap()
}

fn applied(mut import: Import, overrides: &[Value]) -> Result<Import, Vec<String>> {
    let overrides: Vec<Override> = overrides.iter().cloned().map(over).collect();
    match Override::apply(&overrides, &mut import) {
        Ok(()) => Ok(import),
        Err(errors) => Err(errors.iter().map(ToString::to_string).collect()),
    }
}

fn github() -> Import {
    one("github-rest-2022-10.yaml").import.clone()
}

#[test]
fn only_what_is_included_and_not_excluded_is_left() {
    let import = applied(
        github(),
        &[
            json!({"operation": "issues.*", "include": true}),
            json!({"operation": "GET /repos/{owner}/{repo}", "include": true}),
            json!({"operation": "issues/*-lock", "exclude": true}),
            json!({"operation": "issues.lock", "exclude": true}),
            json!({"operation": "issues.unlock", "exclude": true}),
        ],
    );
    // The pattern with a slash is an id of the document, and no id ends so.
    assert_eq!(import.unwrap_err(), ["no operation is `issues/*-lock`; did you mean `issues.lock`?"]);
    let import = applied(
        github(),
        &[json!({"operation": "issues.*", "include": true}), json!({"operation": "issues/*lock", "exclude": true})],
    )
    .unwrap();
    assert!(import.operations.len() > 30);
    assert!(import.operations.iter().all(|one| one.operation.name().namespace() == "issues"));
    assert!(!import.operations.iter().any(|one| one.operation.name().as_str().ends_with("lock")));
    // A next call that was left out with its operation is in no recovery.
    let names: Vec<&str> = import.operations.iter().map(|one| one.operation.name().as_str()).collect();
    for failure in import.operations.iter().flat_map(|one| one.operation.failures()) {
        let target = failure.recovery().and_then(Recovery::target);
        assert!(target.is_none_or(|target| names.contains(&target.as_str())), "{target:?}");
    }
    // And it is not in the document that is made of it.
    assert_eq!(read(openapi::to_openapi(&import).to_json()).operations.len(), import.operations.len());
}

#[test]
fn names_words_and_parameters_are_the_operators() {
    let import = applied(github(), &[
        json!({"operation": "issues.update", "rename": "issues.change", "summary": "Change an issue.", "fixed": {"owner": "octo"},
            "hidden": ["assignees"], "access": {"all": ["write"]}, "deadline_ms": 5000, "profiles": ["triage"], "max_output": 10}),
        json!({"operation": "repos.*", "prefix": "gh"}),
        json!({"operation": "gists.create", "shape": "query"}),
    ])
    .unwrap();
    let change = operation(&import, "issues.change");
    assert_eq!(change.operation.summary(), "Change an issue.");
    assert_eq!(change.operation.access(), &Access::caller().scope("write"));
    assert_eq!(change.operation.deadline().map(|deadline| deadline.as_millis()), Some(5000));
    assert_eq!(
        (change.operation.max_output(), change.profiles.as_slice()),
        (Some(10), ["triage".to_owned()].as_slice())
    );
    assert!(
        change.operation.input().property("owner").is_none()
            && change.operation.input().property("assignees").is_none()
    );
    assert!(!change.operation.input().requires("owner") && change.operation.input().requires("repo"));
    assert_eq!(
        change.request.fixed.iter().map(|field| (field.name.as_str(), field.fixed.clone())).collect::<Vec<_>>(),
        [("owner", Some(json!("octo")))]
    );
    assert!(import.full_input(change).property("owner").is_none());
    assert_eq!(operation(&import, "gists.create").operation.shape(), Shape::Query);
    operation(&import, "gh.repos.get");
    let written = openapi::to_openapi(&import).to_value();
    let node = written.pointer(&change.pointer).unwrap();
    assert_eq!(
        (node["x-redress-name"].as_str(), node["summary"].as_str()),
        (Some("issues.change"), Some("Change an issue."))
    );
}

#[test]
fn recoveries_next_calls_and_failures_are_the_operators() {
    let things = "/things: {get: {operationId: listThings, responses: {200: {description: ok}}}}\n/things/{id}:\n  get:\n    operationId: getThing\n    parameters: [{name: id, in: path, required: true, schema: {type: string}}]\n    responses: {200: {description: ok}, 404: {description: gone}, 429: {description: slow}}";
    let import = applied(
        with_paths(things),
        &[json!({"operation": "things.get_thing", "refuse_next": ["things.*"],
        "recovery": {"HTTP_429": {"verb": "ask_user", "hint": "Ask the user whether to go on."}},
        "fails_when": [{"pointer": "/ok", "test": {"is": false}, "code": "THING_NOT_OK", "details": ["/error"]}]})],
    )
    .unwrap();
    let one = operation(&import, "things.get_thing");
    assert_eq!(one.operation.failure("HTTP_404").unwrap().recovery().unwrap().target(), None);
    assert_eq!(one.operation.failure("HTTP_429").unwrap().recovery().unwrap().hint(), "Ask the user whether to go on.");
    assert!(one.operation.failure("THING_NOT_OK").is_some());
    assert!(Report::of(&import).next_calls.is_empty());
}

#[test]
fn what_matches_nothing_is_an_error_with_the_nearest_name() {
    let errors = applied(github(), &[
        json!({"operation": "issues.updat", "summary": "x"}),
        json!({"operation": "issues.update", "fixed": {"ownr": 1}, "hidden": ["repo", "nope"], "recovery": {"HTTP_40": {"verb": "stop", "hint": "Do not go on with this at all."}},
            "refuse_next": ["nobody.knows"]}),
        json!({"operation": "issues.*", "rename": "issues.all"}),
        json!({"operation": "issues.get", "rename": "issues.list"}),
        json!({"operation": "issues.lock", "rename": "Lock!"}),
    ])
    .unwrap_err();
    insta::assert_snapshot!(errors.join("\n"), @r"
    no operation is `issues.updat`; did you mean `issues.update`?
    `issues.update` takes no `ownr`; did you mean `owner`?
    `issues.update` cannot do without `repo`, which is hidden; give it a fixed value instead
    `issues.update` takes no `nope`; did you mean `owner`?
    `issues.*` is 39 operations, and only one can be called `issues.all`
    `Lock!` is not an operation name: write lower-case words joined by dots, at most 64 letters
    two operations would be called `issues.list`
    no next call of `issues.update` is `nobody.knows`
    `issues.update` does not fail with `HTTP_40`; did you mean `HTTP_410`?
    ");
    let mut import = github();
    let before = import.operations.clone();
    let wrong = Override { operation: "%%%%".to_owned(), ..Override::default() };
    let errors = Override::apply(&[wrong], &mut import).unwrap_err();
    assert!(matches!(errors.as_slice(), [OverrideError::NothingFound { nearest: None, .. }]));
    assert_eq!(import.operations, before);
}
