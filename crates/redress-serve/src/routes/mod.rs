//! The routes, one file for each way of asking.

mod deprecated;
mod errors;
mod generic;
mod home;
mod operation;
mod reading;
mod rpc;
mod stream;
mod together;
mod web_socket;

pub(crate) use errors::errors;
pub(crate) use generic::{batch, call, subscribe};
pub(crate) use home::home;
pub(crate) use operation::{operation, operation_read};
pub(crate) use reading::{document, health, operations};
pub(crate) use rpc::rpc;
pub(crate) use web_socket::web_socket;
