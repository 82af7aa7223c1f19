//! The faces, each with how it is asked.

mod batch;
mod call;
pub(crate) mod command;
mod http;
mod in_process;
mod mcp;
mod mcp_stdio;
mod operation;
mod rpc;
mod subscribe;
mod web_socket;

use redress_wire::mcp::Era;

use super::face::Face;

pub(crate) use in_process::InProcess;

/// Every face, the call in process first: it is what the others are compared with.
pub(crate) fn all() -> Vec<Box<dyn Face>> {
    vec![
        Box::new(InProcess),
        Box::new(operation::Operation { by_query: false }),
        Box::new(operation::Operation { by_query: true }),
        Box::new(call::Call),
        Box::new(batch::Batch),
        Box::new(subscribe::Subscribe),
        Box::new(rpc::Rpc { in_batch: false }),
        Box::new(rpc::Rpc { in_batch: true }),
        Box::new(web_socket::WebSocket),
        Box::new(mcp::Mcp { era: Era::Legacy }),
        Box::new(mcp::Mcp { era: Era::Modern }),
        Box::new(mcp_stdio::McpStdio),
        Box::new(command::Command { at_server: false }),
        Box::new(command::Command { at_server: true }),
    ]
}
