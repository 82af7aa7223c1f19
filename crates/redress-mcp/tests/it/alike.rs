//! The direct way and the way through the protocol's library answer alike.

use serde_json::{Value, json};

use crate::service::{LEGACY, MODERN, Running};

/// What differs from call to call.
fn settled(mut value: Value) -> Value {
    fn settle(value: &mut Value) {
        match value {
            Value::Object(members) => {
                members.retain(|name, _| !matches!(name.as_str(), "request_id" | "elapsed_ms"));
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
                // Members of an output have no order, and the library gives them its own.
                *text = serde_json::from_str::<Value>(text).unwrap().to_string();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    settle(&mut value);
    value
}

#[tokio::test]
async fn both_ways_answer_alike() {
    let direct = Running::start().await;
    let bridged = Running::with(|_| {}, |http| http.direct = false).await;
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
        call("demo_count", json!({"to": 5})),
        call("demo_count", json!({"to": 2, "then": "fail"})),
        call("demo_unknown", json!({})),
        call("demo_hidden", json!({})),
        ("tools/call", json!({"name": "demo_number"})),
        ("tools/list", json!({})),
        ("tools/list", json!({"cursor": "nonsense"})),
        ("server/discover", json!({})),
        ("ping", json!({})),
        ("resources/subscribe", json!({"uri": "a:b"})),
        ("no/such", json!({})),
        (
            "initialize",
            json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}),
        ),
    ];
    for version in [LEGACY, MODERN] {
        for (method, params) in &asked {
            if (*method, version) == ("server/discover", LEGACY) || (*method, version) == ("initialize", MODERN) {
                continue;
            }
            let one = direct.ask(version, method, params.clone()).await;
            let other = bridged.ask(version, method, params.clone()).await;
            assert_eq!(one.status, other.status, "{version} {method} {params}\n{one:?}\n{other:?}");
            let (one, other) = (one.json(), other.json());
            match one.get("error") {
                Some(error) => {
                    assert_eq!(error["code"], other["error"]["code"], "{version} {method} {params}\n{one}\n{other}");
                    assert_eq!(settled(error["data"].clone()), settled(other["error"]["data"].clone()));
                }
                None => assert_eq!(settled(one), settled(other), "{version} {method} {params}"),
            }
        }
    }
}

#[tokio::test]
async fn both_ways_refuse_the_same_headers() {
    let direct = Running::start().await;
    let bridged = Running::with(|_| {}, |http| http.direct = false).await;
    let (body, _) = crate::service::message(MODERN, "tools/call", json!({"name": "demo_number"}));
    let version = ("mcp-protocol-version", MODERN);
    for headers in [
        vec![version, ("mcp-method", "tools/call"), ("mcp-name", "demo_number")],
        vec![version, ("mcp-method", "tools/call")],
        vec![version, ("mcp-method", "tools/list"), ("mcp-name", "demo_number")],
        vec![version, ("mcp-method", "tools/call"), ("mcp-name", "demo_find")],
        vec![("mcp-protocol-version", LEGACY)],
        vec![],
    ] {
        let one = direct.send(body.clone(), &headers).await;
        let other = bridged.send(body.clone(), &headers).await;
        assert_eq!(one.status, other.status, "{headers:?}");
        assert_eq!(one.json()["error"]["code"], other.json()["error"]["code"], "{headers:?}");
    }
}
