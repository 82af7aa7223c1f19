//! Verifications: a query that shows by its answer whether a mutation took place.

use redress_contract::{
    Done, Effect, FailureDeclaration, Finding, OperationDeclaration, Recovery, Rule, Shape, Template, Verification,
};
use serde_json::{Value, json};

use super::{
    described::{Described, described},
    fit::fits,
    recoveries::{BindingSource, bindings, callable, known},
};
use crate::registry::rules;

/// What is wrong with verifying after `failure`, whichever query does it.
pub(super) fn of_failure(
    operation: &OperationDeclaration,
    failure: &FailureDeclaration,
    say: &mut impl FnMut(&'static Rule, String, String),
) {
    if operation.shape() != Shape::Mutation {
        of_mutations(operation, say);
    } else if let Some(layer) = failure.layer() {
        say(
            &rules::VERIFY_NEEDLESS,
            format!("`{layer}` answers it before the operation has begun, so there is nothing to verify"),
            "name another recovery".to_owned(),
        );
    } else if failure.effect() == Effect::None {
        say(
            &rules::VERIFY_NEEDLESS,
            "it says that nothing was changed, so there is nothing to verify".to_owned(),
            "say `effect = unknown` or `effect = partial`, or name another recovery".to_owned(),
        );
    }
}

/// What is wrong with how an operation says that it is verified.
pub(super) fn of_operation(
    operation: &OperationDeclaration,
    operations: &[&OperationDeclaration],
    findings: &mut Vec<Finding>,
) {
    let Some(verification) = operation.verification() else { return };
    let mut say = |rule, says: String, help: String| {
        findings.push(Finding::new(rule, operation.name().as_str(), says, help));
    };
    if operation.shape() != Shape::Mutation {
        of_mutations(operation, &mut say);
    }
    hint(verification, &mut say);
    if let Some(target) = known(operation, operations, verification.target(), &mut say) {
        callable(operation, target, &mut say);
        shown(target, verification.done(), &mut say);
        bindings(BindingSource::Input(operation.input()), target, verification.bindings(), &mut say);
    }
}

fn of_mutations(operation: &OperationDeclaration, say: &mut impl FnMut(&'static Rule, String, String)) {
    let shape = word(operation.shape());
    say(
        &rules::VERIFY_NEEDLESS,
        format!("a {shape} changes nothing, so there is nothing to verify"),
        "name another recovery, or make it a mutation".to_owned(),
    );
}

const fn word(shape: Shape) -> &'static str {
    match shape {
        Shape::Query => "query",
        Shape::Mutation => "mutation",
        Shape::Subscription => "subscription",
    }
}

fn hint(verification: &Verification, say: &mut impl FnMut(&'static Rule, String, String)) {
    if verification.hint().split_whitespace().count() < Recovery::HINT_WORDS {
        say(
            &rules::SHORT_HINT,
            format!("the hint `{}` is too short to act on", verification.hint()),
            "tell the caller in five words or more what to do".to_owned(),
        );
    }
    if let Some(place) = Template::place_in(verification.hint()) {
        say(
            &rules::HINT_TEMPLATE,
            format!("the hint has a place for `{place}`, and a hint is shown as it stands"),
            "say it without the field, which is in the answer beside it".to_owned(),
        );
    }
}

/// Whether the answer of `target` can show what `done` says.
pub(super) fn shown(target: &OperationDeclaration, done: &Done, say: &mut impl FnMut(&'static Rule, String, String)) {
    let name = target.name();
    if target.shape() != Shape::Query {
        say(
            &rules::VERIFY_TARGET,
            format!("it is verified by `{name}`, which is a {}", word(target.shape())),
            "name a query: looking must not change anything".to_owned(),
        );
    }
    let output = target.output().bundled();
    let output = output.as_ref().unwrap_or(target.output());
    let pointer = &done.pointer;
    let found = described(output, pointer);
    if found.schemas.is_empty() {
        return say(
            &rules::VERIFY_DONE,
            format!("the output of `{name}` says nothing of `{pointer}`"),
            told(output.properties()),
        );
    }
    match &done.is {
        None if found.is_certain() => say(
            &rules::VERIFY_DONE,
            format!("`{pointer}` is in every answer of `{name}`, so that it is there shows nothing"),
            "say which value shows it: `is = true`".to_owned(),
        ),
        Some(is) if !is_plain(is) => say(
            &rules::VERIFY_DONE,
            format!("`{is}` is no value to compare with"),
            "write a string, a whole number, `true` or `false`".to_owned(),
        ),
        Some(is) if !can_be(&found, is) => say(
            &rules::VERIFY_DONE,
            format!("`{pointer}` in an answer of `{name}` is never `{is}`"),
            "write a value that the schema of the output has there".to_owned(),
        ),
        Some(_) | None => {}
    }
}

/// Whether every language compares the value alike.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Bool(_) | Value::String(_) => true,
        Value::Number(number) => number.is_i64() || number.is_u64(),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

fn can_be(found: &Described<'_>, is: &Value) -> bool {
    let is = json!({"const": is});
    found.schemas.iter().any(|schema| fits(&is, schema))
}

fn told<'a>(members: impl Iterator<Item = &'a str>) -> String {
    let members: Vec<String> = members.map(|member| format!("`/{member}`")).collect();
    match members.as_slice() {
        [] => "name a query whose output has a schema that says what is in it".to_owned(),
        members => format!("point at what it has: {}", members.join(", ")),
    }
}
