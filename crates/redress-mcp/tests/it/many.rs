//! A thousand operations: in pages, and found instead of listed.

use std::sync::Arc;

use redress_core::{
    Operation, Registry,
    contract::{self, Access},
    testing::Canary,
};
use redress_mcp::{Mcp, McpError, McpOptions, Profile};
use serde_json::{Value, json};

use crate::service::{LEGACY, MODERN, Running, failure};

fn thousand() -> Registry {
    let one = |place: usize| {
        let input = json!({
            "type": "object",
            "properties": {"id": {"type": "integer"}},
            "required": ["id"],
            "additionalProperties": false,
        });
        let declaration = contract::OperationDeclaration::query(&format!("made.op_{place:04}"))
            .with_summary(if place == 700 { "Reconcile the ledger.".to_owned() } else { format!("Does {place}.") })
            .with_input(input)
            .with_access(Access::anyone());
        Operation::dynamic(declaration)
            .with_handler(move |_, input| async move { Ok(json!({"op": place, "id": input["id"]})) })
    };
    (0..1000).map(one).fold(Registry::builder(), |builder, operation| builder.add(operation)).build().unwrap()
}

async fn running(above: usize) -> Running {
    let options = |options: &mut McpOptions| {
        options.discovery_above = above;
        options.page = 300;
    };
    Running::of(thousand(), Canary::new(), Arc::default(), options, |_| {}).await
}

