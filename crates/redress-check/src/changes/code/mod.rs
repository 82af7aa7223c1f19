//! Codes, which are only ever added.

mod code_forgotten;
mod code_reserved;
mod code_retired;
mod code_returned;

use super::ChangeRule;

/// The rules, those that are met most first.
pub(super) static RULES: [&ChangeRule; 4] = [
    &code_returned::CODE_RETURNED,
    &code_forgotten::CODE_FORGOTTEN,
    &code_retired::CODE_RETIRED,
    &code_reserved::CODE_RESERVED,
];
