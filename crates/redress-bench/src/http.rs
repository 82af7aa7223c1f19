//! `http`: the HTTP and JSON-RPC faces beside raw axum, dropshot, poem-openapi and jsonrpsee.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a bench tells its figures")]

use std::{
    io,
    time::{Duration, Instant},
};

use crate::{
    client::{self, Connection, post},
    peers,
    process::{Program, Running},
};

/// The requests whose instructions are counted.
const COUNTED: usize = 1_000;
/// The start of 10,000 operations varies by more than 1,000 requests cost, so more are sent there.
const COUNTED_OF_MANY: usize = 20_000;
const CONNECTIONS: usize = 32;
/// How often the two sides take turns when time is measured.
const ROUNDS: usize = 6;

/// One row: a server, asked one thing.
struct Row {
    what: &'static str,
    server: Server,
    request: Vec<u8>,
    status: u16,
    /// How many calls one request holds.
    calls: usize,
    counted: usize,
    /// The row that this one is measured against, and how much of it is the goal.
    beside: Option<(&'static str, f64)>,
}

#[derive(Clone, Copy)]
enum Server {
    Ours { operations: usize },
    Peer(&'static str),
}

struct Figures {
    instructions: f64,
    cpu_us: f64,
    /// CPU time against that of raw axum, taken in turns with it.
    cpu_ratio: f64,
    resident_mb: f64,
}

/// Measures every row and prints the table.
pub fn run() -> io::Result<()> {
    eprintln!("building the peers' servers (the first time this takes some minutes)");
    let peers = peers::build()?;
    let ours = std::env::current_exe()?;
    let program = |server: Server| match server {
        Server::Ours { operations } => {
            Program { path: ours.clone(), arguments: vec!["server".to_owned(), operations.to_string()] }
        }
        Server::Peer(name) => Program { path: peers.clone(), arguments: vec![name.to_owned()] },
    };
    let rows = rows();
    for row in &rows {
        check(row, &program(row.server))?;
    }
    let control = program(Server::Peer("axum"));
    let mut measured = Vec::with_capacity(rows.len());
    for (place, row) in rows.iter().enumerate() {
        eprintln!("{}/{} {}", place + 1, rows.len(), row.what);
        let program = program(row.server);
        let instructions = program.instructions(&row.request, row.counted)?;
        let (cpu_us, cpu_ratio, resident_mb) = timed(&program, &control, row)?;
        measured.push(Figures { instructions, cpu_us, cpu_ratio, resident_mb });
    }
    print(&rows, &measured);
    start_up(&program(Server::Ours { operations: 1_000 }))
}

fn rows() -> Vec<Row> {
    let greet = r#"{"name":"Ada Lovelace","times":3}"#;
    let orders = orders();
    let rpc =
        |method: &str, params: &str| format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#);
    let batch = |method: &str| format!("[{}]", vec![rpc(method, greet); 50].join(","));
    let http = |what, server, path: &str, body: &str, status| Row {
        what,
        server,
        request: post(path, "", body),
        status,
        calls: 1,
        counted: COUNTED,
        beside: None,
    };
    let ours = Server::Ours { operations: 10 };
    let (axum, dropshot, poem, jsonrpsee) =
        (Server::Peer("axum"), Server::Peer("dropshot"), Server::Peer("poem-openapi"), Server::Peer("jsonrpsee"));
    let beside = |row: Row, other, goal| Row { beside: Some((other, goal)), ..row };
    let fifty = |row: Row| Row { calls: 50, ..row };
    vec![
        http("axum: success", axum, "/greet", greet, 200),
        beside(http("redress: success", ours, "/ops/bench/greet", greet, 200), "axum: success", 1.15),
        http("dropshot: success", dropshot, "/greet", greet, 200),
        http("poem-openapi: success", poem, "/greet", greet, 200),
        http("axum: failure", axum, "/find", greet, 404),
        beside(http("redress: failure, problem document", ours, "/ops/bench/find", greet, 404), "axum: failure", 1.15),
        http("dropshot: failure", dropshot, "/find", greet, 404),
        http("poem-openapi: failure", poem, "/find", greet, 404),
        http("axum: 4 kB", axum, "/total", &orders, 200),
        beside(http("redress: 4 kB", ours, "/ops/bench/total", &orders, 200), "axum: 4 kB", 1.0),
        http("jsonrpsee: success", jsonrpsee, "/", &rpc("bench.greet", greet), 200),
        beside(http("redress /rpc: success", ours, "/rpc", &rpc("bench.greet", greet), 200), "jsonrpsee: success", 0.9),
        http("jsonrpsee: failure", jsonrpsee, "/", &rpc("bench.find", greet), 200),
        beside(http("redress /rpc: failure", ours, "/rpc", &rpc("bench.find", greet), 200), "jsonrpsee: failure", 0.9),
        fifty(http("jsonrpsee: batch of 50", jsonrpsee, "/", &batch("bench.greet"), 200)),
        fifty(beside(
            http("redress /rpc: batch of 50", ours, "/rpc", &batch("bench.greet"), 200),
            "jsonrpsee: batch of 50",
            0.5,
        )),
        fifty(http("jsonrpsee: batch of 50 failures", jsonrpsee, "/", &batch("bench.find"), 200)),
        fifty(beside(
            http("redress /rpc: batch of 50 failures", ours, "/rpc", &batch("bench.find"), 200),
            "jsonrpsee: batch of 50 failures",
            0.5,
        )),
        Row {
            counted: COUNTED_OF_MANY,
            ..beside(
                http(
                    "redress: success, 10,000 operations",
                    Server::Ours { operations: 10_000 },
                    "/ops/bench/greet",
                    greet,
                    200,
                ),
                "redress: success",
                1.03,
            )
        },
    ]
}

fn orders() -> String {
    let order = serde_json::json!({
        "id": "ord-2026-000417", "customer": "c-90125", "quantity": 3, "price": 19.95, "express": true,
        "tags": ["garden", "gift"], "note": "Leave it with the neighbours if nobody opens the door."
    });
    serde_json::json!({ "orders": vec![order; 20] }).to_string()
}

/// A figure for the wrong answer is worth nothing.
fn check(row: &Row, program: &Program) -> io::Result<()> {
    let running = program.start()?;
    let answer = Connection::open(running.address)?.ask(&row.request)?;
    let calls = answer.body.matches(r#""jsonrpc":"2.0""#).count().max(1);
    if answer.status == row.status && calls == row.calls {
        return Ok(());
    }
    Err(io::Error::other(format!("{}: wanted {} and got {answer:?}", row.what, row.status)))
}

/// CPU time of one request in microseconds, the same as a ratio to raw axum's success, and the
/// memory held at the end. The two servers take turns, so that both meet the same disturbances.
fn timed(program: &Program, control: &Program, row: &Row) -> io::Result<(f64, f64, f64)> {
    let (running, beside) = (program.start()?, control.start()?);
    let greet = post("/greet", "", r#"{"name":"Ada Lovelace","times":3}"#);
    let times = if row.calls == 1 { 150 } else { 15 };
    let mut ratios = Vec::with_capacity(ROUNDS);
    let mut all = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let ours = cpu_us(&running, &row.request, times)?;
        let theirs = cpu_us(&beside, &greet, 150)?;
        ratios.push(ours / theirs);
        all.push(ours);
    }
    Ok((median(&mut all), median(&mut ratios), running.resident_mb()?))
}

fn cpu_us(running: &Running, request: &[u8], times: usize) -> io::Result<f64> {
    let before = running.cpu_seconds()?;
    client::load(running.address, request, CONNECTIONS, times)?;
    Ok((running.cpu_seconds()? - before) * 1e6 / (CONNECTIONS * times) as f64)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn print(rows: &[Row], measured: &[Figures]) {
    println!(
        "\n| server and request | instructions | ratio | goal | CPU µs | CPU beside axum's success | RSS MB |\n\
         |---|--:|--:|--:|--:|--:|--:|"
    );
    for (row, figures) in rows.iter().zip(measured) {
        let found = row.beside.and_then(|(name, goal)| {
            let place = rows.iter().position(|other| other.what == name)?;
            Some((figures.instructions / measured[place].instructions, goal))
        });
        let (ratio, goal) = match found {
            Some((ratio, goal)) => (format!("{ratio:.2}"), format!("{goal:.2}")),
            None => (String::new(), String::new()),
        };
        println!(
            "| {} | {:.0} | {ratio} | {goal} | {:.1} | {:.2} | {:.1} |",
            row.what, figures.instructions, figures.cpu_us, figures.cpu_ratio, figures.resident_mb
        );
    }
}

/// From the start of the process to the first call that is answered.
fn start_up(program: &Program) -> io::Result<()> {
    let request = post("/ops/bench/greet", "", r#"{"name":"Ada Lovelace","times":3}"#);
    let mut times = Vec::new();
    for _ in 0..15 {
        let since = Instant::now();
        let running = program.start()?;
        Connection::open(running.address)?.ask(&request)?;
        times.push(since.elapsed().as_secs_f64() * 1e3);
    }
    let least = times.iter().copied().fold(f64::MAX, f64::min);
    let (middle, goal) = (median(&mut times), Duration::from_millis(50).as_millis());
    println!(
        "\nstart to first answered call, 1,000 operations: least {least:.0} ms, median {middle:.0} ms (goal {goal} ms)"
    );
    Ok(())
}
