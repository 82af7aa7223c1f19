//! The commands, a file each.

#[cfg(feature = "state")]
pub(crate) mod audit;
pub(crate) mod call;
pub(crate) mod consent;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod generated;
pub(crate) mod mcp;
pub(crate) mod new;
pub(crate) mod ops;
#[cfg(feature = "state")]
pub(crate) mod quota;
pub(crate) mod serve;
pub(crate) mod token;
