//! A patch that makes a refused input acceptable, where there is no doubt about it.
//!
//! Every problem must have exactly one plausible repair, and the repaired document is really given to the
//! validator and to the type. Anything less is no fix: a caller applies it without thinking.

use serde_json::{Number, Value};

use super::near::nearest;
use super::patch::Change;
use super::place::below;
use super::problem::{Cause, Problem, problems};
use super::shape::Shape;

/// The patch for `document`, as operations of RFC 6902.
pub(super) fn fix(document: &Value, shape: &Shape, accepts: &dyn Fn(&[u8]) -> bool) -> Option<Vec<Value>> {
    // One level of a document shows its problems only once the level above is repaired.
    const ROUNDS: usize = 4;
    const LARGEST: usize = 2048;
    let mut document = document.clone();
    let mut operations = Vec::new();
    for _ in 0..ROUNDS {
        for change in changes(&document, shape)? {
            change.apply(&mut document)?;
            operations.push(change.operation());
        }
        if !shape.is_valid(&document) {
            continue;
        }
        let bytes = serde_json::to_vec(&document).ok()?;
        let small = serde_json::to_vec(&operations).ok()?.len() <= LARGEST;
        return (small && accepts(&bytes)).then_some(operations);
    }
    None
}

/// The one repair of each problem; `None` as soon as one has none.
fn changes(document: &Value, shape: &Shape) -> Option<Vec<Change>> {
    // A document with more problems than this was not meant for this operation.
    const MOST: usize = 30;
    let found = problems(document, shape, MOST);
    if found.is_empty() || found.len() > MOST {
        return None;
    }
    let mut changes: Vec<Change> = Vec::new();
    let mut missing: Vec<String> = Vec::new();
    for problem in &found {
        if let Cause::Missing { .. } = problem.cause {
            missing.push(problem.place());
            continue;
        }
        let change = change(problem, document)?;
        if !changes.contains(&change) {
            changes.push(change);
        }
    }
    let moved_to = |place: &String| {
        changes.iter().any(|change| match change {
            Change::Move { path, .. } => path == place,
            Change::Replace { .. } => false,
        })
    };
    missing.iter().all(moved_to).then_some(changes)
}

fn change(problem: &Problem, document: &Value) -> Option<Change> {
    let path = problem.at.clone();
    match &problem.cause {
        Cause::Unknown { name, known } => {
            let object = document.pointer(&path)?.as_object()?;
            let free = known.iter().map(String::as_str).filter(|name| !object.contains_key(*name));
            let near = nearest(name, free).filter(|near| near.certain)?;
            Some(Change::Move { from: below(&path, name), path: below(&path, near.word) })
        }
        Cause::Type { names } => {
            let value = converted(document.pointer(&path)?, names)?;
            Some(Change::Replace { path, value })
        }
        Cause::Choice { .. } => {
            let near = problem.near(document).filter(|near| near.certain)?;
            let value = Value::String(near.word.to_owned());
            Some(Change::Replace { path, value })
        }
        Cause::Missing { .. } | Cause::Rule { .. } | Cause::Behind { .. } => None,
    }
}

/// `value` as one of the wanted types, if it can only mean one thing.
fn converted(value: &Value, wanted: &[&str]) -> Option<Value> {
    let mut readings: Vec<Value> = Vec::new();
    for name in wanted {
        if let Some(reading) = reading(value, name)
            && !readings.contains(&reading)
        {
            readings.push(reading);
        }
    }
    if readings.is_empty() {
        return wrapped(value, wanted);
    }
    let only = readings.pop();
    only.filter(|_| readings.is_empty())
}

/// `value` read as the type `name`.
fn reading(value: &Value, name: &str) -> Option<Value> {
    match value {
        Value::String(text) => {
            let text = text.trim();
            match name {
                "integer" | "number" => {
                    let number: Number = serde_json::from_str(text).ok()?;
                    let whole = !number.is_f64();
                    (whole || name == "number").then_some(Value::Number(number))
                }
                "boolean" => text.parse().ok().map(Value::Bool),
                "object" => parsed(text).filter(Value::is_object),
                "array" => parsed(text).filter(Value::is_array),
                _ => None,
            }
        }
        Value::Number(number) if name == "string" => Some(Value::String(number.to_string())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn parsed(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

/// A single value where only a list is wanted is a list of one.
fn wrapped(value: &Value, wanted: &[&str]) -> Option<Value> {
    let list = wanted.contains(&"array") && wanted.iter().all(|name| matches!(*name, "array" | "null"));
    (list && !value.is_null()).then(|| Value::Array(vec![value.clone()]))
}
