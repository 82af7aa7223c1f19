//! Codes and what is declared about them.

use std::collections::{BTreeMap, BTreeSet};

use redress_contract::{
    Code, EngineCode, FailureDeclaration, Finding, Kind, OperationDeclaration, Recovery, Rule, Schema, Template, Verb,
};

use crate::registry::rules;
use redress_input::InputShape;

pub(super) fn check(operations: &[&OperationDeclaration], codes: &[FailureDeclaration], findings: &mut Vec<Finding>) {
    for operation in operations {
        let mut seen = BTreeSet::new();
        for failure in operation.failures() {
            let mut say = |rule, says: String, help: &str| {
                findings.push(Finding::new(rule, subject(operation, failure), says, help));
            };
            if !seen.insert(failure.code()) {
                say(&rules::DUPLICATE_CODE, "the operation declares this code twice".into(), "remove one of the two");
            }
            namespace(operation, failure, codes, &mut say);
            judge(failure, Some(operation.input()), &mut say);
        }
    }
    meanings(operations, codes, findings);
    // What an extension declares for all its operations is seen above, unless it has none.
    let held: BTreeSet<&Code> =
        operations.iter().flat_map(|operation| operation.failures()).map(FailureDeclaration::code).collect();
    let mut seen = BTreeSet::new();
    for failure in codes.iter().filter(|failure| !held.contains(failure.code())) {
        let mut say = |rule, says: String, help: &str| {
            findings.push(Finding::new(rule, failure.code().as_str(), says, help));
        };
        if !seen.insert(failure.code()) {
            say(&rules::DUPLICATE_CODE, "the extension declares this code twice".into(), "remove one of the two");
        }
        judge(failure, None, &mut say);
    }
}

