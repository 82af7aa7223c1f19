//! Failures: which there are, and what each means.

mod failure_added;
mod failure_deprecated;
mod failure_effect_better;
mod failure_effect_worse;
mod failure_kind;
mod failure_not_retryable;
mod failure_refined;
mod failure_removed;
mod failure_retryable;
mod failure_status;
mod failure_wording;
mod lineage_cut;
mod lineage_extended;
mod recovery_added;
mod recovery_changed;
mod recovery_removed;
mod retry_after_added;
mod retry_after_removed;

use super::ChangeRule;

/// The rules, those that are met most first.
pub(super) static RULES: [&ChangeRule; 18] = [
    &failure_added::FAILURE_ADDED,
    &failure_refined::FAILURE_REFINED,
    &failure_removed::FAILURE_REMOVED,
    &failure_kind::FAILURE_KIND,
    &failure_status::FAILURE_STATUS,
    &failure_not_retryable::FAILURE_NOT_RETRYABLE,
    &failure_retryable::FAILURE_RETRYABLE,
    &failure_effect_worse::FAILURE_EFFECT_WORSE,
    &failure_effect_better::FAILURE_EFFECT_BETTER,
    &recovery_removed::RECOVERY_REMOVED,
    &recovery_added::RECOVERY_ADDED,
    &recovery_changed::RECOVERY_CHANGED,
    &retry_after_removed::RETRY_AFTER_REMOVED,
    &retry_after_added::RETRY_AFTER_ADDED,
    &lineage_cut::LINEAGE_CUT,
    &lineage_extended::LINEAGE_EXTENDED,
    &failure_deprecated::FAILURE_DEPRECATED,
    &failure_wording::FAILURE_WORDING,
];
