//! Breaks that somebody has agreed to.

use redress_check::{AcceptanceError, Acceptances, changes};
use serde_json::json;

use crate::fixtures::pairs;

fn accepted(rule: &str, address: &str) -> Acceptances {
    let document = json!({"accepted": [
        {"rule": rule, "address": address, "reason": "the one client was changed with it", "owner": "payments"},
    ]});
    Acceptances::read(document.to_string().as_bytes()).unwrap()
}

fn found(id: &str) -> Vec<redress_check::ContractChange> {
    let pair = pairs().into_iter().find(|pair| pair.id == id).unwrap();
    changes(&pair.before, &pair.after)
}

#[test]
fn a_break_passes_where_somebody_has_agreed_to_it_and_not_otherwise() {
    assert!(!Acceptances::default().apply(found("failure-added")).passes());
    assert!(accepted("failure-added", "orders.refund/ORDER_MISSING").apply(found("failure-added")).passes());
    let other = accepted("failure-added", "orders.refund/ORDER_LOCKED").apply(found("failure-added"));
    assert!(!other.passes() && other.open.len() == 1 && other.stale.len() == 1);
}

#[test]
fn an_acceptance_that_matches_nothing_any_more_fails_loudly() {
    let judged = accepted("failure-added", "orders.refund/ORDER_MISSING").apply(found("operation-added"));
    assert!(judged.open.iter().all(|change| change.compatibility().passes()));
    assert!(!judged.passes(), "{judged:?}");
}

#[test]
fn nobody_can_agree_to_what_is_forbidden() {
    let judged = accepted("code-returned", "ORDER_MISSING").apply(found("code-returned"));
    assert!(!judged.passes() && judged.stale.len() == 1);
}

#[test]
fn an_acceptance_says_why_and_who_and_names_a_rule() {
    let read = |one: serde_json::Value| Acceptances::read(json!({"accepted": [one]}).to_string().as_bytes());
    let none = json!({"rule": "failure-added", "address": "a", "reason": " ", "owner": "b"});
    assert!(matches!(read(none), Err(AcceptanceError::Empty { lacks: "reason", .. })));
    let nobody = json!({"rule": "failure-added", "address": "a", "reason": "b", "owner": ""});
    assert!(matches!(read(nobody), Err(AcceptanceError::Empty { lacks: "owner", .. })));
    let unknown = json!({"rule": "no-such-rule", "address": "a", "reason": "b", "owner": "c"});
    assert!(matches!(read(unknown), Err(AcceptanceError::Rule { .. })));
    assert!(matches!(read(json!({"rule": "failure-added"})), Err(AcceptanceError::Content(_))));
}
