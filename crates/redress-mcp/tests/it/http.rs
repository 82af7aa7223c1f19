//! What a client of each era is told over HTTP.

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    events::PATIENCE,
    service::{LEGACY, MODERN, Running, failure},
};

#[tokio::test]
async fn a_success_is_structured_and_says_the_same_as_text() {
    let running = Running::start().await;
    for version in ["2025-03-26", "2025-06-18", LEGACY, MODERN] {
        let answer = running.call(version, "demo_greet", json!({"name": "Ada"})).await;
        let result = answer.result();
        assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"));
        assert!(!answer.header("x-request-id").is_empty());
        assert_eq!(result["structuredContent"], json!({"message": "hello \"Ada\""}), "{version}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), result["structuredContent"]);
        assert_eq!(result.get("resultType").is_some(), version == MODERN);
    }
}

#[tokio::test]
async fn an_output_that_is_no_object_is_structured_in_the_modern_era_only() {
    let running = Running::start().await;
    let legacy = running.call(LEGACY, "demo_number", json!({})).await.result();
    assert_eq!((legacy["content"][0]["text"].as_str(), legacy.get("structuredContent")), (Some("7"), None));
    let modern = running.call(MODERN, "demo_number", json!({})).await.result();
    assert_eq!(modern["structuredContent"], 7);
    for (version, advertised) in [(LEGACY, false), (MODERN, true)] {
        let listed = running.ask(version, "tools/list", json!({})).await.result();
        let number = listed["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "demo_number").cloned();
        assert_eq!(number.unwrap().get("outputSchema").is_some(), advertised, "{version}");
    }
}

#[tokio::test]
async fn every_bad_ending_of_a_call_is_a_result_with_its_envelope() {
    let running = Running::start().await;
    for version in [LEGACY, MODERN] {
        for (tool, arguments, code) in [
            ("demo_find", json!({}), "THING_MISSING"),
            ("demo_greet", json!({"nam": "Ada"}), "INVALID_INPUT"),
            ("demo_greet", json!([1]), "INVALID_INPUT"),
            ("demo_slow", json!({}), "TIMEOUT"),
            ("demo_fault", json!({}), "INTERNAL"),
            ("demo_panic", json!({}), "INTERNAL"),
        ] {
            let answer = running.call(version, tool, arguments).await;
            let result = answer.result();
            let envelope = failure(&result);
            assert_eq!((answer.status, envelope["code"].as_str()), (200, Some(code)), "{version} {tool}");
            assert_eq!(result.get("structuredContent"), None, "the advertised schema is of the output alone");
            assert_eq!(answer.header("x-request-id"), envelope["_meta"]["request_id"]);
        }
        let found = failure(&running.call(version, "demo_find", json!({})).await.result());
        assert_eq!(found["next_actions"][0]["operation"], "demo.number");
    }
}

#[tokio::test]
async fn an_unknown_tool_is_a_protocol_error_and_so_is_a_hidden_one() {
    let running = Running::start().await;
    for version in [LEGACY, MODERN] {
        for tool in ["demo_gret", "demo_hidden", "demo.hidden", "", "redress_search"] {
            let answer = running.call(version, tool, json!({})).await;
            assert_eq!((answer.status, answer.error().0), (200, -32602), "{version} {tool}");
            assert_eq!(answer.json()["error"]["data"]["code"], "NOT_FOUND");
        }
        let near = running.call(version, "demo_gret", json!({})).await.json();
        assert_eq!(near["error"]["data"]["similar"][0]["value"], "demo_greet");
        assert_eq!(near["error"]["data"]["retry"], "after_fix", "what can be corrected is worth another call");
        let recovery = json!({"verb": "fix_input", "pointer": "/params/name"});
        assert_eq!(near["error"]["data"]["recovery"], recovery);
        let says = near["error"]["message"].as_str().unwrap();
        let advice = "(NOT_FOUND, retry: after_fix). Call one of the tools that tools/list shows. Near: demo_greet";
        assert!(says.contains(advice), "some clients show nothing else: {says}");
        let dotted = running.call(version, "demo.number", json!({})).await.result();
        assert_eq!(dotted["content"][0]["text"], "7", "a next action's name works as it is");
    }
}

#[tokio::test]
async fn structured_failures_come_where_the_schema_admits_them() {
    use redress_mcp::{EnvelopeUse, OutputSchema};
    for schema in [OutputSchema::Union, OutputSchema::None] {
        let running = Running::with(|options| options.form.output_schema = schema, |_| {}).await;
        let result = running.call(LEGACY, "demo_find", json!({})).await.result();
        assert_eq!(result["structuredContent"], failure(&result));
        let listed = running.ask(LEGACY, "tools/list", json!({})).await.result();
        let greet = listed["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "demo_greet").unwrap();
        match schema {
            OutputSchema::Union => {
                assert_eq!(greet["outputSchema"]["type"], "object");
                let validator = jsonschema::validator_for(&greet["outputSchema"]).unwrap();
                assert!(validator.is_valid(&result["structuredContent"]));
                assert!(validator.is_valid(&json!({"message": "hello"})));
                assert!(!validator.is_valid(&json!({"massage": "hello"})));
            }
            OutputSchema::None | OutputSchema::Success => assert_eq!(greet.get("outputSchema"), None),
        }
    }
    let running = Running::with(|options| options.form.envelope = EnvelopeUse::Always, |_| {}).await;
    let result = running.call(LEGACY, "demo_number", json!({})).await.result();
    assert_eq!(result["structuredContent"]["result"], 7, "an envelope is an object whatever it holds");
    let listed = running.ask(LEGACY, "tools/list", json!({})).await.result();
    let number = listed["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "demo_number").unwrap();
    assert!(jsonschema::is_valid(&number["outputSchema"], &result["structuredContent"]));
}

#[tokio::test]
async fn the_tools_are_listed_in_order_and_without_what_hosts_refuse() {
    let running = Running::start().await;
    let listed = running.ask(MODERN, "tools/list", json!({})).await.result();
    let names: Vec<&str> =
        listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.is_sorted() && !names.contains(&"demo_hidden"), "{names:?}");
    assert_eq!((listed["cacheScope"].as_str(), listed["ttlMs"].is_u64()), (Some("private"), true));
    let tool = |name: &str| listed["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap();
    insta::assert_json_snapshot!(tool("demo_find"));
    let greet = tool("demo_greet");
    assert_eq!(greet["inputSchema"]["properties"]["name"], json!({"type": "string"}));
    assert_eq!(tool("demo_once")["annotations"]["readOnlyHint"], false);
    assert!(running.ask(LEGACY, "tools/list", json!({})).await.result().get("ttlMs").is_none());
}

#[tokio::test]
async fn a_legacy_client_shakes_hands_and_a_modern_one_discovers() {
    let running = Running::start().await;
    let hello = |version: &str| json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    for (asked, agreed) in [("2024-11-05", "2024-11-05"), (LEGACY, LEGACY), (MODERN, LEGACY), ("1999-01-01", LEGACY)] {
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello(asked)}).to_string();
        let answer = running.send(body, &[]).await;
        let result = answer.result();
        assert_eq!(result["protocolVersion"], agreed);
        assert!(result["capabilities"]["tools"].is_object() && answer.header("mcp-session-id").is_empty());
        assert!(result["instructions"].as_str().unwrap().contains("INVALID_INPUT"));
    }
    let note = running
        .send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, &[("mcp-protocol-version", LEGACY)])
        .await;
    assert_eq!((note.status, note.text.as_str()), (202, ""));
    assert_eq!(running.ask(LEGACY, "ping", json!({})).await.result(), json!({}));
    let discovered = running.ask(MODERN, "server/discover", json!({})).await.result();
    assert_eq!(
        (discovered["resultType"].as_str(), discovered["cacheScope"].as_str()),
        (Some("complete"), Some("private"))
    );
    assert!(discovered["supportedVersions"].as_array().unwrap().contains(&json!(MODERN)));
    let gone = running.ask(MODERN, "ping", json!({})).await;
    assert_eq!((gone.status, gone.error().0), (404, -32601));
    let unknown = running.ask(MODERN, "no/such", json!({})).await;
    assert_eq!((unknown.status, unknown.error().0), (404, -32601));
}

#[tokio::test]
async fn the_headers_say_what_the_body_says() {
    let running = Running::start().await;
    let (body, _) = crate::service::message(MODERN, "tools/call", json!({"name": "demo_number"}));
    let version = ("mcp-protocol-version", MODERN);
    for (headers, code) in [
        (vec![version, ("mcp-method", "tools/call"), ("mcp-name", "demo_number")], None),
        (vec![version, ("mcp-method", "tools/call"), ("mcp-name", "=?base64?ZGVtb19udW1iZXI=?=")], None),
        (vec![version, ("mcp-method", "tools/call")], Some(-32020)),
        (vec![version, ("mcp-method", "tools/list"), ("mcp-name", "demo_number")], Some(-32020)),
        (vec![version, ("mcp-method", "tools/call"), ("mcp-name", "demo_find")], Some(-32020)),
        (
            vec![version, ("mcp-method", "tools/call"), ("mcp-name", "demo_number"), ("mcp-name", "demo_number")],
            Some(-32020),
        ),
        (vec![("mcp-protocol-version", LEGACY)], Some(-32020)),
        (vec![], Some(-32020)),
    ] {
        let answer = running.send(body.clone(), &headers).await;
        match code {
            None => assert_eq!(answer.result()["structuredContent"], 7, "{headers:?}"),
            Some(code) => assert_eq!((answer.status, answer.error().0), (400, code), "{headers:?} {answer:?}"),
        }
    }
    let future = running.ask("2099-01-01", "tools/list", json!({})).await;
    assert_eq!((future.status, future.error().0), (400, -32022));
    assert!(future.json()["error"]["data"]["supported"].is_array());
    let bare = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
    let bare = running.send(bare, &[version, ("mcp-method", "tools/list")]).await;
    assert_eq!((bare.status, bare.error().0), (400, -32602));
}

#[tokio::test]
async fn a_key_in_the_request_makes_a_call_safe_to_repeat() {
    let running = Running::start().await;
    let params = json!({"name": "demo_once", "_meta": {"dev.redress/idempotency_key": "k-1"}});
    let first = running.ask(LEGACY, "tools/call", params.clone()).await.result();
    let again = running.ask(MODERN, "tools/call", params).await.result();
    assert_eq!(first["structuredContent"], again["structuredContent"]);
    let odd = json!({"name": "demo_once", "_meta": {"dev.redress/idempotency_key": "two words"}});
    assert_eq!(failure(&running.ask(LEGACY, "tools/call", odd).await.result())["code"], "INVALID_REQUEST");
}

#[tokio::test]
async fn a_client_that_leaves_cancels_its_call() {
    let running = Running::start().await;
    let (body, _) = crate::service::message(LEGACY, "tools/call", json!({"name": "demo_wait"}));
    let request = running.client.post(running.url()).header("content-type", "application/json").body(body).send();
    let leaving = tokio::spawn(request);
    timeout(PATIENCE, running.watched.started.notified()).await.expect("the call began");
    leaving.abort();
    timeout(PATIENCE, running.watched.dropped.notified()).await.expect("the call was dropped");
}