#[tokio::test]
async fn a_thousand_tools_are_listed_in_pages() {
    let running = running(10_000).await;
    for version in [LEGACY, MODERN] {
        let (mut cursor, mut names, mut pages) = (None::<String>, Vec::new(), 0);
        loop {
            let params = cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
            let page = running.ask(version, "tools/list", params).await.result();
            names.extend(page["tools"].as_array().unwrap().iter().map(|tool| tool["name"].to_string()));
            pages += 1;
            cursor = page["nextCursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        names.dedup();
        assert_eq!((names.len(), pages), (1000, 4), "{version}");
        assert!(names.is_sorted());
    }
    let first = running.ask(LEGACY, "tools/list", json!({})).await.result();
    let cursor = first["nextCursor"].as_str().unwrap();
    for wrong in
        ["", "0", "1", &cursor.replace('1', "0"), &format!("+{cursor}"), &format!("0{cursor}"), &"9".repeat(5000)]
    {
        let answer = running.ask(LEGACY, "tools/list", json!({"cursor": wrong})).await;
        assert_eq!(answer.error().0, -32602, "{wrong}");
    }
}

#[tokio::test]
async fn very_many_tools_are_found_looked_at_and_called() {
    let running = running(200).await;
    let listed = running.ask(LEGACY, "tools/list", json!({})).await.result();
    let names: Vec<&str> =
        listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["redress_search", "redress_schema", "redress_call", "redress_batch"]);

    let found = running.call(LEGACY, "redress_search", json!({"query": "reconcile ledgers"})).await.result();
    assert_eq!(found["structuredContent"]["tools"][0]["tool"], "made_op_0700");
    assert_eq!(found["structuredContent"]["of"], 1000);
    let shown = running.call(LEGACY, "redress_schema", json!({"tools": ["made_op_0700"]})).await.result();
    assert_eq!(shown["structuredContent"]["tools"][0]["inputSchema"]["required"], json!(["id"]));
    let called = running.call(MODERN, "redress_call", json!({"tool": "made_op_0700", "arguments": {"id": 3}})).await;
    assert_eq!(called.result()["structuredContent"], json!({"op": 700, "id": 3}));
    let calls = json!({"calls": [
        {"tool": "made_op_0001", "arguments": {"id": 1}},
        {"tool": "made_op_0002", "arguments": {"id": "x"}},
        {"tool": "made_op_zzzz"},
    ]});
    let results = running.call(MODERN, "redress_batch", calls).await.result();
    let outcome = |place: usize| results["structuredContent"]["results"][place].clone();
    assert_eq!((&outcome(0)["result"], &outcome(1)["code"]), (&json!({"op": 1, "id": 1}), &json!("INVALID_INPUT")));
    assert_eq!(outcome(2)["code"], "NOT_FOUND");

    for (tool, arguments, code) in [
        ("redress_search", json!({}), "INVALID_INPUT"),
        ("redress_search", json!({"query": "x", "limit": 0}), "INVALID_INPUT"),
        ("redress_search", json!({"query": "y".repeat(600)}), "INVALID_INPUT"),
        ("redress_schema", json!({"tools": []}), "INVALID_INPUT"),
        ("redress_schema", json!({"tools": ["made_op_zzzz"]}), "NOT_FOUND"),
        ("redress_call", json!({"tool": "made_op_07"}), "NOT_FOUND"),
        ("redress_call", json!({"tool": "made_op_0700"}), "INVALID_INPUT"),
        ("redress_call", json!({"tool": "redress_call"}), "NOT_FOUND"),
        ("redress_batch", json!({"calls": vec![json!({"tool": "made_op_0001"}); 21]}), "INVALID_INPUT"),
        ("redress_batch", json!(["made_op_0001"]), "INVALID_INPUT"),
    ] {
        let result = running.call(LEGACY, tool, arguments.clone()).await.result();
        assert_eq!(failure(&result)["code"], code, "{tool} {arguments}");
    }
    let meta = json!({"dev.redress/idempotency_key": "k"});
    for (tool, arguments) in [
        ("redress_search", json!({"query": "ledger"})),
        ("redress_schema", json!({"tools": ["made_op_0001"]})),
        ("redress_call", json!({"tool": "made_op_0001", "arguments": {"id": 1}})),
        ("made_op_0001", json!({"id": 1})),
    ] {
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        let result = running.ask(LEGACY, "tools/call", params).await.result();
        assert_eq!(failure(&result)["code"], "INVALID_REQUEST", "{tool}");
    }
    let calls = json!({"calls": [{"tool": "made_op_0001", "arguments": {"id": 1}}]});
    let params = json!({"name": "redress_batch", "arguments": calls, "_meta": meta});
    let result = running.ask(LEGACY, "tools/call", params).await.result();
    assert_eq!(result["structuredContent"]["results"][0]["code"], "INVALID_REQUEST");
    let named = running.call(LEGACY, "made_op_0005", json!({"id": 1})).await.result();
    assert_eq!(named["structuredContent"]["op"], 5, "who knows a tool may call it by its name");
}

#[tokio::test]
async fn a_profile_is_all_there_is() {
    let reading = Profile::new("few", ["made.op_0001", "made.op_0002"]);
    let options = |options: &mut McpOptions| options.profile = Some(reading);
    let running = Running::of(thousand(), Canary::new(), Arc::default(), options, |_| {}).await;
    let listed = running.ask(LEGACY, "tools/list", json!({})).await.result();
    assert_eq!(listed["tools"].as_array().map(Vec::len), Some(2));
    let other = running.call(LEGACY, "made_op_0003", json!({"id": 1})).await;
    assert_eq!(other.error().0, -32602);
    let similar = &other.json()["error"]["data"]["similar"];
    assert!(similar.as_array().unwrap().iter().all(|near| near["value"] != "made_op_0003"), "{similar}");

    let mut options = McpOptions::default();
    options.profile = Some(Profile::new("gone", ["made.op_0001", "made.nothing"]));
    let error = Mcp::new(thousand(), options).unwrap_err();
    assert_eq!(error, McpError::ProfileIdle { profile: "gone".to_owned(), pattern: "made.nothing".to_owned() });
}

#[test]
fn the_cost_of_each_tool_is_what_the_list_has() {
    let mut options = McpOptions::default();
    options.discovery_above = 1_000;
    let mcp = Mcp::new(thousand(), options).unwrap();
    let costs = mcp.costs(None);
    assert_eq!(costs.len(), 1000);
    assert!(costs.is_sorted_by(|one, other| one.bytes >= other.bytes));
    assert!(costs.iter().all(|cost| cost.tokens == cost.bytes.div_ceil(4)), "these are all ASCII");
    let _: Value = json!(costs[0].tool);
}
