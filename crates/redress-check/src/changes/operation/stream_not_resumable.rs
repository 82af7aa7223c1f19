//! A stream cannot be gone on with after the last item any more.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("stream_not_resumable.md")]
pub(crate) static STREAM_NOT_RESUMABLE: ChangeRule = ChangeRule {
    id: "stream-not-resumable",
    since: "0.1.0",
    worst: Compatibility::Breaking,
    page: include_str!("stream_not_resumable.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    let resumable =
        |side: &redress_contract::OperationDeclaration| side.streaming().is_some_and(|stream| stream.resumable);
    if resumable(operation.before) && !resumable(operation.after) {
        let says = "its stream cannot be gone on with any more";
        changes.push(Compatibility::Breaking, operation.name(), says, "keep it resumable");
    }
}
