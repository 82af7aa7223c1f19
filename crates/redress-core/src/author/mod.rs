//! What the author of an operation writes against: functions, their arguments and outcomes, failures, checks.

pub(crate) mod access_check;
pub(crate) mod argument;
pub(crate) mod declare;
pub(crate) mod dynamic_failure;
pub(crate) mod events;
pub(crate) mod fail;
pub(crate) mod failure;
pub(crate) mod handler;
pub(crate) mod operation;
pub(crate) mod plain;
pub(crate) mod secret;
pub(crate) mod verification;
