//! What is taken where a caller leaves a member out is another value, or none.

use crate::{
    changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, Flow, SchemaPair},
    inclusion::MemberPair,
};

#[doc = include_str!("default_changed.md")]
pub(crate) static DEFAULT_CHANGED: ChangeRule = ChangeRule {
    id: "default-changed",
    since: "0.1.0",
    worst: Compatibility::Breaking,
    page: include_str!("default_changed.md"),
    check: ChangeCheck::Schema(check),
};

fn check(schemas: &SchemaPair<'_>, changes: &mut ChangesOf) {
    for member in schemas.members.iter().filter(|one| !one.before.is_empty() && !one.after.is_empty()) {
        let before = MemberPair::said(&member.before, "default");
        let after = MemberPair::said(&member.after, "default");
        if before == after || schemas.flow == Flow::Given {
            continue;
        }
        let told = |value: Option<&serde_json::Value>| value.map_or_else(|| "none".to_owned(), ToString::to_string);
        let says = format!("its default was {}, and is {}", told(before), told(after));
        let compatibility = if before.is_none() { Compatibility::Compatible } else { Compatibility::Breaking };
        changes.push(compatibility, schemas.place(&member.place), says, "keep the default that callers rely on");
    }
}
