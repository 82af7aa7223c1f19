//! What the test kit makes of every declaration.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use redress::{
    Access, Caller, Operation, Registry,
    contract::{self, Example, ExampleEnding},
    testing::{Contracts, Examples, Harness, unregistered},
};
use serde_json::{Value, json};

use crate::service::registry;

fn declared() -> contract::OperationDeclaration {
    contract::OperationDeclaration::query("tickets.get")
        .with_summary("Read a ticket.")
        .with_access(Access::caller().scope("tickets:read").scope("staff").any_scope("eu").any_scope("us"))
        .with_input(json!({
            "type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"], "additionalProperties": false,
        }))
        .with_example(Example { input: json!({"id": 7}), ending: ExampleEnding::Output(json!({"id": 7})) })
}

/// A harness whose caller may do everything, and how often a handler was run.
fn harness(operation: contract::OperationDeclaration) -> (Harness, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let operation = Operation::dynamic(operation).with_handler(move |_, input: Value| {
        counted.fetch_add(1, Ordering::Relaxed);
        async move { Ok(json!({"id": input["id"], "open": true})) }
    });
    let harness = Harness::new(registry(Registry::builder().add(operation)));
    (harness.as_caller(Caller::new("ada").scopes(["tickets:read", "staff", "eu"])), runs)
}

#[tokio::test]
async fn valid_invalid_and_unauthorised_calls_are_made_for_every_operation() {
    let (harness, runs) = harness(declared());
    let report = Contracts::of(harness).run().await;
    report.assert_hold();
    // The example; no input, no id, one member too many; nobody, without each of two scopes, without one of the others.
    assert_eq!((report.held, report.examples.held), (8, 1), "{report}");
    assert_eq!(runs.load(Ordering::Relaxed), 1, "only the valid call runs the handler");
}

#[tokio::test]
async fn a_promise_that_is_broken_is_told_with_what_was_tried() {
    let open = declared().with_access(Access::anyone());
    let (harness, _) = harness(
        open.with_example(Example { input: json!({"id": 8}), ending: ExampleEnding::Output(json!({"id": 9})) }),
    );
    let report = Contracts::of(harness).run().await;
    assert_eq!(
        report.to_string(),
        "4 promises hold, 1 do not\n  tickets.get, example 2: the answer has 8 at `/id`, and the example says 9"
    );
}

#[tokio::test]
async fn an_operation_without_an_example_of_a_good_end_is_told() {
    let (harness, _) = harness(contract::OperationDeclaration::query("tickets.count").with_summary("Count."));
    let report = Contracts::of(harness.clone()).run().await;
    assert_eq!(report.without_example.iter().map(|name| name.as_str()).collect::<Vec<_>>(), ["tickets.count"]);
    assert!(report.to_string().contains("tickets.count has no example of a good end"), "{report}");
    let excused = Contracts::of(harness.clone()).examples(Examples::of(harness)).without_example("tickets.count");
    excused.run().await.assert_hold();
}

#[test]
fn an_operation_that_is_declared_and_not_added_is_named_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("tickets")).unwrap();
    fs::write(folder.path().join("lib.rs"), "#[operation(query, name = \"tickets.get\")]\nasync fn get() {}\n")
        .unwrap();
    let forgotten = folder.path().join("tickets/search.rs");
    fs::write(&forgotten, "\n#[operation(query, name = \"tickets.search\")]\nasync fn search() {}\n").unwrap();
    let (harness, _) = harness(declared());
    let missing = unregistered(harness.registry(), folder.path()).unwrap();
    let told: Vec<String> = missing.iter().map(ToString::to_string).collect();
    assert_eq!(told, [format!("tickets.search is declared at {}:2, and not registered", forgotten.display())]);
}