/// A code of a namespace belongs to that namespace, which has one owner. The guard of an extension takes its codes along
/// to the operations that it covers.
fn namespace(
    operation: &OperationDeclaration,
    failure: &FailureDeclaration,
    codes: &[FailureDeclaration],
    say: &mut impl FnMut(&'static Rule, String, &str),
) {
    if failure.layer().is_some() && codes.iter().any(|code| code.code() == failure.code()) {
        return;
    }
    match failure.code().namespace().filter(|_| Code::new(failure.code().as_str()).is_ok()) {
        Some(namespace) if namespace != operation.name().namespace() => {
            let says = format!("the code is one of the namespace `{namespace}`, and the operation is not");
            say(&rules::CODE_NAMESPACE, says, "write a code without a namespace, and say in it what failed here");
        }
        Some(_) | None => {}
    }
}

/// What a code means, whichever operation says it: what a client that goes by the code alone relies on.
type Meaning = (Kind, u16, bool);

/// One code has one kind, one status and one `retryable`; details, hint and recovery may differ by operation.
fn meanings(operations: &[&OperationDeclaration], codes: &[FailureDeclaration], findings: &mut Vec<Finding>) {
    let declared = operations
        .iter()
        .flat_map(|operation| operation.failures().iter().map(|failure| (format!("`{}`", operation.name()), failure)));
    let declared = declared.chain(codes.iter().map(|failure| ("its extension".to_owned(), failure)));
    let mut first: BTreeMap<&Code, (String, Meaning)> = BTreeMap::new();
    for (who, failure) in declared {
        let meaning = (failure.kind(), failure.http(), failure.retryable());
        let (before, known) = first.entry(failure.code()).or_insert_with(|| (who.clone(), meaning));
        if *known != meaning && *before != who {
            let says = format!("{before} declares it as {}, and {who} as {}", told(*known), told(meaning));
            let help = "give one of them a code of its own, or let both say the same kind, status and `retryable`";
            findings.push(Finding::new(&rules::DIVERGENT_CODE, failure.code().as_str(), says, help));
        }
    }
}

fn told((kind, http, retryable): Meaning) -> String {
    format!("{kind}, {http}, {}", if retryable { "retryable" } else { "not retryable" })
}

/// What is wrong with one failure, of an operation that takes `input`.
fn judge(failure: &FailureDeclaration, input: Option<&Schema>, say: &mut impl FnMut(&'static Rule, String, &str)) {
    code(failure, say);
    numbers(failure, say);
    message(failure, say);
    recovery(failure, input, say);
    if let Err(error) = InputShape::dynamic(failure.details().as_value().clone()) {
        let says = format!("the details schema does not compile: {error}");
        say(&rules::BAD_SCHEMA, says, "correct the schema; it is JSON Schema, draft 2020-12");
    }
}

/// How a finding names a failure of an operation.
pub(super) fn subject(operation: &OperationDeclaration, failure: &FailureDeclaration) -> String {
    format!("{}/{}", operation.name(), failure.code())
}

fn code(failure: &FailureDeclaration, say: &mut impl FnMut(&'static Rule, String, &str)) {
    let code = failure.code();
    if let Err(error) = Code::new(code.as_str()) {
        let help = format!("write `{}`", error.suggestion);
        say(&rules::BAD_CODE, format!("`{code}` is not a code"), &help);
    }
    if EngineCode::parse(code.as_str()).is_some() {
        let says = format!("`{code}` belongs to the engine, which may answer it for any operation");
        say(&rules::ENGINE_CODE, says, "choose a code that says what failed in your own words");
    }
    for parent in failure.extends() {
        if parent == code {
            say(&rules::BAD_LINEAGE, "a failure cannot extend itself".into(), "name a more general code, or none");
        } else if Code::new(parent.as_str()).is_err() {
            let says = format!("it extends `{parent}`, which is not a code");
            say(&rules::BAD_LINEAGE, says, "name a more general code, or none");
        }
    }
}

fn numbers(failure: &FailureDeclaration, say: &mut impl FnMut(&'static Rule, String, &str)) {
    if !(400..=599).contains(&failure.http()) {
        let says = format!("{} is not the status of a failure", failure.http());
        say(&rules::BAD_STATUS, says, "use a status from 400 to 599");
    }
    if let Some(field) = failure.retry_after() {
        if failure.details().property(field).is_none() {
            let says = format!("`retry_after` names `{field}`, which is no public field");
            say(&rules::BAD_RETRY_AFTER, says, "name a public field that holds milliseconds");
        }
        if !failure.retryable() {
            let says = "it says how long to wait, and that waiting does not help".into();
            say(&rules::BAD_RETRY_AFTER, says, "make it retryable, or remove `retry_after`");
        }
    }
}

fn message(failure: &FailureDeclaration, say: &mut impl FnMut(&'static Rule, String, &str)) {
    if failure.when().trim().is_empty() {
        let says = "nothing says when it happens".into();
        say(&rules::NO_WHEN, says, "say in a sentence when it happens: a doc comment, or `with_when`");
    }
    match Template::new(failure.message()) {
        Err(error) => say(&rules::BAD_MESSAGE, error.to_string(), "close every brace, or double it"),
        Ok(template) => {
            for field in template.fields().filter(|field| failure.details().property(field).is_none()) {
                let says = format!("the message has a place for `{field}`, which is no public field");
                say(&rules::BAD_MESSAGE, says, "name a public field of the failure");
            }
        }
    }
}

fn recovery(failure: &FailureDeclaration, input: Option<&Schema>, say: &mut impl FnMut(&'static Rule, String, &str)) {
    let Some(recovery) = failure.recovery() else {
        let says = "nothing says what the caller can do".into();
        return say(&rules::NO_RECOVERY, says, "add a recovery: a verb, and a hint of five words or more");
    };
    if recovery.hint().split_whitespace().count() < Recovery::HINT_WORDS {
        let says = format!("the hint `{}` is too short to act on", recovery.hint());
        say(&rules::SHORT_HINT, says, "tell the caller in five words or more what to do");
    }
    if let Some(place) = Template::place_in(recovery.hint()) {
        let says = format!("the hint has a place for `{place}`, and a hint is shown as it stands");
        say(
            &rules::HINT_TEMPLATE,
            says,
            "put the field into the message, or give the hint where the failure is raised",
        );
    }
    match recovery.verb() {
        Verb::FixInput { pointer } if input.is_some_and(|input| !input.may_hold(pointer)) => {
            let says = format!("`{pointer}` points at nothing in the input");
            say(&rules::RECOVERY_FIELD, says, "point at a member that the input of this operation has");
        }
        Verb::GetAccess { scope } if scope.trim().is_empty() => {
            say(&rules::RECOVERY_SCOPE, "the recovery names no scope".into(), "name the scope that helps");
        }
        Verb::FixInput { .. }
        | Verb::Call { .. }
        | Verb::Verify { .. }
        | Verb::Wait
        | Verb::AskUser
        | Verb::GetAccess { .. }
        | Verb::Stop => {}
    }
}
