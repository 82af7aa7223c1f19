//! Large inputs and outputs are worked on off the async workers, small ones where they are.

use std::{
    borrow::Cow,
    sync::{Condvar, Mutex},
    thread::{self, ThreadId},
    time::Duration,
};

use axum::{body::Body, http};
use redress::{Access, Ctx, NoFailure, Operation, Outcome, Registry, Request, contract, data, operation, serve::Faces};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeStruct as _};
use serde_json::{Value, json};
use tower::ServiceExt as _;

/// From here on something is large.
const LARGE: usize = redress_core::offload::LARGE + 1;

/// Opens when what waits in a decoder may go on.
static GATE: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

/// A text that knows where it was read.
struct Told {
    text: String,
    on: ThreadId,
}

impl<'de> Deserialize<'de> for Told {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Told, D::Error> {
        let text = String::deserialize(deserializer)?;
        assert!(!text.starts_with("panic"), "a decoder at fault");
        if text.starts_with("wait") {
            let open = GATE.0.lock().unwrap();
            // No longer than this, so that a test that fails does not hang.
            drop(GATE.1.wait_timeout_while(open, Duration::from_secs(20), |open| !*open).unwrap());
        }
        Ok(Told { text, on: thread::current().id() })
    }
}

impl JsonSchema for Told {
    fn schema_name() -> Cow<'static, str> {
        "Told".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

/// What is said about it, and where that is written.
struct Telling {
    read_here: bool,
    handled_on: ThreadId,
    padding: String,
}

impl Serialize for Telling {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut telling = serializer.serialize_struct("Telling", 3)?;
        telling.serialize_field("read_here", &self.read_here)?;
        telling.serialize_field("written_here", &(self.handled_on == thread::current().id()))?;
        telling.serialize_field("padding", &self.padding)?;
        telling.end()
    }
}

impl JsonSchema for Telling {
    fn schema_name() -> Cow<'static, str> {
        "Telling".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object"})
    }
}

/// What to tell about.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// A text of any length.
    text: Told,
    /// How long the answer is.
    #[serde(default)]
    padding: usize,
}

/// Tell where things are read and written.
#[operation(query, name = "thread.tell", access(anyone))]
async fn tell(_ctx: &Ctx, input: Asked) -> Outcome<Telling, NoFailure> {
    assert!(!input.text.text.is_empty());
    let here = thread::current().id();
    Ok(Telling { read_here: input.text.on == here, handled_on: here, padding: "a".repeat(input.padding) })
}

/// Nothing but room.
#[data]
struct Room {
    /// Anything.
    room: String,
}

fn registry() -> Registry {
    Registry::builder().add(tell).build().unwrap()
}

async fn called(input: &Value, request: impl FnOnce(Request<'_>) -> Request<'_>) -> Value {
    let input = input.to_string();
    let envelope = registry().call("thread.tell", request(Request::new(input.as_bytes()))).await;
    serde_json::from_slice(&envelope.into_bytes()).unwrap()
}

#[tokio::test]
async fn a_small_input_is_read_where_it_is_handled_and_a_large_one_is_not() {
    let small = called(&json!({"text": "a"}), |request| request).await;
    assert_eq!((&small["result"]["read_here"], &small["result"]["written_here"]), (&json!(true), &json!(true)));
    let large = called(&json!({"text": "a".repeat(LARGE)}), |request| request).await;
    assert_eq!((&large["result"]["read_here"], &large["result"]["written_here"]), (&json!(false), &json!(true)));
}

#[tokio::test]
async fn a_large_output_is_written_off_the_workers() {
    let large = called(&json!({"text": "a", "padding": LARGE}), |request| request).await;
    assert_eq!((&large["result"]["read_here"], &large["result"]["written_here"]), (&json!(true), &json!(false)));
    assert_eq!(large["result"]["padding"].as_str().map(str::len), Some(LARGE));
    // The estimate is that of the whole envelope, wherever it was made.
    let mut payload = large.clone();
    payload.as_object_mut().unwrap().remove("_meta");
    let characters = payload.to_string().chars().count() as u64;
    assert_eq!(large["_meta"]["estimated_tokens"], characters.div_ceil(4));
}

#[tokio::test]
async fn a_decoder_of_a_large_input_that_panics_is_contained() {
    let ended = called(&json!({"text": "panic".repeat(LARGE / 4)}), |request| request).await;
    assert_eq!(ended["code"], "INTERNAL");
}

#[tokio::test]
async fn the_deadline_ends_a_call_whose_input_is_still_read() {
    let input = json!({"text": "wait".repeat(LARGE / 3)});
    let ended = called(&input, |request| request.with_deadline(Duration::from_millis(20))).await;
    *GATE.0.lock().unwrap() = true;
    GATE.1.notify_all();
    assert_eq!((&ended["code"], &ended["retry"]), (&json!("TIMEOUT"), &json!("safe")));
}

#[tokio::test]
async fn a_large_input_is_refused_in_the_same_words_as_a_small_one() {
    let small = called(&json!({"text": 7}), |request| request).await;
    let large = called(&json!({"text": 7, "zz": "a".repeat(LARGE)}), |request| request).await;
    assert_eq!((&small["code"], &large["code"]), (&json!("INVALID_INPUT"), &json!("INVALID_INPUT")));
    assert!(large["details"]["issues"].as_array().unwrap().contains(&small["details"]["issues"][0]), "{large}");
    let no_json = registry().call("thread.tell", Request::new("[".repeat(LARGE).into_bytes())).await;
    assert_eq!(no_json.code(), Some("PAYLOAD_TOO_LARGE"));
}

/// A message of a face, around an input.
type Message = fn(Value) -> Value;

/// Whether the whole answer to this message was made on the thread of the worker.
async fn made_on_worker(path: &str, body: String) -> bool {
    let worker = thread::current().id();
    let declared = contract::OperationDeclaration::query("thread.where")
        .with_summary("Say where this runs.")
        .with_access(Access::anyone())
        .with_input(json!({"type": "object"}));
    let place = Operation::dynamic(declared)
        .with_handler(move |_, _| async move { Ok(json!({"on_worker": thread::current().id() == worker})) });
    let router = Faces::new(Registry::builder().add(place).build().unwrap()).router();
    let mut request = http::Request::post(path)
        .header("host", "127.0.0.1")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .body(Body::from(body))
        .unwrap();
    let peer = std::net::SocketAddr::from(([127, 0, 0, 1], 7));
    request.extensions_mut().insert(axum::extract::ConnectInfo(peer));
    let response = router.oneshot(request).await.unwrap();
    let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    let text = String::from_utf8(body.to_vec()).unwrap();
    let says = |word: &str| text.contains(&format!(r#""on_worker":{word}"#));
    assert!(says("true") != says("false"), "{path}: {text}");
    says("true")
}

#[tokio::test]
async fn a_large_message_is_taken_apart_off_the_workers_on_every_face() {
    let faces: [(&str, Message); 5] = [
        ("/ops/thread/where", |input| input),
        ("/call", |input| json!({"operation": "thread.where", "input": input})),
        ("/batch", |input| json!([{"operation": "thread.where", "input": input}])),
        ("/rpc", |input| json!({"jsonrpc": "2.0", "id": 1, "method": "thread.where", "params": input})),
        ("/mcp", |input| {
            let params = json!({"name": "thread_where", "arguments": input});
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        }),
    ];
    for (path, message) in faces {
        let of = |length: usize| message(json!(Room { room: "a".repeat(length) })).to_string();
        assert!(made_on_worker(path, of(1)).await, "{path}");
        assert!(!made_on_worker(path, of(LARGE)).await, "{path}");
    }
}
