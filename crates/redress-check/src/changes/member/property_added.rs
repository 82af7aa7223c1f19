//! A member has a name in a schema that it did not have before, and nobody has to send it.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, SchemaPair};

#[doc = include_str!("property_added.md")]
pub(crate) static PROPERTY_ADDED: ChangeRule = ChangeRule {
    id: "property-added",
    since: "0.1.0",
    worst: Compatibility::Compatible,
    page: include_str!("property_added.md"),
    check: ChangeCheck::Schema(check),
};

fn check(schemas: &SchemaPair<'_>, changes: &mut ChangesOf) {
    for member in schemas.members.iter().filter(|one| one.before.is_empty() && !one.required.1) {
        let address = schemas.place(&member.place);
        changes.push(Compatibility::Compatible, address, "there is a new member", "nothing has to be done");
    }
}
