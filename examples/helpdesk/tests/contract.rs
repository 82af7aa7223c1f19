//! What the declarations promise, tried through the whole path.

use helpdesk::Store;
use redress::{
    Caller, Registry,
    testing::{Canary, Contracts, Harness, assert_failure, assert_ok, assert_registered},
};
use serde_json::json;

async fn registry(store: Store) -> Registry {
    helpdesk::registry(store).unwrap()
}

async fn clerk() -> Harness {
    let store = Store::in_memory().await.unwrap();
    Harness::new(registry(store).await).as_caller(Caller::new("ada").scopes(["tickets:read", "tickets:write"]))
}

/// Valid, invalid and unauthorised calls of every operation, made from its declaration, and every example.
#[tokio::test]
async fn every_operation_keeps_what_it_declares() {
    let harness = clerk().await;
    Contracts::of(harness).run().await.assert_hold();
}

#[tokio::test]
async fn every_declared_failure_is_produced() {
    let harness = clerk().await;
    let ticket = assert_ok!(harness.call("tickets.open", json!({"title": "No light"})).await);
    assert_eq!(ticket["id"], 1);
    assert_failure!(harness.call("tickets.open", json!({"title": "No light"})).await, TITLE_TAKEN);
    let problem = assert_failure!(harness.call("tickets.get", json!({"id": 9})).await, TICKET_NOT_FOUND);
    // What to do then is a call that this caller can make now.
    assert_eq!(problem.next_actions[0].operation.as_str(), "tickets.search");
    harness.coverage().assert_all_produced(harness.registry(), &[]);
}

/// What the database says stays in the log.
#[tokio::test]
async fn nothing_undeclared_leaves() {
    let store = Store::in_memory().await.unwrap();
    let canary = Canary::new();
    let secret = canary.plant("the words of the database");
    let broken = format!("CREATE TRIGGER no BEFORE INSERT ON tickets BEGIN SELECT RAISE(ABORT, '{secret}'); END");
    sqlx::query(sqlx::AssertSqlSafe(broken)).execute(store.pool()).await.unwrap();
    let harness =
        Harness::new(registry(store).await).as_caller(Caller::new("ada").scopes(["tickets:read", "tickets:write"]));
    let answer = harness.call("tickets.open", json!({"title": "No light"})).await;
    assert_failure!(answer, INTERNAL);
    canary.check("envelope", answer.bytes());
    canary.assert_clean();
}

#[tokio::test]
async fn no_operation_is_forgotten() {
    assert_registered!(registry(Store::in_memory().await.unwrap()).await);
}
