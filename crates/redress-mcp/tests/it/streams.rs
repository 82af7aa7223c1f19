//! Subscriptions as tools.

use std::time::{Duration, Instant};

use redress_mcp::StreamBounds;
use serde_json::{Value, json};

use crate::service::{LEGACY, MODERN, Running, failure};

#[tokio::test]
async fn the_items_of_a_stream_are_the_result() {
    let running = Running::start().await;
    for version in [LEGACY, MODERN] {
        let result = running.call(version, "demo_count", json!({"to": 3})).await.result();
        assert_eq!(result["structuredContent"], json!({"items": [1, 2, 3], "complete": true}));
        let listed = running.ask(version, "tools/list", json!({})).await.result();
        let count = listed["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "demo_count").unwrap();
        assert!(jsonschema::is_valid(&count["outputSchema"], &result["structuredContent"]));
    }
}

#[tokio::test]
async fn a_stream_is_cut_at_its_bounds_and_says_so() {
    let bounds = StreamBounds { items: 10, bytes: 64, time: Duration::from_secs(60) };
    let running = Running::with(|options| options.stream = bounds, |_| {}).await;
    let many = running.call(LEGACY, "demo_count", json!({"to": 50})).await.result();
    let items: Vec<u64> = (1..=10).collect();
    assert_eq!(many["structuredContent"], json!({"items": items, "complete": false, "cut": "items"}));
    let bounds = StreamBounds { items: 1_000, ..bounds };
    let running = Running::with(|options| options.stream = bounds, |_| {}).await;
    let large = running.call(LEGACY, "demo_count", json!({"to": 500})).await.result();
    assert_eq!(large["structuredContent"]["cut"], "bytes");
    let endless = running.call(LEGACY, "demo_count", json!({"to": 2, "then": "hang"})).await.result();
    assert_eq!(endless["structuredContent"], json!({"items": [1, 2], "complete": false, "cut": "time"}));
}

#[tokio::test]
async fn a_stream_that_fails_shows_what_came_before() {
    let running = Running::start().await;
    let result = running.call(MODERN, "demo_count", json!({"to": 2, "then": "fail"})).await.result();
    assert_eq!(failure(&result)["code"], "THING_MISSING");
    let before: Value = serde_json::from_str(result["content"][1]["text"].as_str().unwrap()).unwrap();
    assert_eq!(before, json!({"items": [1, 2]}));
}

#[tokio::test]
async fn progress_is_told_on_the_stream_of_its_request() {
    let running = Running::start().await;
    for version in [LEGACY, MODERN] {
        let params = json!({"name": "demo_count", "arguments": {"to": 4}, "_meta": {"progressToken": "p-1"}});
        let answer = running.ask(version, "tools/call", params).await;
        assert!(answer.header("content-type").starts_with("text/event-stream"), "{answer:?}");
        let messages: Vec<Value> = answer
            .text
            .lines()
            .filter_map(|line| serde_json::from_str(line.strip_prefix("data:")?.trim()).ok())
            .collect();
        let (last, told) = messages.split_last().unwrap();
        assert!(!told.is_empty() && told.iter().all(|message| message["method"] == "notifications/progress"));
        assert_eq!(told[0]["params"]["progressToken"], "p-1");
        assert_eq!(last["result"]["structuredContent"]["items"], json!([1, 2, 3, 4]), "{version}");
    }
}

#[tokio::test]
async fn subscriptions_are_tools_only_where_the_operator_says_so_and_end_in_their_own_time() {
    let running = Running::with(|options| options.subscriptions = false, |_| {}).await;
    for version in [LEGACY, MODERN] {
        let listed = running.ask(version, "tools/list", json!({})).await.result();
        let names: Vec<&str> =
            listed["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
        assert!(names.contains(&"demo_greet") && !names.contains(&"demo_count"), "{names:?}");
        assert_eq!(running.call(version, "demo_count", json!({"to": 3})).await.error().0, -32602);
    }
    // A stream that is quiet ends long before its operation's deadline, which is two seconds.
    let quiet = |options: &mut redress_mcp::McpOptions| options.stream.time = Duration::from_millis(50);
    let running = Running::with(quiet, |_| {}).await;
    let started = Instant::now();
    let result = running.call(LEGACY, "demo_count", json!({"to": 1, "then": "hang"})).await.result();
    assert_eq!(result["structuredContent"], json!({"items": [1], "complete": false, "cut": "time"}));
    assert!(started.elapsed() < Duration::from_millis(1_900), "{:?}", started.elapsed());
}
