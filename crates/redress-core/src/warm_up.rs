//! What is made once for the whole process, made before the first call needs it.

use crate::{call::logged_cause, hooks::classify, registry::prepared::Prepared};

/// Compiles the tables by which faults are told apart and secrets are taken out of logs, which takes some milliseconds.
/// A server does so off its async workers when it starts, so that the first call that fails keeps nobody waiting. Without
/// it the first such call does.
pub fn warm_up() {
    classify::warm_up();
    logged_cause::warm_up();
    Prepared::warm_up();
}
