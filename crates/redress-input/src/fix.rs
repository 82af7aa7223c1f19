//! A patch that makes a refused input acceptable, where there is no doubt about it.
//!
//! Every problem must have exactly one plausible repair, and the repaired document is really given to the
//! validator and to the type. Anything less is no fix: a caller applies it without thinking.

use std::io;

use serde::Serialize;
use serde_json::Value;

use super::budget::StepBudget;
use super::digits::{has_real, read_exactly, survive};
use super::duplicate_keys::twice;
use super::explain::MAX;
use super::instance_path::pointer_to;
use super::patch::PatchOperation;
use super::shape::InputShape;
use super::violation::{Violation, ViolationCause, ViolationContext, problems};

/// The most bytes that a patch may have.
const MAX_SIZE: usize = 2048;

/// Whether nothing of the document was lost when it was read that the patch `operations` is about: the caller
/// applies it to the text that was sent.
pub(super) fn is_true_to(bytes: &[u8], operations: &[Value]) -> bool {
    let carries_real = operations.iter().filter_map(|operation| operation.get("value")).any(has_real);
    (!carries_real || survive(bytes)) && twice(bytes).is_none()
}

/// The patch for `document` that begins with `changes`, as operations of RFC 6902.
pub(super) fn fix(
    mut document: Value,
    mut next: Vec<PatchOperation>,
    shape: &InputShape,
    budget: &StepBudget<'_>,
    words: &StepBudget<'_>,
    accepts: &dyn Fn(&[u8]) -> bool,
) -> Option<Vec<Value>> {
    // One level of a document shows its problems only once the level above is repaired.
    const ROUNDS: usize = 4;
    let mut operations = Vec::new();
    for _ in 0..ROUNDS {
        for change in next {
            change.apply(&mut document)?;
            operations.push(change.operation());
        }
        if budget.is_spent() || !is_within(&operations, MAX_SIZE) {
            return None;
        }
        if shape.is_valid(&document) {
            let bytes = serde_json::to_vec(&document).ok()?;
            return accepts(&bytes).then_some(operations);
        }
        let found = problems(shape.tree(), &document, budget, MAX);
        next = changes(&found, &ViolationContext::new(shape.tree(), &document, words))?;
    }
    None
}

/// The one repair of each problem; `None` as soon as one has none.
pub(super) fn changes<'a>(found: &[Violation<'a>], context: &ViolationContext<'a>) -> Option<Vec<PatchOperation>> {
    // A document with more problems than are told was not meant for this operation.
    if found.is_empty() || found.len() > MAX {
        return None;
    }
    let mut changes: Vec<PatchOperation> = Vec::new();
    let mut missing: Vec<String> = Vec::new();
    for problem in found {
        if let ViolationCause::Missing { name, .. } = problem.cause {
            missing.push(pointer_to(&problem.at, Some(name), MAX_SIZE)?);
            continue;
        }
        let change = change(problem, context)?;
        if !changes.contains(&change) {
            changes.push(change);
        }
    }
    let moved_to = |place: &String| {
        changes.iter().any(|change| match change {
            PatchOperation::Move { path, .. } => path == place,
            PatchOperation::Replace { .. } => false,
        })
    };
    missing.iter().all(moved_to).then_some(changes)
}

fn change<'a>(problem: &Violation<'a>, context: &ViolationContext<'a>) -> Option<PatchOperation> {
    match &problem.cause {
        ViolationCause::Unknown { name, object } => {
            let near = context.near_and_free(problem, name, *object).filter(|near| near.certain)?;
            let from = pointer_to(&problem.at, Some(name), MAX_SIZE)?;
            Some(PatchOperation::Move { from, path: pointer_to(&problem.at, Some(near.word), MAX_SIZE)? })
        }
        ViolationCause::Type { names } => {
            let value = converted(context.value(problem)?, names)?;
            Some(PatchOperation::Replace { path: pointer_to(&problem.at, None, MAX_SIZE)?, value })
        }
        ViolationCause::Choice { .. } => {
            let near = context.near(problem).filter(|near| near.certain)?;
            let value = Value::String(near.word.to_owned());
            Some(PatchOperation::Replace { path: pointer_to(&problem.at, None, MAX_SIZE)?, value })
        }
        ViolationCause::Missing { .. } | ViolationCause::Rule { .. } | ViolationCause::Behind { .. } => None,
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
                    let number = read_exactly(text)?;
                    (!number.is_f64() || name == "number").then_some(Value::Number(number))
                }
                "boolean" => text.parse().ok().map(Value::Bool),
                "object" => parsed(text).filter(Value::is_object),
                "array" => parsed(text).filter(Value::is_array),
                _ => None,
            }
        }
        // Of a number that is no integer it is not known how it was written.
        Value::Number(number) if name == "string" && !number.is_f64() => Some(Value::String(number.to_string())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn parsed(text: &str) -> Option<Value> {
    // Longer than this, and what is in it would be larger than a patch may be.
    let is_short = text.len() <= 4 * MAX_SIZE;
    let value = is_short.then(|| serde_json::from_str(text).ok()).flatten()?;
    (twice(text.as_bytes()).is_none() && survive(text.as_bytes())).then_some(value)
}

/// A single value where only a list is wanted is a list of one.
fn wrapped(value: &Value, wanted: &[&str]) -> Option<Value> {
    let list = wanted.contains(&"array") && wanted.iter().all(|name| matches!(*name, "array" | "null"));
    (list && !value.is_null() && is_within(value, MAX_SIZE)).then(|| Value::Array(vec![value.clone()]))
}

/// Whether `value` takes at most `max` bytes as JSON. It is not written any further than that.
fn is_within(value: &impl Serialize, max: usize) -> bool {
    struct PatchRoom(usize);

    impl io::Write for PatchRoom {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::WriteZero)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    serde_json::to_writer(PatchRoom(max), value).is_ok()
}
