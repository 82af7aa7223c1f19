//! MCP over one input and one output: a connection a row, in the legacy era.

use std::{
    io::{self, BufRead as _, BufReader, PipeReader, PipeWriter, Write as _},
    time::Duration,
};

use redress_mcp::RequestContext as Connection;
use redress_wire::mcp::Era;
use tokio::task::{JoinHandle, spawn_blocking};

use super::mcp;
use crate::table::{
    face::{Asking, Face},
    outcome::Outcome,
    rows::Row,
    site::{Site, caller},
};

pub(crate) struct McpStdio;

/// The client's ends of a connection.
struct Client {
    input: PipeWriter,
    output: PipeReader,
    served: JoinHandle<io::Result<()>>,
}

impl Client {
    /// Connects as the caller of `row`, and sends its message.
    fn of(site: &Site, row: &Row) -> Client {
        let (reads, mut input) = io::pipe().unwrap();
        let (output, writes) = io::pipe().unwrap();
        let asking = Connection {
            caller: caller(row.who),
            deadline: row.deadline_ms.map(Duration::from_millis),
            cancellation: Some(site.over.clone()),
            ..Connection::default()
        };
        let face = redress_mcp::Mcp::new(site.registry.clone(), super::super::site::mcp_options()).unwrap();
        let served = tokio::spawn(async move { face.stdio(reads, writes, asking).await });
        writeln!(input, "{}", mcp::message(Era::Legacy, row)).unwrap();
        Client { input, output, served }
    }

    /// Ends the input, and reads all that is still said.
    async fn rest(self) -> Vec<String> {
        drop(self.input);
        let lines = spawn_blocking(|| BufReader::new(self.output).lines().collect::<io::Result<Vec<String>>>());
        let lines = lines.await.unwrap().unwrap();
        self.served.await.unwrap().unwrap();
        lines
    }
}

impl Face for McpStdio {
    fn name(&self) -> &'static str {
        "mcp stdio"
    }

    fn carries(&self, row: &Row) -> bool {
        mcp::carries(row)
    }

    fn ask<'a>(&'a self, site: &'a Site, row: &'a Row) -> Asking<'a, Outcome> {
        Box::pin(async move {
            let lines = Client::of(site, row).rest().await;
            site.check(self.name(), lines.join("\n"));
            let [line] = lines.as_slice() else { panic!("one request has one answer: {lines:?}") };
            mcp::outcome(Era::Legacy, row, &serde_json::from_str(line).unwrap()).0
        })
    }

    fn leave<'a>(&'a self, site: &'a Site, row: &'a Row) -> Asking<'a, Option<Outcome>> {
        Box::pin(async move {
            let mut client = Client::of(site, row);
            site.marks.begun().await;
            let off = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a row"}}"#;
            writeln!(client.input, "{off}").unwrap();
            assert_eq!(client.rest().await, [""; 0], "who calls a request off wants no answer");
            None
        })
    }
}
