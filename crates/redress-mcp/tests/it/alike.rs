//! A request is answered alike on its own, as one that wants to be told of progress, and in a session.

use serde_json::{Value, json};

use crate::{
    events::Client,
    service::{Answer, LEGACY, MODERN, Running},
};

/// What differs from call to call, and the session, which not every way has.
fn settled(mut value: Value) -> Value {
    fn settle(value: &mut Value) {
        match value {
            Value::Object(members) => {
                members.retain(|name, _| !matches!(name.as_str(), "request_id" | "elapsed_ms" | "session_id"));
                members.values_mut().for_each(settle);
            }
            Value::Array(values) => values.iter_mut().for_each(settle),
            Value::String(text) if text.contains("request_id") => {
                let (sentence, json) = text.split_once('\n').unwrap();
                let mut json: Value = serde_json::from_str(json).unwrap();
                settle(&mut json);
                *text = format!("{sentence}\n{json}");
            }
            Value::String(text) if text.starts_with(['{', '[']) => {
                *text = serde_json::from_str::<Value>(text).unwrap().to_string();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    settle(&mut value);
    value
}

/// The answer in a body of JSON, or the last message of a stream.
fn message(answer: &Answer) -> Value {
    let last = answer.text.lines().rev().find_map(|line| line.strip_prefix("data: "));
    serde_json::from_str(last.unwrap_or(&answer.text)).unwrap_or_else(|_| panic!("{answer:?}"))
}

#[tokio::test]
async fn every_way_answers_alike() {
    let running = Running::start().await;
    let client = Client::begin(&running, LEGACY).await;
    let call = |tool: &str, arguments: Value| ("tools/call", json!({"name": tool, "arguments": arguments}));
    let asked = [
        call("demo_greet", json!({"name": "Ada \"ä\" \u{1f980}\n"})),
        call("demo_number", json!({})),
        call("demo_find", json!({})),
        call("demo_greet", json!({"nam": 1})),
        call("demo_slow", json!({})),
        call("demo_fault", json!({})),
        call("demo_panic", json!({})),
        call("demo_closed", json!({})),
        call("demo_steps", json!({})),
        call("demo_count", json!({"to": 5})),
        call("demo_count", json!({"to": 2, "then": "fail"})),
        call("demo_unknown", json!({})),
        call("demo_hidden", json!({})),
        ("tools/call", json!({"name": "demo_number"})),
        ("tools/list", json!({})),
        ("tools/list", json!({"cursor": "nonsense"})),
        ("ping", json!({})),
        ("no/such", json!({})),
    ];
    for (method, params) in &asked {
        for version in [LEGACY, MODERN] {
            let alone = running.ask(version, method, params.clone()).await;
            let mut ways = Vec::new();
            if *method == "tools/call" {
                let mut params = params.clone();
                params["_meta"] = json!({"progressToken": 1});
                ways.push(running.ask(version, method, params).await);
            }
            if version == LEGACY {
                let (body, _) = crate::service::message(LEGACY, method, params.clone());
                ways.push(client.answer(body).await);
            }
            for other in ways {
                assert_eq!(alone.status, other.status, "{version} {method} {params}\n{alone:?}\n{other:?}");
                let (one, other) = (settled(message(&alone)), settled(message(&other)));
                assert_eq!(one, other, "{version} {method} {params}");
            }
        }
    }
}
