//! An MCP server on the standard input and output, with one of everything: what the tests start.

#[path = "../tests/it/demo.rs"]
#[allow(dead_code, clippy::unwrap_used, reason = "the tests use the rest, and what cannot go on has failed")]
mod demo;

use std::sync::Arc;

use redress_core::{contract::Caller, testing::Canary};
use redress_mcp::{Mcp, McpOptions, RequestContext};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // As loud as can be, on the error stream.
    tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(std::io::stderr)
        .init();
    let registry = demo::registry(&Canary::new(), &Arc::default());
    let asking = RequestContext { caller: Some(Caller::local().into()), ..RequestContext::default() };
    let mut options = McpOptions::default();
    options.subscriptions = true;
    Mcp::new(registry, options)?.standard_io(asking).await?;
    Ok(())
}
