//! Declarations that are on their way out: what stands in their place has to be there.

use redress_contract::{FailureDeclaration, Finding, Name, OperationDeclaration};

use super::{failures::subject, recoveries::find};
use crate::registry::rules;

pub(super) fn check(operations: &[&OperationDeclaration], findings: &mut Vec<Finding>) {
    for operation in operations {
        if let Some(replacement) = operation.deprecated().and_then(|deprecation| deprecation.replaced_by.as_deref()) {
            replaced(operation, replacement, operations, findings);
        }
        for failure in operation.failures() {
            if let Some(code) = failure.deprecated().and_then(|deprecation| deprecation.replaced_by.as_deref()) {
                replaced_code(operation, failure, code, findings);
            }
        }
    }
}

fn replaced(
    operation: &OperationDeclaration,
    replacement: &str,
    operations: &[&OperationDeclaration],
    findings: &mut Vec<Finding>,
) {
    let mut say = |says: String, help: String| {
        findings.push(Finding::new(&rules::DEPRECATED_REPLACEMENT, operation.name().as_str(), says, help));
    };
    let found = Name::new(replacement).ok().and_then(|name| find(operations, &name));
    match found {
        None => say(
            format!("it is replaced by `{replacement}`, and there is no such operation"),
            super::recoveries::unregistered(operation, replacement, operations),
        ),
        Some(found) if found.name() == operation.name() => say(
            "it is replaced by itself".to_owned(),
            "name the operation that callers should use instead, or leave `replaced_by` out".to_owned(),
        ),
        Some(_) => {}
    }
}

/// A caller of the same operation meets the new code where it met the old one.
fn replaced_code(
    operation: &OperationDeclaration,
    failure: &FailureDeclaration,
    code: &str,
    findings: &mut Vec<Finding>,
) {
    if operation.failure(code).is_some_and(|found| found.code() != failure.code()) {
        return;
    }
    let says = format!("it is replaced by `{code}`, which the operation does not declare");
    let help = "name another code of the same operation, or leave `replaced_by` out";
    findings.push(Finding::new(&rules::DEPRECATED_REPLACEMENT, subject(operation, failure), says, help));
}
