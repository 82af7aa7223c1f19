//! Inputs that are refused: what is said of them, and the patch that mends them.

use redress::{Caller, Request};
use serde_json::{Map, Value};

use super::cut;
use crate::{
    oracle::{self, Ending},
    service,
};

/// Operations whose inputs are types and schemas of many kinds.
const NAMES: [&str; 4] = ["demo.search", "demo.make", "demo.greet", "demo.count"];

pub(super) fn target(data: &[u8]) {
    let (which, input) = cut(data);
    // Nothing at all counts as an empty object, and a fix is said of that.
    let input: &[u8] = if input.trim_ascii().is_empty() { b"{}" } else { input };
    let name = NAMES[which.iter().map(|byte| usize::from(*byte)).sum::<usize>() % NAMES.len()];
    service::talk(async |service| {
        let registry = &service.registry;
        let call = async |input: &[u8]| {
            let request = Request::new(input).with_caller(Caller::local());
            let envelope = match registry.subscribe(name, request).await {
                Ok(_) if name == "demo.count" => return None,
                Err(envelope) if name == "demo.count" => envelope,
                Ok(_) | Err(_) => {
                    let request = Request::new(input).with_caller(Caller::local());
                    registry.call(name, request).await
                }
            };
            Some(oracle::envelope(registry, &oracle::json(&envelope.into_bytes())))
        };
        let Some(Ending::Badly { code, details, .. }) = call(input).await else { return };
        if code == "PARSE_ERROR" {
            assert!(serde_json::from_slice::<Value>(input).is_err(), "it is JSON");
            return;
        }
        if code != "INVALID_INPUT" {
            return;
        }
        let mut document: Value = serde_json::from_slice(input).expect("what is no JSON has a code of its own");
        let operation = registry.operation(name).expect("it is registered");
        let issues = details["issues"].as_array().expect("a refusal says why");
        assert!(!issues.is_empty() && issues.len() <= 30, "{details}");
        issues.iter().for_each(judge);
        let schema = operation.input().as_value().to_string();
        for value in shown(issues, &document).filter(|value| !schema.contains(value)) {
            // It may be words of our own that the input happens to hold. Another value tells.
            let other = CANARY.chars().cycle().take(value.chars().count()).collect::<String>();
            let mut changed = document.clone();
            exchange(&mut changed, &value, &other);
            let changed = serde_json::to_vec(&changed).expect("a value is JSON");
            if let Some(Ending::Badly { details, .. }) = call(&changed).await {
                let issues = details["issues"].as_array().into_iter().flatten();
                let told = issues.map(said).find(|said| said.contains(&other));
                assert_eq!(told, None, "`{value}` was refused and is shown: {details}");
            }
        }
        let Some(fix) = details.get("fix") else { return };
        let before = document.clone();
        for change in fix.as_array().expect("a fix is a list of changes") {
            apply(change, &mut document);
        }
        assert_ne!(before, document, "a fix that changes nothing: {fix}");
        let mended = serde_json::to_vec(&document).expect("a value is JSON");
        let ending = call(&mended).await;
        let code = ending.as_ref().and_then(Ending::code);
        assert!(!matches!(code, Some("INVALID_INPUT" | "PARSE_ERROR")), "{fix} makes {document}: {ending:?}");
    });
}

/// Stands for a value of an input, and is no word of ours.
const CANARY: &str = "Zq7x";

/// An issue points into the document and says what is wrong there.
#[track_caller]
fn judge(issue: &Value) {
    let text = |member: &str| issue[member].as_str().unwrap_or_default();
    let pointer = text("pointer");
    assert!(pointer.is_empty() || pointer.starts_with('/'), "{issue}");
    assert!(!text("rule").is_empty() && !text("expected").is_empty(), "{issue}");
}

/// What an issue says, but for where.
fn said(issue: &Value) -> String {
    let text = |member: &str| issue[member].as_str().unwrap_or_default();
    format!("{} {} {}", text("rule"), text("expected"), text("near"))
}

/// The values of the document that the issues seem to hold, where they must hold none.
fn shown(issues: &[Value], document: &Value) -> impl Iterator<Item = String> {
    let said: Vec<String> = issues.iter().map(said).collect();
    let mut values = Vec::new();
    texts(document, &mut values);
    let values: Vec<String> = values.into_iter().filter(|value| value.len() >= 6).map(str::to_owned).collect();
    values.into_iter().filter(move |value| said.iter().any(|said| said.contains(value)))
}

/// Puts `other` wherever the document holds `value`.
fn exchange(document: &mut Value, value: &str, other: &str) {
    match document {
        Value::String(text) if text == value => other.clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(|item| exchange(item, value, other)),
        Value::Object(members) => members.values_mut().for_each(|member| exchange(member, value, other)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn texts<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(members) => members.values().for_each(|member| texts(member, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// JSON Patch (RFC 6902), as far as a fix goes, and written from the standard alone.
fn apply(change: &Value, document: &mut Value) {
    let path = change["path"].as_str().unwrap_or_else(|| panic!("no path: {change}"));
    match change["op"].as_str() {
        Some("replace") => *document.pointer_mut(path).expect("what is replaced is there") = change["value"].clone(),
        Some("move") => {
            let from = change["from"].as_str().expect("a move has a source");
            let (around, name) = parent(from);
            let value = object(document, around).remove(&name).expect("what is moved is there");
            let (around, name) = parent(path);
            let replaced = object(document, around).insert(name, value);
            assert_eq!(replaced, None, "a move that overwrites: {change}");
        }
        other => panic!("{other:?} is no change that a fix has"),
    }
}

fn object<'a>(document: &'a mut Value, pointer: &str) -> &'a mut Map<String, Value> {
    document.pointer_mut(pointer).and_then(Value::as_object_mut).expect("a member is moved within objects")
}

fn parent(pointer: &str) -> (&str, String) {
    let (around, name) = pointer.rsplit_once('/').expect("the whole document is not moved");
    (around, name.replace("~1", "/").replace("~0", "~"))
}
