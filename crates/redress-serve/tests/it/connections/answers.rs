//! Answers that nobody reads: what is held of them, by every face.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{SinkExt as _, StreamExt as _, stream};
use redress_core::{
    Ctx, EndedCall, Events, Observer, Operation, Progress, Registry,
    contract::{self, Access, Streaming},
};
use redress_serve::{Faces, Server, ServerLimits};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    time::timeout,
};
use tokio_tungstenite::{client_async, tungstenite::Message};

use super::{SOON, Served, Telling, exchange, windows::Client};

const MIB: usize = 1024 * 1024;
/// How large one answer is, and how many are asked for: far more than the system holds for a connection.
const LARGE: usize = MIB;
const CALLS: usize = 60;
/// Of so many calls that are not read, most have not even begun to make their answer.
const MAX: usize = 40;
/// A tool's result holds its output up to three times beside it.
const COPIES: usize = 4;
const CONNECTION: usize = 3 * MIB;
const CALLER: usize = 6 * MIB;
const ALL: usize = 12 * MIB;

/// What the operations and their calls did.
#[derive(Clone, Default)]
struct Marks {
    /// Answers that were made.
    made: Arc<AtomicUsize>,
    /// How often each call ended.
    ended: Arc<Mutex<HashMap<String, Vec<Option<String>>>>>,
}

impl Marks {
    fn made(&self) -> usize {
        self.made.load(Ordering::SeqCst)
    }

    /// How many calls ended well and how many badly, each of them once.
    fn endings(&self) -> (usize, usize) {
        let ended = self.ended.lock().unwrap();
        assert!(ended.values().all(|endings| endings.len() == 1), "{ended:?}");
        let well = ended.values().filter(|endings| endings[0].is_none()).count();
        (well, ended.len() - well)
    }
}

