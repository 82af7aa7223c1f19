//! A real process, spoken to line by line.

use std::{path::PathBuf, process::Stdio, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

use crate::service::{LEGACY, MODERN, failure};

/// The server of the examples, which cargo builds with the tests.
fn server() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    tests.parent().and_then(|deps| deps.parent()).unwrap().join("examples/demo")
}

pub(crate) fn command() -> Command {
    let mut command = Command::new(server());
    command.stderr(Stdio::null()).kill_on_drop(true);
    command
}

struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start() -> Process {
        let mut child = command().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()).lines());
        Process { child, input, output }
    }

    async fn send(&mut self, line: impl AsRef<[u8]>) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_ref()).await.unwrap();
        input.write_all(b"\n").await.unwrap();
    }

    async fn ask(&mut self, id: Value, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()).await;
    }

    async fn next(&mut self) -> Value {
        let line = timeout(Duration::from_secs(20), self.output.next_line()).await.unwrap().unwrap().unwrap();
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
        assert_eq!(message["jsonrpc"], "2.0");
        message
    }

    /// The answers to what was asked, until the output ends.
    async fn rest(mut self) -> Vec<Value> {
        self.input = None;
        let mut rest = Vec::new();
        while let Some(line) = timeout(Duration::from_secs(20), self.output.next_line()).await.unwrap().unwrap() {
            rest.push(serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}")));
        }
        assert!(self.child.wait().await.unwrap().success());
        rest
    }
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

#[tokio::test]
async fn both_eras_are_spoken_on_one_line_after_another() {
    let mut process = Process::start();
    let hello = json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    process.ask(json!("a"), "initialize", hello).await;
    let hello = process.next().await;
    assert_eq!((&hello["id"], &hello["result"]["protocolVersion"]), (&json!("a"), &json!(LEGACY)));
    process.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    process.ask(json!(1), "tools/call", json!({"name": "demo_find"})).await;
    let found = process.next().await;
    assert_eq!(failure(&found["result"])["code"], "THING_MISSING");
    assert_eq!(found["result"].get("resultType"), None);
    process.ask(json!(2), "server/discover", json!({"_meta": meta()})).await;
    assert_eq!(process.next().await["result"]["resultType"], "complete");
    process.ask(json!(3), "tools/call", json!({"name": "demo_number", "_meta": meta()})).await;
    assert_eq!(process.next().await["result"]["structuredContent"], 7);
    process.ask(json!(4), "server/discover", json!({})).await;
    assert_eq!(process.next().await["error"]["code"], -32602);
    let mut future = meta();
    future["io.modelcontextprotocol/protocolVersion"] = "2099-01-01".into();
    process.ask(json!(5), "tools/list", json!({"_meta": future})).await;
    assert_eq!(process.next().await["error"]["code"], -32022);
    process.ask(json!(6), "no/such", json!({})).await;
    assert_eq!(process.next().await["error"]["code"], -32601);
    assert!(process.rest().await.is_empty());
}

#[tokio::test]
async fn a_request_that_is_called_off_gets_no_answer_and_others_do() {
    let mut process = Process::start();
    process.ask(json!("waits"), "tools/call", json!({"name": "demo_wait"})).await;
    process.ask(json!("waits"), "tools/call", json!({"name": "demo_number"})).await;
    assert_eq!(process.next().await["error"]["code"], -32600, "an id stands for one request");
    process.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"waits"}}"#).await;
    process.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"other"}}"#).await;
    process.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#).await;
    process.ask(json!(2), "tools/call", json!({"name": "demo_number"})).await;
    assert_eq!(process.next().await["id"], 2);
    assert!(process.rest().await.is_empty(), "and the process ends at once, so nothing runs any more");
}

#[tokio::test]
async fn many_requests_run_at_once_and_each_is_answered_once() {
    let mut process = Process::start();
    for id in 0..200 {
        let tool = if id % 3 == 0 { "demo_slow" } else { "demo_greet" };
        process.ask(json!(id), "tools/call", json!({"name": tool, "arguments": {"name": "Ada"}})).await;
    }
    let mut ids: Vec<u64> = process.rest().await.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..200).collect::<Vec<_>>());
}

#[tokio::test]
async fn progress_comes_before_the_result() {
    let mut process = Process::start();
    let params = json!({"name": "demo_count", "arguments": {"to": 3}, "_meta": {"progressToken": 0}});
    process.ask(json!(1), "tools/call", params).await;
    let told = process.next().await;
    assert_eq!((&told["method"], &told["params"]["progressToken"]), (&json!("notifications/progress"), &json!(0)));
    let answers = process.rest().await;
    assert_eq!(answers.last().unwrap()["result"]["structuredContent"]["items"], json!([1, 2, 3]));
}

#[tokio::test]
async fn what_a_handler_reports_comes_in_order_and_only_forward() {
    let mut process = Process::start();
    process.ask(json!(1), "tools/call", json!({"name": "demo_steps", "_meta": {"progressToken": "t"}})).await;
    let mut answers = process.rest().await;
    let result = answers.pop().unwrap();
    assert_eq!(result["result"]["structuredContent"], json!({"done": true}));
    let steps: Vec<f64> = answers.iter().map(|told| told["params"]["progress"].as_f64().unwrap()).collect();
    assert_eq!(steps, [1.0, 2.0, 3.0]);
    assert_eq!(answers[0]["params"]["total"], 3.0);
}

#[tokio::test]
async fn the_output_holds_messages_only_whatever_operations_print_or_panic() {
    let mut child = command().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let tools = ["demo_panic", "demo_fault", "demo_find", "demo_greet", "demo_slow", "demo_count", "demo_unknown"];
    for (id, tool) in tools.iter().cycle().take(70).enumerate() {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool}});
        input.write_all(format!("{request}\nnot json\n").as_bytes()).await.unwrap();
    }
    drop(input);
    let output = timeout(Duration::from_secs(30), child.wait_with_output()).await.unwrap().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let messages: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(messages.len(), 140);
    assert!(messages.iter().all(|message| message["jsonrpc"] == "2.0"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("printed by an operation") && stderr.contains("panicked"), "the rest is told elsewhere");
    assert!(stderr.contains("TRACE") || stderr.contains("DEBUG") || stderr.contains("ERROR"), "{stderr}");
}

#[tokio::test]
async fn hostile_lines_are_told_so_and_the_next_one_is_answered() {
    let mut process = Process::start();
    for (line, code) in [
        ("{".to_owned(), -32700),
        ("\u{1}".to_owned(), -32700),
        ("7".to_owned(), -32600),
        ("[]".to_owned(), -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#.to_owned(), -32600),
        (r#"{"jsonrpc":"2.0","id":[],"method":"ping"}"#.to_owned(), -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}"#.to_owned(), -32602),
        (format!("{}{}", "[".repeat(50_000), "]".repeat(50_000)), -32600),
        ("x".repeat(400_000), -32600),
    ] {
        process.send(&line).await;
        let shown: String = line.chars().take(60).collect();
        assert_eq!(process.next().await["error"]["code"], code, "{shown}");
    }
    process.send([0xff, 0xfe]).await;
    assert_eq!(process.next().await["error"]["code"], -32700);
    process.send(r#"{"jsonrpc":"2.0","id":9,"result":{}}"#).await;
    process.send("").await;
    process.ask(json!(1), "ping", json!({})).await;
    assert_eq!(process.next().await["result"], json!({}), "answers and empty lines get none");
}
