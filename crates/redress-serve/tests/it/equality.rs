//! One table of calls, every face, equal outcomes.

use serde_json::{Value, json};

use crate::service::Running;

/// An outcome without what differs between two calls, or belongs to one face only.
fn outcome(mut envelope: Value) -> Value {
    let members = envelope.as_object_mut().unwrap();
    members.retain(|name, _| !["_meta", "type", "title", "detail", "status"].contains(&name.as_str()));
    envelope
}

#[tokio::test]
async fn a_call_ends_in_the_same_way_on_every_face() {
    let running = Running::start().await;
    let calls = [
        ("demo.greet", r#"{"name":"Ada"}"#),
        ("demo.greet", r#"{"nam":"Ada"}"#),
        ("demo.greet", r#"{"name":5}"#),
        ("demo.greet", "[]"),
        ("demo.find", "{}"),
        ("demo.fault", "{}"),
        ("demo.panic", "{}"),
        ("demo.undeclared", "{}"),
        ("demo.slow", "{}"),
        ("demo.limited", "{}"),
        ("demo.hidden", "{}"),
        ("demo.unknown", "{}"),
        ("demo.closed", "{}"),
    ];
    for (operation, input) in calls {
        let path = format!("/ops/{}", operation.replace('.', "/"));
        let plain = running.post(&path, input).await;
        let plain =
            if plain.status == 200 { json!({"ok": true, "result": plain.json()}) } else { outcome(plain.json()) };

        let asked = format!(r#"{{"operation":"{operation}","input":{input}}}"#);
        let called = running.post("/call", &asked).await;
        assert_eq!(called.status, plain["http"].as_u64().unwrap_or(200) as u16, "{operation}");
        assert_eq!(outcome(called.json()), plain, "{operation} by /call");

        let batched = running.post("/batch", &format!("[{asked}]")).await.json();
        assert_eq!(outcome(batched[0].clone()), plain, "{operation} by /batch");

        let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{operation}","params":{input}}}"#);
        let answered = running.post("/rpc", &message).await.json();
        let answered = match answered.get("result") {
            Some(result) => json!({"ok": true, "result": result}),
            None => outcome(answered["error"]["data"].clone()),
        };
        assert_eq!(answered, plain, "{operation} by /rpc");
    }
    let failed = running.post("/subscribe", r#"{"operation":"demo.count","input":{"to":0,"then":"fail"}}"#).await;
    let found = running.post("/call", r#"{"operation":"demo.find"}"#).await;
    assert_eq!(outcome(failed.events()[0].2.clone()), outcome(found.json()), "the same failure in a stream");
    running.canary.assert_clean();
}
