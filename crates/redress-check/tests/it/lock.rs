//! What a lock keeps, and how.

use redress_check::{CodeState, CodeTaken, Compatibility, Lock, changes};
use redress_contract::{Code, Contract, FailureDeclaration, Kind, OperationDeclaration};
use redress_import::{ReadOptions, openapi};
use serde_json::json;

fn refund() -> OperationDeclaration {
    OperationDeclaration::mutation("orders.refund")
        .with_input(json!({"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}))
        .fails(FailureDeclaration::new("ORDER_MISSING", Kind::NotFound))
        .fails(FailureDeclaration::new("ALREADY_REFUNDED", Kind::Conflict))
}

fn status() -> OperationDeclaration {
    OperationDeclaration::query("orders.status").with_tag("b").with_tag("a")
}

#[test]
fn the_order_of_declarations_does_not_show_in_a_lock() {
    let other = OperationDeclaration::mutation("orders.refund")
        .with_input(json!({"required": ["order"], "properties": {"order": {"type": "string"}}, "type": "object"}))
        .fails(FailureDeclaration::new("ALREADY_REFUNDED", Kind::Conflict))
        .fails(FailureDeclaration::new("ORDER_MISSING", Kind::NotFound));
    let one = Lock::of(&Contract::new([refund(), status()]));
    let two = Lock::of(&Contract::new([status(), other]));
    assert_eq!(one.to_json(), two.to_json());
    assert_eq!(one.hash(), two.hash());
    assert!(one.hash().starts_with("sha256:") && one.hash() != Lock::of(&Contract::new([status()])).hash());
}

#[test]
fn a_lock_is_read_as_it_was_written() {
    let lock = Lock::of(&Contract::new([refund(), status()]));
    assert!(Lock::is_lock(lock.to_json().as_bytes()));
    let read = Lock::read(lock.to_json().as_bytes()).unwrap();
    assert_eq!(read, lock);
    assert_eq!(read.to_json(), lock.to_json());
}

#[test]
fn a_code_that_is_not_declared_any_more_stays_as_a_tombstone_and_never_returns() {
    let code = Code::new("ALREADY_REFUNDED").unwrap();
    let before = Lock::of(&Contract::new([refund()]));
    let without = OperationDeclaration::mutation("orders.refund");
    let after = Lock::of(&Contract::new([without])).succeeding(&before);
    let state = |lock: &Lock| lock.codes().find(|(known, _)| **known == code).map(|(_, known)| known.state);
    assert_eq!(state(&after), Some(CodeState::Retired));
    let again = Lock::of(&Contract::new([refund()])).succeeding(&after);
    let found = changes(&after, &again);
    assert!(found.iter().any(|change| change.rule().id() == "code-returned"
        && change.compatibility() == Compatibility::Forbidden
        && change.address() == "ALREADY_REFUNDED"));
}

#[test]
fn a_code_is_reserved_once_and_retired_only_when_nothing_declares_it() {
    let mut lock = Lock::of(&Contract::new([refund()]));
    let (known, new) = (Code::new("ORDER_MISSING").unwrap(), Code::new("ORDER_LOCKED").unwrap());
    assert!(matches!(lock.reserve(known.clone(), "why"), Err(CodeTaken::Known { .. })));
    assert!(matches!(lock.retire(&known, "why"), Err(CodeTaken::Declared { .. })));
    assert!(matches!(lock.retire(&new, "why"), Err(CodeTaken::Unknown { .. })));
    lock.reserve(new.clone(), "orders are locked from 2.0 on").unwrap();
    lock.retire(&new, "it was not needed").unwrap();
    assert_eq!(Lock::read(lock.to_json().as_bytes()).unwrap(), lock);
}

const DOCUMENT: &str = r#"
openapi: 3.1.0
info: {title: Shop, version: "1"}
paths:
  /orders/{id}:
    get:
      operationId: getOrder
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses:
        200: {description: The order., content: {application/json: {schema: {$ref: '#/components/schemas/Order'}}}}
        404: {description: None., content: {application/json: {schema: {$ref: '#/components/schemas/Problem'}}}}
components:
  schemas:
    Order:
      type: object
      required: [id]
      properties: {id: {type: string}, parent: {$ref: '#/components/schemas/Order'}, total: {type: integer}}
    Problem:
      type: object
      required: [code]
      properties: {code: {enum: [GONE, UNKNOWN]}, message: {type: string}}
"#;

fn imported(text: &str) -> Lock {
    Lock::of_import(&openapi::read(text.as_bytes(), &ReadOptions::default()).unwrap())
}

/// The findings in short, the words left out.
fn told(before: &str, after: &str) -> Vec<String> {
    let (before, after) = (imported(before), imported(after));
    let after = after.succeeding(&before);
    let found = changes(&before, &after);
    let told = found.iter().filter(|change| change.compatibility() != Compatibility::Wording);
    told.map(|change| format!("{} {} {}", change.compatibility(), change.rule().id(), change.address())).collect()
}

#[test]
fn a_foreign_document_is_kept_with_the_schemas_that_it_shares() {
    let lock = imported(DOCUMENT);
    assert!(lock.schemas().contains_key("Order") && lock.schemas().contains_key("Problem"));
    assert_eq!(Lock::read(lock.to_json().as_bytes()).unwrap(), lock);
    assert!(told(DOCUMENT, DOCUMENT).is_empty());
}

#[test]
fn changes_of_the_failures_of_a_foreign_document_are_seen() {
    let replaced = |from: &str, to: &str| told(DOCUMENT, &DOCUMENT.replace(from, to));
    let line = "        404: {description: None., content: {application/json: {schema: {$ref: '#/components/schemas/Problem'}}}}\n";
    let order = "orders.get_order";
    // A status is added.
    let with_429 = replaced(line, &format!("{line}        429: {{description: Slow down.}}\n"));
    assert!(with_429.contains(&format!("breaking failure-added {order}/HTTP_429")), "{with_429:?}");
    // A status is gone.
    let without = replaced(line, "");
    assert!(without.contains(&format!("compatible failure-removed {order}/HTTP_404")), "{without:?}");
    assert!(without.iter().all(|change| change.starts_with("compatible")), "{without:?}");
    // Another status, a range, the default.
    for status in ["409", "4XX", "default"] {
        let other = replaced("        404:", &format!("        {status}:"));
        let code = format!("HTTP_{}", status.to_uppercase());
        assert!(other.contains(&format!("breaking failure-added {order}/{code}")), "{other:?}");
    }
    // A value more in the body, a member that may be missing, a member of another type, no schema.
    let details = format!("{order}/HTTP_404/details/body");
    let value = replaced("[GONE, UNKNOWN]", "[GONE, UNKNOWN, HIDDEN]");
    assert!(value.contains(&format!("breaking enum-widened {details}/code")), "{value:?}");
    let optional = replaced("required: [code]", "required: []");
    assert!(optional.contains(&format!("breaking property-optional {details}/code")), "{optional:?}");
    let typed = replaced("message: {type: string}", "message: {type: integer}");
    assert!(typed.contains(&format!("breaking type-widened {details}/message")), "{typed:?}");
    let none = replaced(", content: {application/json: {schema: {$ref: '#/components/schemas/Problem'}}}", "");
    assert!(none.iter().any(|change| change.starts_with("breaking") && change.contains(&details)), "{none:?}");
}

#[test]
fn changes_of_what_a_recursive_schema_gives_are_seen() {
    let found = told(DOCUMENT, &DOCUMENT.replace("total: {type: integer}", "total: {type: [integer, 'null']}"));
    assert!(found.contains(&"breaking type-widened orders.get_order/output/total".to_owned()), "{found:?}");
}
