//! The routes, one file for each way of asking.

mod batch;
mod deprecated;
pub(crate) mod discovery;
pub(crate) mod document_cache;
mod documents;
mod errors;
mod generic;
mod home;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
pub(crate) mod metrics;
mod operation;
mod rpc;
mod stream;
pub(crate) mod table;
mod web_socket;

pub(crate) use documents::{document, health, operations};
pub(crate) use errors::errors;
pub(crate) use generic::{batch, call, subscribe};
pub(crate) use home::home;
pub(crate) use operation::{operation, operation_read};
pub(crate) use rpc::rpc;
pub(crate) use web_socket::web_socket;