impl Marks {
    /// Waits until so many calls have ended.
    async fn until_ended(&self, calls: usize) {
        let ended = async {
            while self.ended.lock().unwrap().len() < calls {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        assert!(timeout(SOON, ended).await.is_ok(), "{} of {calls}", self.ended.lock().unwrap().len());
    }
}

impl Observer for Marks {
    fn ended(&self, call: &EndedCall<'_>) {
        let code = call.problem.map(|problem| problem.code.to_string());
        self.ended.lock().unwrap().entry(call.request_id.to_string()).or_default().push(code);
    }
}

fn named(operation: contract::OperationDeclaration) -> contract::OperationDeclaration {
    operation.with_summary("Text.").with_access(Access::anyone()).with_input(json!({"type": "object"}))
}

async fn text(ctx: Ctx, input: Value, marks: Marks, reserves: bool) -> Value {
    let length = input["mib"].as_u64().map_or(LARGE, |mib| mib as usize * MIB);
    if reserves {
        // The text, and the answer that is made of it.
        ctx.reserve(2 * length).await;
    }
    ctx.progress(Progress::new(1.0));
    marks.made.fetch_add(1, Ordering::SeqCst);
    json!("x".repeat(length - 2))
}

/// A server of large answers.
async fn large(change: impl FnOnce(&mut ServerLimits)) -> (Served, Marks) {
    let marks = Marks::default();
    let (one, two, three, four) = (marks.clone(), marks.clone(), marks.clone(), marks.clone());
    let reserved = Operation::dynamic(named(contract::OperationDeclaration::query("demo.reserved"))).with_handler(
        move |ctx, input| {
            let marks = one.clone();
            async move { Ok(text(ctx, input, marks, true).await) }
        },
    );
    let learned = Operation::dynamic(named(contract::OperationDeclaration::query("demo.learned"))).with_handler(
        move |ctx, input| {
            let marks = two.clone();
            async move { Ok(text(ctx, input, marks, false).await) }
        },
    );
    let small = Operation::dynamic(named(contract::OperationDeclaration::query("demo.small")))
        .with_handler(|_, _| async { Ok(json!("x")) });
    let limited = named(contract::OperationDeclaration::query("demo.limited").with_max_output(LARGE / 2));
    let limited = Operation::dynamic(limited).with_handler(move |ctx, input| {
        let marks = three.clone();
        async move { Ok(text(ctx, input, marks, false).await) }
    });
    let changed =
        named(contract::OperationDeclaration::mutation("demo.changed").with_max_output(16).with_idempotency_key());
    let changed = Operation::dynamic(changed).with_handler(move |_, _| {
        four.made.fetch_add(1, Ordering::SeqCst);
        async { Ok(json!("what was changed, at length")) }
    });
    let made = Arc::clone(&marks.made);
    let flood = named(contract::OperationDeclaration::subscription("demo.flood").with_streaming(Streaming::default()));
    let flood = Operation::dynamic(flood).with_stream_handler(move |_, _| {
        let made = Arc::clone(&made);
        async move {
            Ok(Events::new(stream::iter(0..).map(move |_| {
                made.fetch_add(1, Ordering::SeqCst);
                Ok(json!("x".repeat(LARGE - 2)))
            })))
        }
    });
    let all = [reserved, learned, small, limited, changed, flood];
    let builder = all.into_iter().fold(Registry::builder(), |builder, operation| builder.add(operation));
    let registry = builder.observer(marks.clone()).build().unwrap();
    let mut limits = ServerLimits::default();
    limits.answer_bytes_per_connection = CONNECTION;
    (limits.answer_bytes_per_caller, limits.answer_bytes) = (CALLER, ALL);
    change(&mut limits);
    let faces = Faces::new(registry).limits(limits).caller(Telling).max_batch(CALLS);
    (Served::of(Server::new(faces).listen("127.0.0.1:0".parse().unwrap())).await, marks)
}

/// A connection whose client has next to no room for what comes.
async fn narrow(served: &Served, from: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(format!("{from}:0").parse().unwrap()).unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.connect(served.tcp()).await.unwrap()
}

fn post(path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\naccept: \
         application/json, text/event-stream\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// Waits until nothing more is made, as there is no room for it: what is held is within its bound, and another caller
/// is answered as ever.
async fn stands_still(served: &Served, marks: &Marks, max: usize) {
    served.until(|stats| stats.waited_answers > 0).await;
    let mut other = narrow(served, "127.0.0.9").await;
    let small = post("/ops/demo/small", "{}");
    assert!(exchange(&mut other, &small).await.starts_with("HTTP/1.1 200"));
    let mut other = narrow(served, "127.0.0.9").await;
    other.write_all(post("/ops/demo/reserved", "{}").as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    timeout(SOON, other.read_to_end(&mut answer)).await.expect("another caller has room").unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200") && answer.len() > LARGE);
    let stats = served.handle.stats();
    // Beside what is not read there was the one answer of the other caller.
    assert!(stats.answer_bytes_peak as usize <= max + 2 * LARGE + MIB, "{stats:?}");
    assert!(marks.made() <= MAX, "{} answers were made", marks.made());
}

/// The body of a whole answer, whose pieces are put together.
async fn whole(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let mut answer = Vec::new();
    timeout(SOON * 3, stream.read_to_end(&mut answer)).await.expect("the answer ends").unwrap();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(answer[..end].to_vec()).unwrap();
    let mut rest = &answer[end + 4..];
    if !head.contains("transfer-encoding: chunked") {
        return (head, rest.to_vec());
    }
    let mut body = Vec::new();
    loop {
        let line = rest.windows(2).position(|two| two == b"\r\n").unwrap();
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
        if length == 0 {
            return (head, body);
        }
        body.extend_from_slice(&rest[line + 2..line + 2 + length]);
        rest = &rest[line + 2 + length + 2..];
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_whose_answers_are_not_read_holds_no_more_than_its_connection_may() {
    for operation in ["demo.reserved", "demo.learned"] {
        for path in ["/batch", "/rpc"] {
            let (served, marks) = large(|_| {}).await;
            // What an operation answers is known from when it has answered once.
            let mut first = narrow(&served, "127.0.0.1").await;
            first.write_all(post("/call", &json!({"operation": operation}).to_string()).as_bytes()).await.unwrap();
            whole(&mut first).await;
            marks.made.store(0, Ordering::SeqCst);
            let member = |id| match path {
                "/rpc" => json!({"jsonrpc": "2.0", "id": id, "method": operation}),
                _ => json!({"operation": operation}),
            };
            let batch: Vec<Value> = (0..CALLS).map(member).collect();
            let mut reader = narrow(&served, "127.0.0.1").await;
            reader.write_all(post(path, &json!(batch).to_string()).as_bytes()).await.unwrap();
            stands_still(&served, &marks, CONNECTION).await;
            let (head, body) = whole(&mut reader).await;
            assert!(head.starts_with("HTTP/1.1 200"), "{head}");
            let answers: Vec<Value> = serde_json::from_slice(&body).unwrap();
            let output = |answer: &Value| answer["result"].as_str().map(str::len);
            assert!(answers.iter().all(|answer| output(answer) == Some(LARGE - 2)), "{path} {operation}");
            assert_eq!(answers.len(), CALLS);
            assert!(path != "/rpc" || answers.iter().enumerate().all(|(id, answer)| answer["id"] == id));
            served.until(|stats| stats.answer_bytes == 0).await;
            assert_eq!(marks.endings(), (CALLS + 3, 0));
            served.end().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_whose_reader_leaves_ends_every_call_once_and_gives_all_room_back() {
    let (served, marks) = large(|_| {}).await;
    let batch = json!(vec![json!({"operation": "demo.reserved"}); CALLS]).to_string();
    let mut reader = narrow(&served, "127.0.0.1").await;
    reader.write_all(post("/batch", &batch).as_bytes()).await.unwrap();
    served.until(|stats| stats.waited_answers > 0).await;
    drop(reader);
    served.until(|stats| stats.answer_bytes == 0 && stats.connections == 0).await;
    marks.until_ended(CALLS).await;
    let (well, badly) = marks.endings();
    assert_eq!(well + badly, CALLS);
    assert!(badly >= CALLS - MAX, "{badly}");
    served.end().await;
}

#[tokio::test]
async fn a_small_batch_is_answered_in_one_piece_that_says_how_long_it_is() {
    let (served, _) = large(|_| {}).await;
    let mut reader = narrow(&served, "127.0.0.1").await;
    let batch = json!(vec![json!({"operation": "demo.small"}); CALLS]).to_string();
    reader.write_all(post("/batch", &batch).as_bytes()).await.unwrap();
    let (head, body) = whole(&mut reader).await;
    assert!(head.contains(&format!("content-length: {}", body.len())), "{head}");
    assert_eq!(serde_json::from_slice::<Vec<Value>>(&body).unwrap().len(), CALLS);
    served.end().await;
}

fn requested(id: usize, operation: &str) -> Message {
    let payload = json!({"operation": operation, "input": {}});
    Message::text(json!({"type": "call.requested", "id": id.to_string(), "payload": payload}).to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_web_socket_that_is_not_read_holds_no_more_than_it_may_and_still_hears_an_abort() {
    for operation in ["demo.reserved", "demo.learned"] {
        let (served, marks) = large(|_| {}).await;
        let stream = narrow(&served, "127.0.0.1").await;
        let (mut socket, _) = client_async("ws://localhost/ws", stream).await.unwrap();
        socket.send(requested(CALLS, operation)).await.unwrap();
        assert!(timeout(SOON, socket.next()).await.unwrap().unwrap().unwrap().len() > LARGE);
        marks.made.store(0, Ordering::SeqCst);
        for id in 0..CALLS {
            socket.send(requested(id, operation)).await.unwrap();
        }
        stands_still(&served, &marks, CONNECTION).await;
        // One more is asked for behind all that wait, and called off.
        let last = (CALLS + 1).to_string();
        socket.send(requested(CALLS + 1, operation)).await.unwrap();
        let abort = json!({"type": "call.aborted", "id": last, "payload": {}});
        socket.send(Message::text(abort.to_string())).await.unwrap();
        let mut ends: HashMap<String, Vec<String>> = HashMap::new();
        while ends.len() < CALLS + 1 {
            let Message::Text(text) = timeout(SOON * 3, socket.next()).await.unwrap().unwrap().unwrap() else {
                continue;
            };
            let message: Value = serde_json::from_str(&text).unwrap();
            let id = message["id"].as_str().unwrap().to_owned();
            ends.entry(id).or_default().push(message["type"].as_str().unwrap().to_owned());
        }
        assert_eq!(ends.remove(&last), Some(vec!["call.aborted".to_owned()]));
        assert!(ends.values().all(|ends| *ends == ["call.responded"]), "{ends:?}");
        served.until(|stats| stats.answer_bytes == 0).await;
        assert_eq!(marks.made(), CALLS + 1, "what was aborted while it waited has not run");
        marks.until_ended(CALLS + 3).await;
        // What is called off before it has begun has nothing to end.
        let (well, badly) = marks.endings();
        assert!(well == CALLS + 3 && badly <= 1, "{well} {badly}");
        drop(socket);
        served.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_web_socket_whose_client_never_reads_is_closed_like_any_other_reader() {
    let (served, marks) = large(|limits| limits.write_time = Duration::from_millis(300)).await;
    let (mut socket, _) = client_async("ws://localhost/ws", narrow(&served, "127.0.0.1").await).await.unwrap();
    for id in 0..CALLS {
        socket.send(requested(id, "demo.reserved")).await.unwrap();
    }
    served.until(|stats| (stats.slow_readers, stats.sockets, stats.answer_bytes) == (1, 0, 0)).await;
    marks.until_ended(CALLS).await;
    let (well, badly) = marks.endings();
    assert_eq!(well + badly, CALLS);
    served.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_of_http2_that_opens_no_window_holds_no_more_than_its_connection_may() {
    for path in ["/ops/demo/reserved", "/ops/demo/learned"] {
        let (served, marks) = large(|_| {}).await;
        let mut first = narrow(&served, "127.0.0.1").await;
        first.write_all(post(path, "{}").as_bytes()).await.unwrap();
        whole(&mut first).await;
        marks.made.store(0, Ordering::SeqCst);
        let mut client = Client::of(&served, 0).await;
        let mut answers = Vec::new();
        for _ in 0..CALLS {
            answers.push(client.begin(path, "{}").await.unwrap());
        }
        stands_still(&served, &marks, CONNECTION).await;
        // On this face nothing goes to the system that its reader has no window for.
        assert!(marks.made() <= 5, "{}", marks.made());
        drop((answers, client));
        served.until(|stats| stats.answer_bytes == 0 && stats.connections == 0).await;
        marks.until_ended(CALLS + 3).await;
        let (well, badly) = marks.endings();
        assert_eq!(well + badly, CALLS + 3);
        served.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_that_are_not_read_hold_no_more_than_their_connections_may() {
    let (served, marks) = large(|_| {}).await;
    let mut readers = Vec::new();
    for _ in 0..4 {
        let mut reader = narrow(&served, "127.0.0.1").await;
        reader.write_all(post("/ops/demo/flood", "{}").as_bytes()).await.unwrap();
        readers.push(reader);
    }
    served.until(|stats| stats.waited_answers >= 4).await;
    let stats = served.handle.stats();
    assert!(stats.answer_bytes_peak as usize <= CALLER, "{stats:?}");
    drop(readers);
    served.until(|stats| (stats.answer_bytes, stats.streams) == (0, 0)).await;
    marks.until_ended(4).await;
    assert_eq!(marks.endings(), (0, 4));
    served.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_connections_of_one_caller_hold_no_more_than_it_may_and_all_together_no_more_than_there_is() {
    // More than the system holds for a connection.
    let input = json!({"mib": 6});
    for path in ["/ops/demo/reserved", "/call", "/rpc", "/mcp"] {
        let (served, marks) = large(|limits| limits.answer_bytes = 4 * ALL).await;
        let body = match path {
            "/call" => json!({"operation": "demo.reserved", "input": input}),
            "/rpc" => json!({"jsonrpc": "2.0", "id": 1, "method": "demo.reserved", "params": input}),
            "/mcp" => json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                             "params": {"name": "demo_reserved", "arguments": input}}),
            _ => input.clone(),
        };
        let mut readers = Vec::new();
        for _ in 0..8 {
            let mut reader = narrow(&served, "127.0.0.1").await;
            reader.write_all(post(path, &body.to_string()).as_bytes()).await.unwrap();
            readers.push(reader);
        }
        // One that is being made has room for its text too, and what the operation is known for is 6 MiB by now.
        let copies = if path == "/mcp" { COPIES } else { 1 };
        stands_still(&served, &marks, (12 + 6) * copies * MIB).await;
        // What has gone to the connection and is not read is held for as long as that.
        for _ in 0..100 {
            let mut other = narrow(&served, "127.0.0.9").await;
            assert!(exchange(&mut other, &post("/ops/demo/small", "{}")).await.starts_with("HTTP/1.1 200"));
        }
        assert!(marks.made() <= 3, "{path} {}", marks.made());
        for other in 2..8 {
            let mut reader = narrow(&served, &format!("127.0.0.{other}")).await;
            reader.write_all(post(path, &body.to_string()).as_bytes()).await.unwrap();
            readers.push(reader);
        }
        let stats = served.handle.stats();
        assert!(stats.answer_bytes_peak as usize <= (4 * ALL).max((12 + 6) * copies * MIB), "{path} {stats:?}");
        drop(readers);
        served.until(|stats| stats.answer_bytes == 0 && stats.connections == 0).await;
        marks.endings();
        served.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_whose_answers_are_not_read_holds_no_more_than_its_caller_may() {
    // As a body of JSON, and as the last event of a stream.
    for meta in [json!({}), json!({"progressToken": 1})] {
        let (served, marks) = large(|limits| limits.write_time = SOON).await;
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": {}});
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}).to_string();
        let mut opening = narrow(&served, "127.0.0.1").await;
        opening.write_all(post("/mcp", &hello).as_bytes()).await.unwrap();
        let (head, _) = whole(&mut opening).await;
        let session = head.lines().find(|line| line.starts_with("mcp-session-id: ")).expect("there is a session");
        let within = |request: String| request.replacen("\r\n", &format!("\r\n{session}\r\n"), 1);
        let mut readers = Vec::new();
        for id in 1..=8 {
            let params = json!({"name": "demo_reserved", "arguments": {"mib": 6}, "_meta": meta});
            let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string();
            let mut reader = narrow(&served, "127.0.0.1").await;
            reader.write_all(within(post("/mcp", &call)).as_bytes()).await.unwrap();
            readers.push(reader);
        }
        stands_still(&served, &marks, (12 + 6) * COPIES * MIB).await;
        assert!(marks.made() <= 3, "{}", marks.made());
        // One is read after all, in its whole length.
        let mut read = Vec::new();
        for reader in &mut readers {
            if let Ok(Ok(length)) = timeout(Duration::from_millis(100), reader.peek(&mut [0; 64])).await
                && length > 0
            {
                let (head, body) = whole(reader).await;
                assert!(body.len() > 6 * MIB, "{head}");
                read.push(head);
                break;
            }
        }
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].contains("text/event-stream"), meta["progressToken"] == 1, "{read:?}");
        drop(readers);
        // A call of a session outlives its connection, and ends with the session.
        let mut ending = narrow(&served, "127.0.0.1").await;
        let end = within("DELETE /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".to_owned());
        assert!(exchange(&mut ending, &end).await.starts_with("HTTP/1.1 204"));
        served.until(|stats| stats.answer_bytes == 0 && stats.connections == 0).await;
        marks.endings();
        served.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_finds_no_room_in_its_time_has_not_run_and_may_be_made_again() {
    let (served, marks) = large(|_| {}).await;
    let (mut clients, mut held) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let mut client = Client::of(&served, 0).await;
        for _ in 0..5 {
            held.push(client.begin("/ops/demo/learned", "{}").await.unwrap());
        }
        clients.push(client);
    }
    // Three connections have more than one caller may have.
    served.until(|stats| stats.answer_bytes as usize > CALLER - LARGE && stats.waited_answers > 3).await;
    let late = post("/call", r#"{"operation":"demo.learned"}"#)
        .replace("connection: close", "connection: close\r\nredress-deadline-ms: 1000");
    let mut answered = 0;
    // What is only being made holds more than what was made, so at first there may be room again in a moment.
    let (head, body) = loop {
        let mut other = narrow(&served, "127.0.0.1").await;
        other.write_all(late.as_bytes()).await.unwrap();
        let (head, body) = whole(&mut other).await;
        if !head.starts_with("HTTP/1.1 200") || answered > CALLS {
            break (head, body);
        }
        answered += 1;
    };
    let told: Value = serde_json::from_slice(&body).unwrap();
    assert!(head.starts_with("HTTP/1.1 503") && head.contains("retry-after: 1"), "{head} {told}");
    assert_eq!(
        (&told["code"], &told["retry"], &told["effect"]),
        (&"OVERLOADED".into(), &"safe".into(), &"none".into())
    );
    assert_eq!(told["details"], json!({"limit": "answer_bytes", "per": "caller"}));
    assert!(served.handle.stats().refused_answers >= 1);
    assert!(marks.made() <= 15 + answered, "the late one has not run");
    drop((held, clients));
    served.end().await;
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_not_given_and_a_change_is_not_made_again_for_it() {
    let (served, marks) = large(|_| {}).await;
    let ask = async |path: &str, body: Value, headers: &str| {
        let mut stream = narrow(&served, "127.0.0.1").await;
        let request =
            post(path, &body.to_string()).replace("connection: close", &format!("connection: close{headers}"));
        stream.write_all(request.as_bytes()).await.unwrap();
        let (head, body) = whole(&mut stream).await;
        let json: Value = serde_json::from_slice(&body).unwrap();
        (head, json)
    };
    let sizes =
        |details: &Value| (details["limit_bytes"].as_u64(), details["size_bytes"].as_u64() > Some(LARGE as u64 / 2));
    let limit = (Some(LARGE as u64 / 2), true);
    let (head, told) = ask("/ops/demo/limited", json!({}), "").await;
    assert!(head.starts_with("HTTP/1.1 422"), "{head}");
    assert_eq!(
        (&told["code"], &told["effect"], sizes(&told["details"])),
        (&"RESULT_TOO_LARGE".into(), &"none".into(), limit)
    );
    assert_eq!(told["retry"], "after_fix");
    let (_, told) = ask("/batch", json!([{"operation": "demo.limited"}]), "").await;
    assert_eq!(told[0]["code"], "RESULT_TOO_LARGE");
    let (_, told) = ask("/rpc", json!({"jsonrpc": "2.0", "id": 1, "method": "demo.limited"}), "").await;
    assert_eq!((&told["error"]["code"], sizes(&told["error"]["data"]["details"])), (&json!(-32007), limit));
    marks.made.store(0, Ordering::SeqCst);
    for _ in 0..2 {
        let (head, told) = ask("/ops/demo/changed", json!({}), "\r\nidempotency-key: one").await;
        assert!(head.starts_with("HTTP/1.1 422"), "{head}");
        assert_eq!((&told["retry"], &told["effect"]), (&"never".into(), &"unknown".into()));
    }
    assert_eq!(marks.made(), 1, "the same key runs once");
    assert_eq!(served.handle.stats().answer_bytes, 0);
    served.end().await;
}
