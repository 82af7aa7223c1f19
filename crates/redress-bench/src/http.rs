//! `http`: the HTTP and JSON-RPC faces beside raw axum, dropshot, poem-openapi and jsonrpsee.

#![expect(clippy::print_stdout, reason = "a bench tells its figures")]

use std::{io, path::Path, time::Instant};

use crate::{
    client::{Connection, post},
    order::orders_json,
    ours, peers,
    process::Program,
    table::{self, Row, median},
};

/// The requests whose instructions are counted.
const COUNTED: usize = 1_000;
/// The start of 10,000 operations varies by more than 1,000 requests cost, so more are sent there.
const COUNTED_OF_MANY: usize = 20_000;
const ACCEPT: &str = "accept: application/json\r\n";
const GREET: &str = r#"{"name":"Ada Lovelace","times":3}"#;

/// Measures every row and prints the table.
pub fn run() -> io::Result<()> {
    let peers = peers::build()?;
    table::measure(&rows(&peers)?)?;
    start_up(&ours::program(1_000)?)
}

fn rows(peers: &Path) -> io::Result<Vec<Row>> {
    let peer = |name: &str| Program { path: peers.to_owned(), arguments: vec![name.to_owned()] };
    let (ours, ours_of_many) = (ours::program(10)?, ours::program(10_000)?);
    let (axum, dropshot, poem, jsonrpsee) = (peer("axum"), peer("dropshot"), peer("poem-openapi"), peer("jsonrpsee"));
    let http = |what, program: &Program, path: &str, body: &str, wanted| Row {
        what,
        program: program.clone(),
        request: post(path, ACCEPT, body),
        wanted,
        counted: COUNTED,
        timed: 150,
        beside: None,
    };
    let beside = |row: Row, other, goal| Row { beside: Some((other, goal)), ..row };
    let fifty = |row: Row| Row { timed: 15, ..row };
    let rpc =
        |method: &str, params: &str| format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#);
    let batch = |method: &str| format!("[{}]", vec![rpc(method, GREET); 50].join(","));
    let (orders, greet, find) = (orders_json(20), rpc("bench.greet", GREET), rpc("bench.find", GREET));
    let (greets, finds) = (batch("bench.greet"), batch("bench.find"));
    let (hello, missing, sum) = ((200, "Hello Ada", 1), (404, r#""PERSON_NOT_FOUND""#, 1), (200, "1197", 1));
    let (no, hellos, noes) = ((200, r#""nobody is"#, 1), (200, "Hello Ada", 50), (200, r#""message":"nobody"#, 50));
    Ok(vec![
        http("axum: success", &axum, "/greet", GREET, hello),
        beside(http("redress: success", &ours, "/ops/bench/greet", GREET, hello), "axum: success", 1.15),
        http("dropshot: success", &dropshot, "/greet", GREET, hello),
        http("poem-openapi: success", &poem, "/greet", GREET, hello),
        http("axum: failure", &axum, "/find", GREET, missing),
        beside(
            http("redress: failure, problem document", &ours, "/ops/bench/find", GREET, missing),
            "axum: failure",
            1.15,
        ),
        http("dropshot: failure", &dropshot, "/find", GREET, missing),
        http("poem-openapi: failure", &poem, "/find", GREET, missing),
        http("axum: 4 kB", &axum, "/total", &orders, sum),
        beside(http("redress: 4 kB", &ours, "/ops/bench/total", &orders, sum), "axum: 4 kB", 1.0),
        http("jsonrpsee: success", &jsonrpsee, "/", &greet, hello),
        beside(http("redress /rpc: success", &ours, "/rpc", &greet, hello), "jsonrpsee: success", 0.9),
        http("jsonrpsee: failure", &jsonrpsee, "/", &find, no),
        beside(
            http("redress /rpc: failure", &ours, "/rpc", &find, (200, r#""message":"nobody"#, 1)),
            "jsonrpsee: failure",
            0.9,
        ),
        fifty(http("jsonrpsee: batch of 50", &jsonrpsee, "/", &greets, hellos)),
        fifty(beside(http("redress /rpc: batch of 50", &ours, "/rpc", &greets, hellos), "jsonrpsee: batch of 50", 0.5)),
        fifty(http("jsonrpsee: batch of 50 failures", &jsonrpsee, "/", &finds, noes)),
        fifty(beside(
            http("redress /rpc: batch of 50 failures", &ours, "/rpc", &finds, noes),
            "jsonrpsee: batch of 50 failures",
            0.5,
        )),
        Row {
            counted: COUNTED_OF_MANY,
            ..beside(
                http("redress: success, 10,000 operations", &ours_of_many, "/ops/bench/greet", GREET, hello),
                "redress: success",
                1.03,
            )
        },
    ])
}

/// From the start of the process to the first call that is answered.
fn start_up(program: &Program) -> io::Result<()> {
    let request = post("/ops/bench/greet", ACCEPT, GREET);
    let mut times = Vec::new();
    for _ in 0..15 {
        let since = Instant::now();
        let running = program.start()?;
        Connection::open(running.address)?.ask(&request)?;
        times.push(since.elapsed().as_secs_f64() * 1e3);
    }
    let least = times.iter().copied().fold(f64::MAX, f64::min);
    let middle = median(&mut times);
    println!(
        "\nstart to first answered call, 1,000 operations: least {least:.0} ms, median {middle:.0} ms (goal 50 ms)"
    );
    Ok(())
}
