//! The respects in which schemas differ, two rules each.

use super::Shift;
use crate::{
    changes::{ChangeCheck, ChangeRule, Compatibility},
    inclusion::Facet,
};

/// The rules, those that are met most first.
pub(crate) static RULES: [ChangeRule; 44] = [
    facet("type-narrowed", Shift::Narrowed, Facet::Type, include_str!("type_narrowed.md")),
    facet("type-widened", Shift::Widened, Facet::Type, include_str!("type_widened.md")),
    facet("enum-narrowed", Shift::Narrowed, Facet::Enum, include_str!("enum_narrowed.md")),
    facet("enum-widened", Shift::Widened, Facet::Enum, include_str!("enum_widened.md")),
    facet("bound-narrowed", Shift::Narrowed, Facet::Bound, include_str!("bound_narrowed.md")),
    facet("bound-widened", Shift::Widened, Facet::Bound, include_str!("bound_widened.md")),
    facet("multiple-narrowed", Shift::Narrowed, Facet::Multiple, include_str!("multiple_narrowed.md")),
    facet("multiple-widened", Shift::Widened, Facet::Multiple, include_str!("multiple_widened.md")),
    facet("length-narrowed", Shift::Narrowed, Facet::Length, include_str!("length_narrowed.md")),
    facet("length-widened", Shift::Widened, Facet::Length, include_str!("length_widened.md")),
    facet("pattern-narrowed", Shift::Narrowed, Facet::Pattern, include_str!("pattern_narrowed.md")),
    facet("pattern-widened", Shift::Widened, Facet::Pattern, include_str!("pattern_widened.md")),
    facet("format-narrowed", Shift::Narrowed, Facet::Format, include_str!("format_narrowed.md")),
    facet("format-widened", Shift::Widened, Facet::Format, include_str!("format_widened.md")),
    facet("encoding-narrowed", Shift::Narrowed, Facet::Encoding, include_str!("encoding_narrowed.md")),
    facet("encoding-widened", Shift::Widened, Facet::Encoding, include_str!("encoding_widened.md")),
    facet("property-required", Shift::Narrowed, Facet::Required, include_str!("property_required.md")),
    facet("property-optional", Shift::Widened, Facet::Required, include_str!("property_optional.md")),
    facet("members-closed", Shift::Narrowed, Facet::Additional, include_str!("members_closed.md")),
    facet("members-opened", Shift::Widened, Facet::Additional, include_str!("members_opened.md")),
    facet("member-names-narrowed", Shift::Narrowed, Facet::MemberNames, include_str!("member_names_narrowed.md")),
    facet("member-names-widened", Shift::Widened, Facet::MemberNames, include_str!("member_names_widened.md")),
    facet("member-count-narrowed", Shift::Narrowed, Facet::MemberCount, include_str!("member_count_narrowed.md")),
    facet("member-count-widened", Shift::Widened, Facet::MemberCount, include_str!("member_count_widened.md")),
    facet("dependency-narrowed", Shift::Narrowed, Facet::Dependency, include_str!("dependency_narrowed.md")),
    facet("dependency-widened", Shift::Widened, Facet::Dependency, include_str!("dependency_widened.md")),
    facet("item-count-narrowed", Shift::Narrowed, Facet::ItemCount, include_str!("item_count_narrowed.md")),
    facet("item-count-widened", Shift::Widened, Facet::ItemCount, include_str!("item_count_widened.md")),
    facet("unique-items-narrowed", Shift::Narrowed, Facet::UniqueItems, include_str!("unique_items_narrowed.md")),
    facet("unique-items-widened", Shift::Widened, Facet::UniqueItems, include_str!("unique_items_widened.md")),
    facet("contains-narrowed", Shift::Narrowed, Facet::Contains, include_str!("contains_narrowed.md")),
    facet("contains-widened", Shift::Widened, Facet::Contains, include_str!("contains_widened.md")),
    facet("items-narrowed", Shift::Narrowed, Facet::Items, include_str!("items_narrowed.md")),
    facet("items-widened", Shift::Widened, Facet::Items, include_str!("items_widened.md")),
    facet("alternatives-narrowed", Shift::Narrowed, Facet::Alternatives, include_str!("alternatives_narrowed.md")),
    facet("alternatives-widened", Shift::Widened, Facet::Alternatives, include_str!("alternatives_widened.md")),
    facet("exclusion-narrowed", Shift::Narrowed, Facet::Exclusion, include_str!("exclusion_narrowed.md")),
    facet("exclusion-widened", Shift::Widened, Facet::Exclusion, include_str!("exclusion_widened.md")),
    facet("condition-narrowed", Shift::Narrowed, Facet::Condition, include_str!("condition_narrowed.md")),
    facet("condition-widened", Shift::Widened, Facet::Condition, include_str!("condition_widened.md")),
    facet("unevaluated-narrowed", Shift::Narrowed, Facet::Unevaluated, include_str!("unevaluated_narrowed.md")),
    facet("unevaluated-widened", Shift::Widened, Facet::Unevaluated, include_str!("unevaluated_widened.md")),
    facet("unclear-narrowed", Shift::Narrowed, Facet::Unclear, include_str!("unclear_narrowed.md")),
    facet("unclear-widened", Shift::Widened, Facet::Unclear, include_str!("unclear_widened.md")),
];

const fn facet(id: &'static str, way: Shift, facet: Facet, page: &'static str) -> ChangeRule {
    // Whether it breaks is for the direction to say, and both are possible.
    let is_never_shown = matches!(facet, Facet::Unclear | Facet::Encoding);
    let worst = if is_never_shown { Compatibility::Undecided } else { Compatibility::Breaking };
    ChangeRule { id, since: "0.1.0", worst, page, check: ChangeCheck::Facet(facet, way) }
}
