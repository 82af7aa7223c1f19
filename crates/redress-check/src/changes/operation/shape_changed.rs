//! A query has become a mutation or a subscription, or the other way round.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("shape_changed.md")]
pub(crate) static SHAPE_CHANGED: ChangeRule = ChangeRule {
    id: "shape-changed",
    since: "0.1.0",
    worst: Compatibility::Breaking,
    page: include_str!("shape_changed.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    if operation.before.shape() != operation.after.shape() {
        let says = format!("it was a {} and is a {}", word(operation.before.shape()), word(operation.after.shape()));
        changes.push(Compatibility::Breaking, operation.name(), says, "give what has another shape another name");
    }
}

fn word(shape: redress_contract::Shape) -> &'static str {
    match shape {
        redress_contract::Shape::Query => "query",
        redress_contract::Shape::Mutation => "mutation",
        redress_contract::Shape::Subscription => "subscription",
    }
}
