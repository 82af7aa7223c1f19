//! The routes, one file for each way of asking.

pub(crate) mod metrics;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
pub(crate) mod document_cache;
pub(crate) mod discovery;
mod deprecated;
mod errors;
mod generic;
mod home;
mod operation;
mod documents;
mod rpc;
mod stream;
mod batch;
mod web_socket;

pub(crate) use errors::errors;
pub(crate) use generic::{batch, call, subscribe};
pub(crate) use home::home;
pub(crate) use operation::{operation, operation_read};
pub(crate) use documents::{document, health, operations};
pub(crate) use rpc::rpc;
pub(crate) use web_socket::web_socket;
