//! What redress costs, beside its peers: `cargo run --profile bench -p redress-bench -- http`.

#![expect(clippy::print_stderr, reason = "a bench tells what it needs")]

use std::{path::Path, process::ExitCode};

use redress_bench::{documents, gateway, http, import, mcp, ours, production, proxy};

const USAGE: &str = "\
usage: redress-bench http          the HTTP and JSON-RPC faces beside raw axum, dropshot, poem-openapi and jsonrpsee
       redress-bench mcp           the MCP face beside rmcp, FastMCP and the TypeScript SDK
       redress-bench production    the HTTP face with callers, limits, metrics and the audit on, beside all of them off
       redress-bench import [NAME…] reading OpenAPI documents and the first list of their tools, beside FastMCP and
                                   rmcp-openapi; with names, only those documents
       redress-bench gateway       a call through the gateway beside a plain reverse proxy of hyper

Instructions are counted by callgrind: `valgrind` has to be installed.";

/// As the command `redress` has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ended = match words.as_slice() {
        ["http"] => http::run(),
        ["mcp"] => mcp::run(),
        ["production"] => production::run(),
        ["import", names @ ..] => import::run(names),
        ["gateway"] => gateway::run(),
        // What these start as the process that is measured.
        ["stdio"] => {
            ours::stdio();
            Ok(())
        }
        ["server", operations] => match operations.parse() {
            Ok(operations) => {
                ours::serve(operations);
                Ok(())
            }
            Err(_) => return usage(),
        },
        ["document", path] => documents::stdio(Path::new(path)),
        ["all-documents", folder, upstream] => documents::serve(Path::new(folder), upstream),
        ["upstream"] => proxy::upstream(),
        ["proxy", upstream] => proxy::serve(upstream),
        ["gateway-server", upstream] => gateway::serve(upstream),
        ["production-server", folder, parts @ ..] => production::serve(Path::new(folder), parts),
        _ => return usage(),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("redress-bench: {error}");
            ExitCode::from(2)
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}
