//! The title or the description of a member is another.

use crate::{
    changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, SchemaPair},
    inclusion::MemberPair,
};

#[doc = include_str!("property_wording.md")]
pub(crate) static PROPERTY_WORDING: ChangeRule = ChangeRule {
    id: "property-wording",
    since: "0.1.0",
    worst: Compatibility::Wording,
    page: include_str!("property_wording.md"),
    check: ChangeCheck::Schema(check),
};

fn check(schemas: &SchemaPair<'_>, changes: &mut ChangesOf) {
    for member in schemas.members.iter().filter(|one| !one.before.is_empty() && !one.after.is_empty()) {
        for word in ["title", "description"] {
            let before = MemberPair::said(&member.before, word);
            let after = MemberPair::said(&member.after, word);
            if before != after {
                let told =
                    |value: Option<&serde_json::Value>| value.map_or_else(|| "none".to_owned(), ToString::to_string);
                let says = format!("its {word} was {}, and is {}", told(before), told(after));
                let help = "read the new words as a model would";
                changes.push(Compatibility::Wording, schemas.place(&member.place), says, help);
            }
        }
    }
}
