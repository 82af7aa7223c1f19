//! What refuses a registry: every rule looks at everything, and all findings are told.

mod deprecations;
mod described;
mod failures;
mod fit;
mod impossible;
mod names;
mod operations;
mod reach;
mod recoveries;
mod roles;
mod verifications;

use std::sync::Arc;

use redress_contract::{FailureDeclaration, Finding, Name, OperationDeclaration};
use redress_input::SchemaError;

use super::Builder;
use crate::{Guard, registry::rules};

/// Everything that is wrong with what the builder holds.
pub(super) fn findings(builder: &Builder) -> Vec<Finding> {
    let declarations: Vec<&OperationDeclaration> =
        builder.operations.iter().map(|operation| &operation.declaration).collect();
    let mut findings = Vec::new();
    names::check(&builder.operations, &mut findings);
    failures::check(&declarations, &builder.codes, &mut findings);
    recoveries::check(&declarations, &mut findings);
    reach::check(&declarations, &mut findings);
    operations::check(builder, &mut findings);
    roles::check(&declarations, &mut findings);
    deprecations::check(&declarations, &mut findings);
    impossible::check(&declarations, &mut findings);
    states(builder, &mut findings);
    findings
}

/// State is found by its type, so that of two only one could be found.
fn states(builder: &Builder, findings: &mut Vec<Finding>) {
    findings.extend(builder.states_twice.iter().map(|type_name| {
        let says = format!("it is given two states of type `{type_name}`, and operations would get the second");
        let help = "keep one, or wrap one of them in a type of its own: `struct Archive(Pool)`";
        Finding::new(&rules::DUPLICATE_STATE, "the registry", says, help)
    }));
}

/// The failures that the guards covering `operation` add to its own.
pub(super) fn contributed(guards: &[Arc<dyn Guard>], operation: &OperationDeclaration) -> Vec<FailureDeclaration> {
    let covering = guards.iter().filter(|guard| guard.covers(operation));
    covering.flat_map(|guard| guard.failures().into_iter().map(|failure| failure.with_layer(guard.name()))).collect()
}

pub(super) fn bad_schema(name: &Name, which: &str, error: &SchemaError) -> Finding {
    Finding::new(
        &rules::BAD_SCHEMA,
        name.as_str(),
        format!("the {which} schema does not compile: {error}"),
        "correct the schema; it is JSON Schema, draft 2020-12",
    )
}
