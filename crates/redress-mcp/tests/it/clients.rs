//! The protocol's own client library, in both eras, over HTTP and over a process.

use redress_core::contract::Caller;
use rmcp::{
    ClientLifecycleMode, ClientServiceExt as _, RoleClient, ServiceError,
    model::{CallToolRequestParams, CallToolResult, ClientConfig, ErrorCode, ProtocolVersion},
    service::{Peer, RunningService},
    transport::{StreamableHttpClientTransport, TokioChildProcess},
};
use serde_json::{Value, json};

use crate::{
    service::{Running, failure},
    stdio,
};

fn modes() -> [ClientLifecycleMode; 2] {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    [ClientLifecycleMode::Initialize, ClientLifecycleMode::Discover { preferred_versions }]
}

async fn call(client: &Peer<RoleClient>, tool: &str, arguments: Value) -> Result<CallToolResult, ServiceError> {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    client.call_tool(CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments)).await
}

/// The table of calls that every client has to get through.
async fn all_endings(client: RunningService<RoleClient, ClientConfig>) {
    let tools = client.list_all_tools().await.unwrap();
    let find = tools.iter().find(|tool| tool.name == "demo_find").unwrap();
    assert!(find.description.as_deref().unwrap().contains("Fails with: THING_MISSING (call demo_number)"));
    assert!(find.meta.as_ref().unwrap().contains_key("dev.redress/failures"));

    let success = call(&client, "demo_greet", json!({"name": "Ada"})).await.unwrap();
    assert_eq!(success.structured_content, Some(json!({"message": "hello \"Ada\""})));
    for (tool, arguments, code) in [
        ("demo_find", json!({}), "THING_MISSING"),
        ("demo_greet", json!({}), "INVALID_INPUT"),
        ("demo_slow", json!({}), "TIMEOUT"),
        ("demo_panic", json!({}), "INTERNAL"),
    ] {
        let result = call(&client, tool, arguments).await.unwrap();
        assert_eq!(failure(&serde_json::to_value(result).unwrap())["code"], code);
    }
    let counted = call(&client, "demo_count", json!({"to": 3})).await.unwrap();
    assert_eq!(counted.structured_content.unwrap()["items"], json!([1, 2, 3]));
    let Err(ServiceError::McpError(unknown)) = call(&client, "demo_unknown", json!({})).await else {
        panic!("an unknown tool is a protocol error");
    };
    assert_eq!((unknown.code, &unknown.data.unwrap()["code"]), (ErrorCode::INVALID_PARAMS, &json!("NOT_FOUND")));
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn every_ending_arrives_over_http() {
    let running = Running::start().await;
    for mode in modes() {
        let transport = StreamableHttpClientTransport::from_uri(running.url());
        all_endings(ClientConfig::default().serve_with_lifecycle(transport, mode).await.unwrap()).await;
    }
}

#[tokio::test]
async fn every_ending_arrives_over_a_process() {
    for mode in modes() {
        let transport = TokioChildProcess::new(stdio::command()).unwrap();
        all_endings(ClientConfig::default().serve_with_lifecycle(transport, mode).await.unwrap()).await;
    }
}

#[tokio::test]
async fn a_client_that_can_be_asked_gets_a_session_where_something_may_ask() {
    use redress_core::{Operation, contract, contract::Access, testing::Canary};
    let asking = contract::OperationDeclaration::mutation("demo.asks").with_summary("Asks first.");
    let asking = Operation::dynamic(asking.with_access(Access::caller().consent()))
        .with_handler(|ctx, _| async move { Ok(json!(ctx.caller().map(Caller::id))) });
    let (canary, watched) = (Canary::new(), std::sync::Arc::default());
    let registry = crate::demo::build(&canary, &watched, |builder| builder.add(asking));
    let running = Running::of(registry, canary, watched, |_| {}, |_| {}).await;
    let hello = |capabilities: Value| {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "t", "version": "1"}});
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string()
    };
    assert_eq!(running.send(hello(json!({})), &[]).await.header("mcp-session-id"), "");
    let opened = running.send(hello(json!({"elicitation": {}})), &[]).await;
    let session = opened.header("mcp-session-id").to_owned();
    assert!(!session.is_empty(), "{opened:?}");
    let headers = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", "2025-11-25")];
    let note = running.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, &headers).await;
    assert_eq!(note.status, 202, "{note:?}");
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo_number"}}"#;
    let answer = running.send(call, &headers).await;
    assert!(answer.text.contains(r#""text":"7""#), "{answer:?}");
}
