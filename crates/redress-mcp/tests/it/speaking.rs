//! What a model reads names tools that its caller can call, takes what hosts send, and costs no more than it has to.

use std::sync::Arc;

use redress_core::{
    DynamicFailure, Operation, Registry,
    contract::{self, Access, Caller, Effect, FailureDeclaration, Kind, Recovery},
    testing::Canary,
};
use redress_mcp::{Mcp, McpOptions, Profile};
use serde_json::{Value, json};

use crate::{
    lines::Talk,
    service::{LEGACY, MODERN, Running, failure},
};

/// A shop in which texts name operations as their authors know them.
fn registry() -> Registry {
    let gone = || {
        FailureDeclaration::new("ORDER_GONE", Kind::NotFound)
            .with_when("There is no such order.")
            .with_message("there is no order {id}")
            .with_effect(Effect::None)
            .with_details(json!({
                "type": "object",
                "properties": {"id": {"type": "integer"}, "shelf": {"type": "string"}, "lines": {"type": "array"}},
                "required": ["id"],
            }))
            .with_recovery(Recovery::call("shop.list", "List them with `shop.list` first. Or use shop.purge."))
    };
    let worn = || {
        FailureDeclaration::new("DISK_WORN", Kind::Unavailable)
            .with_when("The disk fails.")
            .with_effect(Effect::None)
            .with_recovery(Recovery::ask_user("Tell the user that the disk has to be replaced."))
    };
    let open = |operation: contract::OperationDeclaration| operation.with_access(Access::anyone()).fails(worn());
    let list = open(contract::OperationDeclaration::query("shop.list").with_alias("shop.all"))
        .with_summary("List the orders.");
    let list = Operation::dynamic(list).with_handler(|_, _| async { Ok(json!({"orders": []})) });
    let read = open(contract::OperationDeclaration::query("shop.read"))
        .with_summary("Read an order.")
        .with_description(
            "Read an order.\nIts id is one that `shop.all` gives.\nTo take it away, call `shop.purge`. What `shop.show` says \
             is another matter.",
        )
        .with_input(json!({
            "type": "object",
            "title": "ReadInput",
            "description": "What to read.",
            "properties": {
                "id": {"type": "integer", "description": "As shop.list gives it. Not as shop.purge does."},
                "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10},
                "after": {"type": ["string", "null"]},
                "order": {"oneOf": [{"const": "up", "description": "Old ones first."}, {"const": "down"}]},
                "most": {"type": "integer", "minimum": 0, "maximum": u64::MAX},
            },
            "required": ["id"],
            "additionalProperties": false,
        }))
        .fails(gone());
    let read = Operation::dynamic(read).with_handler(|_, input| async move {
        if input["id"] == 404 {
            Err(DynamicFailure::new("ORDER_GONE", json!({"id": 404, "shelf": "B7", "lines": [3, 9]})))?;
        }
        Ok(json!({"zebra": 1, "apple": input}))
    });
    let show = open(contract::OperationDeclaration::query("shop.show")).with_summary("Show it.");
    let show = Operation::dynamic(show).with_handler(|_, _| async { Ok(json!({})) });
    let purge = contract::OperationDeclaration::mutation("shop.purge").with_summary("Take everything away.");
    let purge = purge.with_access(Access::caller().scope("shop:purge")).fails(worn());
    let purge = Operation::dynamic(purge).with_handler(|_, _| async { Ok(json!({})) });
    let all = [list, read, show, purge];
    all.into_iter().fold(Registry::builder(), |builder, one| builder.add(one)).build().unwrap()
}

/// The shop without what takes everything away.
async fn running(options: impl FnOnce(&mut McpOptions)) -> Running {
    let options = |set: &mut McpOptions| {
        set.profile = Some(Profile::new("most", ["shop.list", "shop.read", "shop.show"]));
        options(set);
    };
    Running::of(registry(), Canary::new(), Arc::default(), options, |_| {}).await
}

