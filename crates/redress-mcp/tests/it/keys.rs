//! Idempotency keys that cannot be honoured.

use serde_json::{Value, json};

use crate::{
    service::{LEGACY, MODERN, Running, failure, message},
    talk,
};

const KEY: &str = "dev.redress/idempotency_key";

#[tokio::test]
async fn a_key_on_what_calls_nothing_is_refused_on_every_method() {
    let running = talk::running(|_| {}).await;
    let hello = json!({"protocolVersion": LEGACY, "capabilities": {"elicitation": {}}, "clientInfo": {"name": "t", "version": "1"}});
    for (version, method, params) in [
        (LEGACY, "ping", json!({})),
        (LEGACY, "tools/list", json!({})),
        (MODERN, "tools/list", json!({})),
        (LEGACY, "prompts/list", json!({})),
        (MODERN, "resources/list", json!({})),
        (LEGACY, "resources/templates/list", json!({})),
        (MODERN, "server/discover", json!({})),
        (MODERN, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}})),
        (LEGACY, "initialize", hello.clone()),
    ] {
        // What a client says of itself when it begins has no place for a key in its body.
        for key in if method == "initialize" { vec![] } else { vec!["k", "two words"] } {
            let mut params = params.clone();
            params["_meta"] = json!({KEY: key});
            let refused = running.ask(version, method, params).await.json();
            assert_eq!(refused["error"]["data"]["code"], "INVALID_REQUEST", "{version} {method} {refused}");
        }
        let (body, headers) = message(version, method, params);
        let mut headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, &**value)).collect();
        headers.push(("idempotency-key", "k"));
        let refused = running.send(body, &headers).await;
        assert_eq!(refused.json()["error"]["data"]["code"], "INVALID_REQUEST", "{version} {method} {refused:?}");
    }
    let (begin, _) = message(LEGACY, "initialize", hello);
    let session = running.send(begin, &[]).await.header("mcp-session-id").to_owned();
    let within = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", LEGACY)];
    running.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, &within).await;
    for (method, mut params) in [
        ("logging/setLevel", json!({"level": "debug"})),
        ("resources/subscribe", json!({"uri": "talk://readme"})),
        ("resources/unsubscribe", json!({"uri": "talk://readme"})),
    ] {
        params["_meta"] = json!({KEY: "k"});
        let refused = running.send(message(LEGACY, method, params).0, &within).await;
        assert!(refused.text.contains("INVALID_REQUEST"), "{method} {refused:?}");
    }
}

#[tokio::test]
async fn a_key_that_is_none_is_refused_as_on_every_face() {
    let running = Running::start().await;
    let long = "k".repeat(256);
    for version in [LEGACY, MODERN] {
        for (tool, arguments) in
            [("demo_once", json!({})), ("demo_number", json!({})), ("demo_count", json!({"to": 1}))]
        {
            for key in ["", "two words", "a\nb", "a\u{7f}", "é", &long] {
                let params = json!({"name": tool, "arguments": arguments, "_meta": {KEY: key}});
                let result = running.ask(version, "tools/call", params).await.result();
                assert_eq!(failure(&result)["code"], "INVALID_REQUEST", "{version} {tool} {key:?}");
            }
            for key in [json!(7), json!(true), json!([]), json!(["k"]), json!({"k": 1})] {
                let params = json!({"name": tool, "arguments": arguments, "_meta": {KEY: key}});
                let refused = running.ask(version, "tools/call", params).await;
                assert_eq!(refused.error().0, -32602, "{version} {tool} {key}");
            }
        }
        for (tool, arguments) in [("demo_number", json!({})), ("demo_count", json!({"to": 1}))] {
            let params: Value = json!({"name": tool, "arguments": arguments, "_meta": {KEY: "k"}});
            let result = running.ask(version, "tools/call", params).await.result();
            assert_eq!(failure(&result)["code"], "INVALID_REQUEST", "{version} {tool} takes no key");
        }
    }
}
