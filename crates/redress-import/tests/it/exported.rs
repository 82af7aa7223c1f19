//! Back to a document: nothing is lost.

use std::collections::BTreeSet;

use redress_import::{Import, openapi::to_openapi};
use serde_json::Value;

use crate::documents::{Kept, all, followed, operations, read};

/// Everything that a document says of answers and requests, one row each: operation, status, media type or header, schema.
fn said(root: &Value) -> BTreeSet<String> {
    let mut rows = BTreeSet::new();
    for (path, method, node) in operations(root) {
        let operation = format!("{method} {path}");
        rows.insert(format!("{operation} {}", node.get("operationId").unwrap_or(&Value::Null)));
        for parameter in node.get("parameters").and_then(Value::as_array).into_iter().flatten() {
            rows.insert(format!("{operation} takes {}", followed(root, parameter)));
        }
        if let Some(body) = node.get("requestBody") {
            rows.insert(format!("{operation} takes {}", followed(root, body)));
        }
        for (status, response) in node["responses"].as_object().into_iter().flatten() {
            let response = followed(root, response);
            rows.insert(format!("{operation} {status} {}", response["description"]));
            for part in ["headers", "content", "links"] {
                for (name, inner) in response.get(part).and_then(Value::as_object).into_iter().flatten() {
                    rows.insert(format!("{operation} {status} {part} {name} {inner}"));
                }
            }
        }
    }
    for part in root["components"].as_object().into_iter().flatten() {
        for (name, inner) in part.1.as_object().into_iter().flatten() {
            rows.insert(format!("{} {name} {inner}", part.0));
        }
    }
    rows
}

#[test]
fn a_document_that_was_read_is_given_back_with_everything_in_it() {
    for Kept { name, import, plain, .. } in all() {
        let written = to_openapi(import);
        let (before, after) = (said(plain), said(&written.to_value()));
        assert!(before.len() > 1 || name.contains("webhook"), "{name}");
        let lost: Vec<&String> = before.difference(&after).take(3).collect();
        let made: Vec<&String> = after.difference(&before).take(3).collect();
        assert!(lost.is_empty() && made.is_empty(), "{name}: lost {lost:?}, made up {made:?}");
        // And once more: what was written is read as what it was written from.
        let again = read(written.to_json());
        let named = |import: &Import| -> Vec<_> { import.operations.iter().map(|one| one.operation.clone()).collect() };
        assert_eq!(named(&again), named(import), "{name}");
    }
}
