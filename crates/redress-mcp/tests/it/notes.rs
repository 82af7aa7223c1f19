//! What handlers note for their callers.

use serde_json::{Value, json};

use crate::{lines::Talk, service::MODERN, talk};

fn is_note(message: &Value) -> bool {
    message["method"] == "notifications/message"
}

#[tokio::test]
async fn notes_of_the_level_that_a_client_sets_come_before_the_result() {
    let mut talk = Talk::start(talk::registry());
    talk.hello(json!({})).await;
    talk.call(1, "talk_note");
    let note = talk.next().await;
    assert_eq!(note["params"], json!({"level": "warning", "logger": "talk.note", "data": {"left": 1}}));
    assert_eq!(talk.next().await["id"], 1);
    talk.send(json!({"id": 2, "method": "logging/setLevel", "params": {"level": "debug"}}));
    assert_eq!(talk.next().await["result"], json!({}));
    talk.send(json!({"id": 3, "method": "tools/call", "params": {"name": "talk_note", "_meta": {"progressToken": 1}}}));
    assert!(is_note(&talk.next().await) && is_note(&talk.next().await));
    assert_eq!(talk.next().await["id"], 3);
    talk.send(json!({"id": 4, "method": "logging/setLevel", "params": {"level": "error"}}));
    talk.next().await;
    talk.call(5, "talk_note");
    assert_eq!(talk.next().await["id"], 5, "nothing less than that is told");
    talk.send(json!({"id": 6, "method": "logging/setLevel", "params": {"level": "loud"}}));
    assert_eq!(talk.next().await["error"]["code"], -32602);
}

#[tokio::test]
async fn a_request_of_the_modern_era_says_itself_which_notes_it_wants() {
    let level = json!({"io.modelcontextprotocol/logLevel": "info"});
    let mut talk = Talk::start(talk::registry());
    talk.modern(1, "tools/call", json!({"name": "talk_note"}), level.clone());
    assert!(is_note(&talk.next().await));
    assert_eq!(talk.next().await["id"], 1);
    talk.modern(2, "tools/call", json!({"name": "talk_note"}), json!({}));
    assert_eq!(talk.next().await["id"], 2);
    talk.modern(3, "logging/setLevel", json!({"level": "info"}), json!({}));
    assert_eq!(talk.next().await["error"]["code"], -32601);

    let running = talk::running(|_| {}).await;
    let told = running.ask(MODERN, "tools/call", json!({"name": "talk_note", "_meta": level})).await;
    assert!(told.header("content-type").starts_with("text/event-stream"), "{told:?}");
    let messages: Vec<Value> =
        told.text.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data:")?.trim()).ok()).collect();
    assert_eq!(messages.len(), 2, "{told:?}");
    assert!(is_note(&messages[0]) && messages[1]["result"].is_object());
    let untold = running.ask(MODERN, "tools/call", json!({"name": "talk_note"})).await;
    assert_eq!(untold.header("content-type"), "application/json");
    let odd = json!({"name": "talk_note", "_meta": {"io.modelcontextprotocol/logLevel": "loud"}});
    assert_eq!(running.ask(MODERN, "tools/call", odd).await.error().0, -32602);
}
