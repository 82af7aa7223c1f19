//! The code of `docs/testing.md`.

use redress::{
    Caller, Registry, State,
    testing::{Canary, Contracts, Examples, Harness, TestCtx, assert_failure, assert_ok},
};
use serde_json::json;

use super::{Copy, Read, ReadFailure, Workspace, copy, read};

fn workspace() -> Workspace {
    Workspace::with("a.md", "one\ntwo\n")
}

fn registry() -> Registry {
    super::registry(workspace()).unwrap()
}

#[tokio::test]
async fn the_function_itself() {
    let outcome = read(State::new(workspace()), Read { path: "b.md".into() }).await;
    assert!(matches!(outcome.unwrap_err().failure(), Some(ReadFailure::FileNotFound { .. })));
}

#[tokio::test]
async fn what_a_context_holds() {
    let ctx = TestCtx::new()
        .caller(Caller::new("ada"))
        .state(workspace())
        .serving_operation(copy) // the function under test: with its reach and its authority
        .operation(read) // what it calls, real or a stand-in
        .build();
    let outcome = copy(&ctx, Copy { from: "b.md".into(), to: "c.md".into() }).await;
    assert_failure!(outcome, FILE_NOT_FOUND);
}

#[tokio::test]
async fn the_whole_path() {
    let ada = Harness::new(registry()).as_caller(Caller::new("ada").scope("files:read"));
    assert_failure!(ada.call("files.read", json!({"path": "b.md"})).await, FILE_NOT_FOUND);
    let text = assert_ok!(ada.call("files.read", json!({"path": "a.md"})).await);
    assert_eq!(text["text"], "one\ntwo\n");

    let watched = ada.subscribe("files.lines", json!({"path": "a.md"})).await; // to its end
    assert_eq!(watched.items::<String>(), ["one", "two"]);
    assert!(watched.is_completed());
    let refused = ada.subscribe("files.lines", json!({"path": "b.md"})).await;
    assert_eq!(refused.failed().and_then(|end| end.code()), Some("FILE_NOT_FOUND"));
}

#[tokio::test]
async fn the_declared_examples() {
    let ada = Harness::new(registry()).as_caller(Caller::new("ada").scope("files:read"));
    Examples::of(ada).run().await.assert_hold();
}

#[tokio::test]
async fn what_every_declaration_promises() {
    let clerk = || Caller::new("ada").scopes(["files:read", "files:write"]);
    Contracts::of(Harness::new(registry()).as_caller(clerk()))
        .without_example("files.copy")
        .without_example("files.lines")
        .run()
        .await
        .assert_hold();
}

#[tokio::test]
async fn a_text_that_looks_like_a_number() {
    let canary = Canary::new();
    let secret = canary.plant("a text that is no number");
    let ada = Harness::new(registry_over(&secret)).as_caller(Caller::new("ada"));
    let answer = ada.call("numbers.read", json!({})).await;
    assert_failure!(answer, INTERNAL); // an error whose text holds `secret` was contained
    canary.check("envelope", answer.bytes());
    canary.assert_clean();
}

/// An error whose text is `secret`.
fn registry_over(secret: &str) -> Registry {
    /// Read a number.
    #[redress::operation(query, name = "numbers.read")]
    async fn number(text: State<String>) -> redress::Outcome<u32> {
        Err(std::io::Error::other(text.to_string()))?
    }
    Registry::builder().state(secret.to_owned()).add(number).build().unwrap()
}

#[tokio::test]
async fn what_was_never_produced() {
    let harness = Harness::new(registry());
    let ada = harness.as_caller(Caller::new("ada").scopes(["files:read", "files:write"]));
    assert_failure!(ada.call("files.read", json!({"path": "b.md"})).await, FILE_NOT_FOUND);
    assert_failure!(ada.call("files.copy", json!({"from": "b.md", "to": "c.md"})).await, FILE_NOT_FOUND);
    assert_failure!(ada.call("files.copy", json!({"from": "a.md", "to": "a.md"})).await, FILE_EXISTS);
    // All calls of the test went through it; this one is let be.
    harness.coverage().assert_all_produced(harness.registry(), &["files.lines/FILE_NOT_FOUND"]);
}
