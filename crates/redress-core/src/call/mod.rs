//! What one call is made of: the request, its context, what it tells and asks, and what its answer may hold.

pub(crate) mod ask;
pub(crate) mod budget;
pub(crate) mod call_failed;
pub(crate) mod changes;
pub(crate) mod client_prefix;
pub(crate) mod compose;
pub(crate) mod ctx;
pub(crate) mod encode;
pub(crate) mod face;
pub(crate) mod fault;
pub(crate) mod logged_cause;
pub(crate) mod measure;
pub(crate) mod next_call;
pub(crate) mod progress;
pub(crate) mod request;
