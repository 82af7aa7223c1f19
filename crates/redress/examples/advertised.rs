//! An example that has no commands of its own, as an MCP server on the standard input and output: `advertised NAME`. It is what
//! `scripts/mcp-converters` reads their tools from. `notes` is not among them: its lines are counted, and its tools take one
//! text each, as those of `tools` do.

use std::{env, error::Error};

use redress::{
    Caller, Registry,
    mcp::{Mcp, McpOptions, RequestContext},
    serve::ws::Peers,
};

macro_rules! examples {
    ($($name:ident at $path:literal,)*) => {
        $(
            #[allow(dead_code, reason = "the example is a program, and only its registry is wanted here")]
            #[path = $path]
            mod $name;
        )*
    };
}

examples! {
    ask at "../../../examples/ask.rs",
    compose at "../../../examples/compose.rs",
    extension at "../../../examples/extension.rs",
    fitted at "../../../examples/fitted.rs",
    mount at "../../../examples/mount.rs",
    quota at "../../../examples/quota.rs",
    retries at "../../../examples/retries.rs",
    streams at "../../../examples/streams.rs",
    tickets at "../../../examples/tickets.rs",
    web_socket at "../../../examples/web_socket.rs",
}

async fn registry(example: &str) -> Result<Registry, Box<dyn Error>> {
    Ok(match example {
        "ask" => ask::registry()?,
        "compose" => compose::registry()?,
        "extension" => extension::started().await,
        "fitted" => fitted::registry()?,
        "mount" => mount::registry()?,
        "quota" => quota::registry()?,
        "retries" => retries::registry(&retries::Bank::default())?,
        "streams" => streams::registry()?,
        "tickets" => tickets::registry()?,
        "web_socket" => web_socket::registry(&Peers::new())?,
        other => return Err(format!("there is no example `{other}`").into()),
    })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let registry = registry(&env::args().nth(1).unwrap_or_default()).await?;
    let asking = RequestContext { caller: Some(Caller::local().into()), ..RequestContext::default() };
    let mut options = McpOptions::default();
    options.subscriptions = true;
    Mcp::new(registry, options)?.standard_io(asking).await?;
    Ok(())
}
