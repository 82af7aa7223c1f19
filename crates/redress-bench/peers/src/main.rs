//! One peer's server, with the operations that every server in the table has: `greet` answers,
//! `find` fails with a typed not-found and details, `total` reads about 4 kB.
//!
//! It runs on one worker thread, says its address on the first line, and ends when its input does.

mod by_axum;
mod by_dropshot;
mod by_jsonrpsee;
mod by_poem;
mod by_rmcp;
mod order;

use std::{io::Read as _, net::SocketAddr};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime starts");
    if arguments == ["rmcp-stdio"] {
        return runtime.block_on(by_rmcp::stdio());
    }
    // Blocked in the kernel, so it costs the measured requests nothing.
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    runtime.block_on(async {
        match arguments[..] {
            ["axum"] => by_axum::serve().await,
            ["dropshot"] => by_dropshot::serve().await,
            ["jsonrpsee"] => by_jsonrpsee::serve().await,
            ["poem-openapi"] => by_poem::serve().await,
            ["rmcp", tools] => by_rmcp::serve(tools.parse().expect("a number of tools")).await,
            _ => panic!("no such server: axum, dropshot, jsonrpsee, poem-openapi, rmcp TOOLS, rmcp-stdio"),
        }
    });
}

/// Tells where the server listens.
fn listening(address: SocketAddr) {
    println!("{address}");
}