async fn tool(running: &Running, version: &str, name: &str) -> Value {
    let listed = running.ask(version, "tools/list", json!({})).await.result();
    listed["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name).cloned().unwrap()
}

/// What a model reads of a failure, as JSON.
fn told(result: &Value) -> Value {
    let text = result["content"][0]["text"].as_str().unwrap();
    serde_json::from_str(text.split_once('\n').unwrap().1).unwrap()
}

async fn instructions(running: &Running) -> String {
    let hello = json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let said = running.ask(LEGACY, "initialize", hello).await.result()["instructions"].as_str().unwrap().to_owned();
    let found = running.ask(MODERN, "server/discover", json!({})).await.result();
    assert_eq!(found["instructions"], said);
    said
}

#[tokio::test]
async fn texts_name_the_tools_of_their_reader_and_no_others() {
    let running = running(|_| {}).await;
    for version in [LEGACY, MODERN] {
        let read = tool(&running, version, "shop_read").await;
        // The summary once, an alias by the tool that is listed, and nothing of what this caller cannot call.
        assert_eq!(
            read["description"],
            "Read an order. Its id is one that `shop_list` gives. What `shop_show` says is another matter.\n\
             Fails with: ORDER_GONE (call shop_list)."
        );
        assert_eq!(read["inputSchema"]["properties"]["id"]["description"], "As shop_list gives it.");
        let result = running.call(version, "shop_read", json!({"id": 404})).await.result();
        let told = told(&result);
        assert_eq!(told["hint"], "List them with `shop_list` first.");
        assert_eq!(told["next_actions"], json!([{"tool": "shop_list", "arguments": {}}]));
        let envelope = &result["_meta"]["dev.redress/error"];
        assert_eq!(envelope["next_actions"][0]["operation"], "shop.list", "programs have the contract's own names");
    }
}

#[tokio::test]
async fn a_caller_who_may_call_more_reads_more() {
    for (caller, more) in [(Caller::new("ada").scope("shop:purge"), true), (Caller::new("eve"), false)] {
        let mut talk = Talk::with(registry(), McpOptions::default(), caller);
        talk.hello(json!({})).await;
        talk.send(json!({"id": 1, "method": "tools/list"}));
        let listed = talk.next().await["result"]["tools"].clone();
        let read = listed.as_array().unwrap().iter().find(|tool| tool["name"] == "shop_read").unwrap();
        let described = read["description"].as_str().unwrap();
        assert_eq!(described.contains("To take it away, call `shop_purge`."), more, "{described}");
        assert!(!described.contains("shop.purge"), "{described}");
        talk.send(json!({"id": 2, "method": "tools/call", "params": {"name": "shop_read", "arguments": {"id": 404}}}));
        let hint = told(&talk.next().await["result"])["hint"].as_str().unwrap().to_owned();
        let also = if more { " Or use shop_purge." } else { "" };
        assert_eq!(hint, format!("List them with `shop_list` first.{also}"));
    }
}

#[tokio::test]
async fn what_is_outside_a_profile_is_in_no_text() {
    let few = |options: &mut McpOptions| {
        options.profile = Some(Profile::new("few", ["shop.read"]));
        options.description = Some("Keeps orders. Begin with shop.list. Then call shop.read.".to_owned());
    };
    let running = running(few).await;
    for version in [LEGACY, MODERN] {
        let read = tool(&running, version, "shop_read").await;
        assert_eq!(
            read["description"],
            "Read an order.\nFails with: DISK_WORN (ask the user, retryable), ORDER_GONE (ask the user)."
        );
        let told = told(&running.call(version, "shop_read", json!({"id": 404})).await.result());
        assert_eq!((told.get("hint"), told.get("next_actions"), &told["recovery"]), (None, None, &json!("ask_user")));
    }
    let said = instructions(&running).await;
    assert!(said.starts_with("Keeps orders. Then call shop_read.\n\n"), "{said}");
    for other in ["shop.list", "shop_list", "shop.purge", "files", "shop_*"] {
        assert!(!said.contains(other), "{other}: {said}");
    }
}

#[tokio::test]
async fn codes_that_many_tools_share_are_told_once_and_to_those_who_have_such_tools() {
    let running = running(|_| {}).await;
    let said = instructions(&running).await;
    assert!(said.contains("Tools shop_* can also fail with: DISK_WORN (ask the user, retryable).\n"), "{said}");
    let listed = running.ask(LEGACY, "tools/list", json!({})).await.result();
    for tool in listed["tools"].as_array().unwrap() {
        assert!(!tool["description"].as_str().unwrap().contains("DISK_WORN"), "{tool}");
        assert!(tool["_meta"].to_string().contains("DISK_WORN"), "programs are told of each tool: {tool}");
    }
    let options = |options: &mut McpOptions| options.profile = Some(Profile::new("few", ["shop.read", "shop.list"]));
    let running = self::running(options).await;
    assert!(!instructions(&running).await.contains("DISK_WORN"), "two tools share nothing");
    assert!(tool(&running, LEGACY, "shop_list").await["description"].as_str().unwrap().contains("DISK_WORN"));
}

#[tokio::test]
async fn the_text_of_a_failure_holds_what_is_acted_on_and_the_rest_is_in_the_envelope_if_that_is_wanted() {
    for whole in [true, false] {
        let running = running(|options| options.form.error_meta = whole).await;
        for version in [LEGACY, MODERN] {
            let result = running.call(version, "shop_read", json!({"id": 404})).await.result();
            assert_eq!(result["_meta"].get("dev.redress/error").is_some(), whole, "{version}");
            assert!(whole || result.get("_meta").is_none());
            let text = result["content"][0]["text"].as_str().unwrap();
            // The id is in the sentence; the shelf and the lines are said nowhere else.
            let expected = concat!(
                "there is no order 404\n",
                r#"{"code":"ORDER_GONE","hint":"List them with `shop_list` first.","retry":"after_fix","#,
                r#""next_actions":[{"tool":"shop_list","arguments":{}}],"details":{"lines":[3,9],"shelf":"B7"}}"#
            );
            assert_eq!(text, expected);
            let refused = running.call(version, "shop_read", json!({"id": "x", "limt": 1})).await.result();
            let told = told(&refused);
            assert_eq!(told["code"], "INVALID_INPUT");
            assert_eq!(told["details"]["issues"].as_array().map(Vec::len), Some(2), "{told}");
        }
    }
}

#[tokio::test]
async fn what_hosts_add_is_dropped_and_counted_and_null_stands_for_not_given() {
    let options = McpOptions::default();
    let dropped = options.dropped_fields.clone();
    let running = running(move |set| {
        set.dropped_fields = options.dropped_fields;
        set.host_fields = vec!["traceId".to_owned()];
    })
    .await;
    let mut expected = 0;
    for version in [LEGACY, MODERN] {
        for (arguments, heard, fields) in [
            (json!({"id": 1, "wait_for_previous": true}), json!({"id": 1}), 1),
            (json!({"id": 1, "toolCallId": "c", "traceId": "t"}), json!({"id": 1}), 2),
            (json!({"id": 1, "limit": null, "order": null, "most": null}), json!({"id": 1}), 0),
            (json!({"id": 1, "after": null}), json!({"id": 1, "after": null}), 0),
        ] {
            let result = running.call(version, "shop_read", arguments.clone()).await.result();
            assert_eq!(result["structuredContent"]["apple"], heard, "{version} {arguments}: {result}");
            expected += fields;
        }
        // Whatever else is not known is refused as before.
        let refused = running.call(version, "shop_read", json!({"id": 1, "wait_for_next": true})).await.result();
        assert_eq!(failure(&refused)["code"], "INVALID_INPUT");
        let refused = running.call(version, "shop_read", json!({"id": null})).await.result();
        assert_eq!(failure(&refused)["code"], "INVALID_INPUT");
    }
    assert_eq!(dropped.count(), expected);
}

#[tokio::test]
async fn what_hosts_add_is_dropped_where_tools_are_found_first() {
    let running = running(|options| options.discovery_above = 0).await;
    let call = json!({"tool": "shop_read", "arguments": {"id": 1, "toolCallId": "a", "limit": null}, "wait_for_previous": true});
    let result = running.call(LEGACY, "redress_call", call.clone()).await.result();
    assert_eq!(result["structuredContent"]["apple"], json!({"id": 1}));
    let member = json!({"tool": "shop_read", "arguments": {"id": 2, "toolCallId": "a", "limit": null}});
    let batch = json!({"calls": [member], "wait_for_previous": true});
    let result = running.call(MODERN, "redress_batch", batch).await.result();
    assert_eq!(result["structuredContent"]["results"][0]["result"]["apple"], json!({"id": 2}), "{result}");
    let unknown = json!({"tool": "shop_raed"});
    let result = running.call(LEGACY, "redress_call", unknown).await.result();
    let told = told(&result);
    assert_eq!(
        (&told["retry"], &told["similar"][0], &told["fix_field"]),
        (&json!("after_fix"), &json!("shop_read"), &json!("tool"))
    );
}

#[tokio::test]
async fn what_a_tool_takes_is_said_in_the_dialect_of_tools() {
    let running = running(|_| {}).await;
    for version in [LEGACY, MODERN] {
        let input = &tool(&running, version, "shop_read").await["inputSchema"];
        let expected = json!({
            "type": "object",
            "properties": {
                "id": {"type": "integer", "description": "As shop_list gives it."},
                "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10, "description": "At most 50, default 10."},
                "after": {"type": "string"},
                "order": {"type": "string", "enum": ["up", "down"], "description": "up: Old ones first."},
                "most": {"type": "integer", "minimum": 0},
            },
            "required": ["id"],
            "additionalProperties": false,
        });
        assert_eq!(*input, expected, "{version}");
    }
}

#[tokio::test]
async fn operations_that_take_a_name_take_that_of_a_tool() {
    let registry = redress_serve::discovery().into_iter().chain([redress_core::consent_grant()]);
    let builder = registry.fold(Registry::builder(), |builder, one| builder.add(one));
    let wipe = contract::OperationDeclaration::mutation("shop.wipe_all").with_summary("Wipe.").with_alias("shop.clean");
    let wipe = wipe.with_access(Access::caller().consent());
    let builder = builder.add(Operation::dynamic(wipe).with_handler(|_, _| async { Ok(json!({})) }));
    let registry = builder.build().unwrap();
    let local = || Some(Arc::new(Caller::local()));
    for name in ["shop.wipe_all", "shop/wipe_all", "shop_wipe_all", "shop_clean", "shop.clean"] {
        let shown = registry.disclosed_operation(name, local().as_deref());
        assert_eq!(shown.map(|shown| shown.name().to_string()).as_deref(), Some("shop.wipe_all"), "{name}");
    }
    assert!(registry.disclosed_operation("shop_wipe_al", local().as_deref()).is_none());
    assert!(registry.disclosed_operation("shop.wipe.all", local().as_deref()).is_none());
    let mut talk = Talk::with(registry, McpOptions::default(), Caller::local());
    talk.hello(json!({})).await;
    talk.send(json!({"id": 1, "method": "tools/call", "params": {"name": "services_schema", "arguments": {"name": "shop_wipe_all"}}}));
    assert_eq!(talk.next().await["result"]["structuredContent"]["name"], "shop.wipe_all");
}

#[tokio::test]
async fn a_server_says_its_own_name_title_and_version() {
    let options = |options: &mut McpOptions| {
        options.name = "shop".to_owned();
        options.title = Some("The shop".to_owned());
        options.version = "7.1.0".to_owned();
    };
    let running = running(options).await;
    let hello = json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let expected = json!({"name": "shop", "title": "The shop", "version": "7.1.0"});
    assert_eq!(running.ask(LEGACY, "initialize", hello).await.result()["serverInfo"], expected);
    let found = running.ask(MODERN, "server/discover", json!({})).await.result();
    assert_eq!(found["_meta"]["io.modelcontextprotocol/serverInfo"], expected);
}

#[test]
fn four_tools_cost_what_is_listed() {
    let mut options = McpOptions::default();
    options.discovery_above = 0;
    let costs = Mcp::new(registry(), options).unwrap().costs(None);
    let mut names: Vec<&str> = costs.iter().map(|cost| cost.tool.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["redress_batch", "redress_call", "redress_schema", "redress_search"]);
}
