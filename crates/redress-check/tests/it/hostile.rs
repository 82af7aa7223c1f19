//! Locks that nobody meant well.

use redress_check::{Lock, LockError, MAX_LOCK, changes};
use redress_contract::{Contract, OperationDeclaration};
use serde_json::{Value, json};

fn lock_of(input: Value) -> Lock {
    Lock::of(&Contract::new([OperationDeclaration::query("a.b").with_input(input)]))
}

#[test]
fn what_is_no_lock_is_refused_with_the_reason() {
    let good = lock_of(json!({})).to_json();
    let read = |text: &str| Lock::read(text.as_bytes()).unwrap_err();
    assert!(matches!(read(&good[..good.len() / 2]), LockError::Syntax(_)));
    assert!(matches!(read(""), LockError::Syntax(_)));
    assert!(matches!(read("[]"), LockError::NotLock));
    assert!(matches!(read("{\"openapi\": \"3.1.0\"}"), LockError::NotLock));
    assert!(matches!(
        read(&good.replace("\"redress_lock\": 1", "\"redress_lock\": 2")),
        LockError::Version { version: 2, .. }
    ));
    assert!(matches!(read(&good.replace("\"query\"", "\"mutation\"")), LockError::Hash { .. }));
    assert!(matches!(read(&good.replace("\"query\"", "\"quarry\"")), LockError::Content(_)));
    assert!(matches!(read(&good.replacen("\"a.b\": {", "\"a.c\": {", 1)), LockError::Misnamed { .. }));
    assert!(matches!(read(&good.replace("\"codes\": {}", "\"codes\": {}, \"more\": 1")), LockError::Content(_)));
}

#[test]
fn a_lock_that_is_too_large_or_too_deep_is_refused_unread() {
    let large = vec![b' '; 50 << 20];
    assert!(matches!(Lock::read(&large), Err(LockError::TooLarge { max: MAX_LOCK, .. })));
    let deep = format!("{{\"redress_lock\": 1, \"operations\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(matches!(Lock::read(deep.as_bytes()), Err(LockError::Syntax(_))));
}

#[test]
fn schemas_that_lead_to_themselves_are_compared_to_an_end() {
    let cycles = [
        json!({"$ref": "#"}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"allOf": [{"$ref": "#"}], "type": "object"}),
        json!({"anyOf": [{"$ref": "#"}, {"type": "string"}]}),
        json!({"not": {"$ref": "#"}}),
        json!({"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"items": {"$ref": "#"}}}}),
        json!({"$ref": "#/nowhere"}),
        json!({"type": 7, "required": "a", "properties": [], "anyOf": {}, "items": 3, "enum": {}, "pattern": "("}),
    ];
    for one in &cycles {
        for other in &cycles {
            let found = changes(&lock_of(one.clone()), &lock_of(other.clone()));
            assert!(one != other || found.is_empty(), "{one}: {found:?}");
        }
    }
}

#[test]
fn alternatives_of_alternatives_come_to_an_end() {
    let many = |depth: usize, last: Value| {
        let mut schema = last;
        for _ in 0..depth {
            schema = json!({"anyOf": [{"properties": {"a": schema.clone()}}, {"oneOf": [schema.clone(), {"type": "null"}]}]});
        }
        schema
    };
    let found = changes(&lock_of(many(6, json!({"type": "string"}))), &lock_of(many(6, json!({"type": "integer"}))));
    assert!(!found.is_empty());
}
