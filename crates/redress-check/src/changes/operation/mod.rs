//! Operations: which there are, who may call them and under which terms.

mod access_loosened;
mod access_tightened;
mod alias_added;
mod alias_removed;
mod check_added;
mod check_removed;
mod consent_added;
mod consent_removed;
mod content_changed;
mod deadline_lengthened;
mod deadline_shortened;
mod gives_changed;
mod key_added;
mod key_removed;
mod max_input_lowered;
mod max_input_raised;
mod max_output_lowered;
mod max_output_raised;
mod operation_added;
mod operation_deprecated;
mod operation_exposed;
mod operation_hidden;
mod operation_removed;
mod operation_renamed;
mod operation_wording;
mod removal_moved;
mod role_changed;
mod shape_changed;
mod stream_not_resumable;
mod verify_added;
mod verify_removed;

use super::ChangeRule;

/// The rules, those that are met most first.
pub(super) static RULES: [&ChangeRule; 31] = [
    &operation_added::OPERATION_ADDED,
    &operation_removed::OPERATION_REMOVED,
    &operation_renamed::OPERATION_RENAMED,
    &alias_removed::ALIAS_REMOVED,
    &alias_added::ALIAS_ADDED,
    &shape_changed::SHAPE_CHANGED,
    &operation_hidden::OPERATION_HIDDEN,
    &operation_exposed::OPERATION_EXPOSED,
    &access_tightened::ACCESS_TIGHTENED,
    &access_loosened::ACCESS_LOOSENED,
    &consent_added::CONSENT_ADDED,
    &consent_removed::CONSENT_REMOVED,
    &check_added::CHECK_ADDED,
    &check_removed::CHECK_REMOVED,
    &deadline_shortened::DEADLINE_SHORTENED,
    &deadline_lengthened::DEADLINE_LENGTHENED,
    &max_input_lowered::MAX_INPUT_LOWERED,
    &max_input_raised::MAX_INPUT_RAISED,
    &max_output_lowered::MAX_OUTPUT_LOWERED,
    &max_output_raised::MAX_OUTPUT_RAISED,
    &key_removed::KEY_REMOVED,
    &key_added::KEY_ADDED,
    &verify_removed::VERIFY_REMOVED,
    &verify_added::VERIFY_ADDED,
    &content_changed::CONTENT_CHANGED,
    &role_changed::ROLE_CHANGED,
    &gives_changed::GIVES_CHANGED,
    &stream_not_resumable::STREAM_NOT_RESUMABLE,
    &operation_deprecated::OPERATION_DEPRECATED,
    &removal_moved::REMOVAL_MOVED,
    &operation_wording::OPERATION_WORDING,
];
