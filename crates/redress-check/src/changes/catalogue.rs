//! Every rule about changes.

use super::{ChangeRule, code, failure, member, operation, schema};

/// Every rule about changes: failures and operations first, then what is within schemas.
pub fn change_rules() -> impl Iterator<Item = &'static ChangeRule> {
    let named = failure::RULES.iter().chain(&operation::RULES).chain(&code::RULES).chain(&member::RULES);
    named.copied().chain(&schema::RULES)
}

/// The rule of this id.
///
/// ```
/// assert!(redress_check::change_rule("failure-added").is_some_and(|rule| rule.page().starts_with("# failure-added")));
/// ```
pub fn change_rule(id: &str) -> Option<&'static ChangeRule> {
    change_rules().find(|rule| rule.id() == id)
}
