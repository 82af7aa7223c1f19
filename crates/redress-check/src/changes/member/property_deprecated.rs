//! A member is marked as on its way out.

use crate::{
    changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, SchemaPair},
    inclusion::{MemberPair, SchemaAt},
};

#[doc = include_str!("property_deprecated.md")]
pub(crate) static PROPERTY_DEPRECATED: ChangeRule = ChangeRule {
    id: "property-deprecated",
    since: "0.1.0",
    worst: Compatibility::Compatible,
    page: include_str!("property_deprecated.md"),
    check: ChangeCheck::Schema(check),
};

fn check(schemas: &SchemaPair<'_>, changes: &mut ChangesOf) {
    let is_deprecated =
        |side: &[SchemaAt<'_>]| MemberPair::said(side, "deprecated") == Some(&serde_json::Value::Bool(true));
    for member in schemas.members.iter().filter(|one| !one.before.is_empty() && !one.after.is_empty()) {
        if !is_deprecated(&member.before) && is_deprecated(&member.after) {
            let help = "say in its description what to use instead";
            changes.push(Compatibility::Compatible, schemas.place(&member.place), "it is deprecated", help);
        }
    }
}
