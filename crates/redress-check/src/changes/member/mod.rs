//! Members of inputs, outputs and details, by name.

mod default_changed;
mod property_added;
mod property_deprecated;
mod property_removed;
mod property_wording;

use super::ChangeRule;

/// The rules, those that are met most first.
pub(super) static RULES: [&ChangeRule; 5] = [
    &property_added::PROPERTY_ADDED,
    &property_removed::PROPERTY_REMOVED,
    &default_changed::DEFAULT_CHANGED,
    &property_deprecated::PROPERTY_DEPRECATED,
    &property_wording::PROPERTY_WORDING,
];
