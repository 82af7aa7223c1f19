//! Makes a table of calls with the protocol's own Rust library, as one of the clients that
//! `scripts/mcp-clients` compares: `calls CALLS http URL MODE` or `calls CALLS stdio COMMAND MODE`, where MODE is
//! `legacy` or `modern`. Prints what the caller got, one JSON object a line.
#![expect(clippy::print_stdout, reason = "what it prints is what it is for")]

use std::{error::Error, fs, process::Stdio, time::Duration};

use rmcp::{
    ClientLifecycleMode, ClientServiceExt as _, RoleClient, ServiceError,
    model::{CallToolRequestParams, ClientConfig, ProtocolVersion},
    service::RunningService,
    transport::{StreamableHttpClientTransport, TokioChildProcess},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::{process::Command, time::timeout};

#[derive(Deserialize)]
struct Table {
    calls: Vec<Call>,
}

#[derive(Deserialize)]
struct Call {
    name: String,
    tool: String,
    arguments: Map<String, Value>,
}

const PATIENCE: Duration = Duration::from_secs(10);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [calls, over, server, mode] = words.as_slice() else { return Err("four words are needed".into()) };
    let table: Table = serde_json::from_slice(&fs::read(calls)?)?;
    let client = timeout(PATIENCE, connect(over, server, mode)).await??;
    let agreed = client.peer_info().map(|info| info.protocol_version.to_string());
    let version = agreed.ok_or("the server has told no version")?;
    let listed = timeout(PATIENCE, client.list_tools(None)).await??;
    print("tools/list", &version, json!({"result": listed}));
    for call in table.calls {
        let params = CallToolRequestParams::new(call.tool).with_arguments(call.arguments);
        match timeout(PATIENCE, client.call_tool(params)).await? {
            Ok(result) => print(&call.name, &version, json!({"result": result})),
            Err(ServiceError::McpError(error)) => print(&call.name, &version, json!({"raised": error})),
            Err(other) => return Err(other.into()),
        }
    }
    client.cancel().await?;
    Ok(())
}

async fn connect(
    over: &str,
    server: &str,
    mode: &str,
) -> Result<RunningService<RoleClient, ClientConfig>, Box<dyn Error>> {
    let mode = match mode {
        "legacy" => ClientLifecycleMode::Initialize,
        _ => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
    };
    Ok(match over {
        "http" => {
            let transport = StreamableHttpClientTransport::from_uri(server.to_owned());
            ClientConfig::default().serve_with_lifecycle(transport, mode).await?
        }
        _ => {
            let mut command = Command::new(server);
            command.arg("mcp").stderr(Stdio::null()).kill_on_drop(true);
            ClientConfig::default().serve_with_lifecycle(TokioChildProcess::new(command)?, mode).await?
        }
    })
}

fn print(call: &str, version: &str, mut line: Value) {
    line["call"] = call.into();
    line["version"] = version.into();
    println!("{line}");
}
