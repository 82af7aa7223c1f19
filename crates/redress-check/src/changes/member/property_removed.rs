//! A member that a schema named is not named any more.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, Flow, SchemaPair};

#[doc = include_str!("property_removed.md")]
pub(crate) static PROPERTY_REMOVED: ChangeRule = ChangeRule {
    id: "property-removed",
    since: "0.1.0",
    worst: Compatibility::Breaking,
    page: include_str!("property_removed.md"),
    check: ChangeCheck::Schema(check),
};

fn check(schemas: &SchemaPair<'_>, changes: &mut ChangesOf) {
    for member in schemas.members.iter().filter(|one| one.after.is_empty()) {
        let obstacle = schemas.breaking().iter().find(|one| one.place == member.place);
        let witness = obstacle.and_then(|obstacle| schemas.witness(obstacle));
        let says = match schemas.flow {
            Flow::Taken => "it is not taken any more",
            Flow::Given => "it is not given any more",
        };
        let help = "keep the member, deprecated, for one major version";
        changes.push_shown(Compatibility::Breaking, schemas.place(&member.place), says, help, witness);
    }
}
