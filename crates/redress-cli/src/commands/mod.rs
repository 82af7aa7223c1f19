//! The commands, a file each.

pub(crate) mod token;
pub(crate) mod serve;
pub(crate) mod quota;
pub(crate) mod ops;
pub(crate) mod new;
pub(crate) mod mcp;
pub(crate) mod generated;
pub(crate) mod explain;
pub(crate) mod doctor;
pub(crate) mod consent;
pub(crate) mod call;
pub(crate) mod audit;
