//! `mcp`: the MCP face beside rmcp at its best, FastMCP and the TypeScript SDK.

use std::io;

use crate::{
    client::post,
    ours, peers,
    process::Program,
    scripted, stdio,
    table::{self, Row},
};

const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";

/// Measures every row and prints the tables: over HTTP, then over stdio.
pub fn run() -> io::Result<()> {
    let peers = peers::build()?;
    let scripts = scripted::install()?;
    let rmcp = |tools: usize| Program { path: peers.clone(), arguments: vec!["rmcp".to_owned(), tools.to_string()] };
    let (few, many) = (ours::program(10)?, ours::program(1_000)?);
    let call = |what, program: &Program, version, tool: &str, wanted| Row {
        what,
        program: program.clone(),
        request: tools_call(version, tool),
        wanted,
        counted: 1_000,
        timed: 60,
        beside: None,
    };
    let list = |what, program: &Program, version| Row {
        request: message(version, "tools/list", None, ""),
        counted: 20,
        timed: 1,
        ..call(what, program, version, "", (200, r#""name":"filler_operation_"#, 996))
    };
    // What runs on a virtual machine of its own is not counted, only timed.
    let slow = |row: Row, timed| Row { counted: 0, timed, ..row };
    let beside = |row: Row, other, goal| Row { beside: Some((other, goal)), ..row };
    let (hello, missing) = ((200, "Hello Ada", 2), (200, r#""isError":true"#, 1));
    table::measure(&[
        call("rmcp 2025: success", &rmcp(3), LEGACY, "bench_greet", hello),
        beside(call("redress 2025: success", &few, LEGACY, "bench_greet", hello), "rmcp 2025: success", 0.33),
        call("rmcp 2025: failure", &rmcp(3), LEGACY, "bench_find", missing),
        beside(call("redress 2025: failure", &few, LEGACY, "bench_find", missing), "redress 2025: success", 1.3),
        call("rmcp 2026: success", &rmcp(3), MODERN, "bench_greet", hello),
        beside(call("redress 2026: success", &few, MODERN, "bench_greet", hello), "rmcp 2026: success", 0.33),
        beside(call("redress 2026: failure", &few, MODERN, "bench_find", missing), "redress 2026: success", 1.3),
        Row {
            counted: 10_000,
            ..beside(
                call("redress 2026: success, 1,000 tools", &many, MODERN, "bench_greet", hello),
                "redress 2026: success",
                1.0,
            )
        },
        Row {
            wanted: (200, r#""name":"filler_operation_"#, 997),
            ..list("rmcp 2025: list of 1,000", &rmcp(1_000), LEGACY)
        },
        slow(call("FastMCP: success", &scripts.fastmcp(3), LEGACY, "bench_greet", hello), 4),
        slow(call("TypeScript SDK: success", &scripts.typescript(3), LEGACY, "bench_greet", hello), 4),
        slow(
            Row {
                wanted: (200, r#""name":"filler_operation_"#, 997),
                ..list("FastMCP: list of 1,000", &scripts.fastmcp(1_000), LEGACY)
            },
            1,
        ),
        beside(list("redress 2025: list of 1,000", &many, LEGACY), "FastMCP: list of 1,000", 0.05),
    ])?;
    stdio::measure(&[
        ("rmcp", Program { path: peers.clone(), arguments: vec!["rmcp-stdio".to_owned()] }),
        ("redress", ours::stdio_program()?),
    ])
}

fn tools_call(version: &str, tool: &str) -> Vec<u8> {
    let call = format!(r#""name":"{tool}","arguments":{{"name":"Ada Lovelace","times":3}}"#);
    message(version, "tools/call", Some(tool), &call)
}

/// A request with the headers that its era wants.
fn message(version: &str, method: &str, name: Option<&str>, params: &str) -> Vec<u8> {
    let mut headers = format!("accept: application/json, text/event-stream\r\nmcp-protocol-version: {version}\r\n");
    let mut params = params.to_owned();
    if version == MODERN {
        headers.push_str(&format!("mcp-method: {method}\r\n"));
        headers.extend(name.map(|name| format!("mcp-name: {name}\r\n")));
        let comma = if params.is_empty() { "" } else { "," };
        params.push_str(&format!(
            r#"{comma}"_meta":{{"io.modelcontextprotocol/protocolVersion":"{version}","io.modelcontextprotocol/clientCapabilities":{{}},"io.modelcontextprotocol/clientInfo":{{"name":"redress-bench","version":"1"}}}}"#
        ));
    }
    let body = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{{params}}}}}"#);
    post("/mcp", &headers, &body)
}
