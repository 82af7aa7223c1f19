//! Prompts, documents, completions and pieces to look at, in both eras.

use serde_json::{Value, json};

use crate::{
    service::{LEGACY, MODERN},
    talk,
};

fn names(list: &Value, member: &str, name: &str) -> Vec<String> {
    list[member].as_array().unwrap().iter().map(|item| item[name].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn prompts_and_documents_have_lists_of_their_own_and_are_no_tools() {
    let running = talk::running(|_| {}).await;
    for version in [LEGACY, MODERN] {
        let list = async |method| running.ask(version, method, json!({})).await.result();
        let tools = names(&list("tools/list").await, "tools", "name");
        let plain = [
            "talk_beta",
            "talk_burn",
            "talk_change",
            "talk_greet",
            "talk_note",
            "talk_sample",
            "talk_show",
            "talk_wipe",
        ];
        assert_eq!(tools, plain);
        let prompts = list("prompts/list").await;
        assert_eq!(names(&prompts, "prompts", "name"), ["talk_asks", "talk_review"]);
        assert_eq!(prompts["prompts"][1]["arguments"], json!([{"name": "path", "required": true}]));
        let documents = names(&list("resources/list").await, "resources", "uri");
        assert_eq!(documents, ["redress://errors", "redress://operations", "talk://readme", "talk://secret"]);
        let templates = names(&list("resources/templates/list").await, "resourceTemplates", "uriTemplate");
        assert_eq!(templates, ["redress://errors/{code}", "redress://operations/{name}", "talk://pages/{name}"]);
        let cached = list("resources/list").await.get("ttlMs").is_some();
        assert_eq!(cached, version == MODERN);
    }
}

#[tokio::test]
async fn prompts_give_messages_and_documents_their_parts() {
    let running = talk::running(|_| {}).await;
    for version in [LEGACY, MODERN] {
        let get = json!({"name": "talk_review", "arguments": {"path": "a.md"}});
        let prompt = running.ask(version, "prompts/get", get).await.result();
        assert_eq!(prompt["messages"], json!([{"role": "user", "content": {"type": "text", "text": "Review a.md."}}]));
        assert_eq!(prompt["description"], "One of those that talk.");
        let read = async |uri: &str| running.ask(version, "resources/read", json!({"uri": uri})).await;
        let readme = read("talk://readme").await.result();
        assert_eq!(
            readme["contents"],
            json!([{"uri": "talk://readme", "mimeType": "text/markdown", "text": "# Hello"}])
        );
        let page = read("talk://pages/a").await.result();
        assert_eq!(page["contents"], json!([{"uri": "talk://pages/a", "mimeType": "image/gif", "blob": "R0lG"}]));
        let about = read("redress://errors/PAGE_MISSING").await.result();
        let about: Value = serde_json::from_str(about["contents"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!((&about["code"], &about["operations"]), (&json!("PAGE_MISSING"), &json!([{"name": "talk.page"}])));
        let about = read("redress://operations/talk.page").await.result();
        assert!(about["contents"][0]["text"].as_str().unwrap().contains("PAGE_MISSING"));
    }
}

#[tokio::test]
async fn what_is_not_there_is_an_error_with_the_envelope_as_its_data() {
    let running = talk::running(|_| {}).await;
    for (version, missing) in [(LEGACY, -32002), (MODERN, -32602)] {
        for (uri, code) in [
            ("talk://pages/none", "PAGE_MISSING"),
            ("talk://nowhere", "NOT_FOUND"),
            ("redress://errors/NO_SUCH", "NOT_FOUND"),
            ("redress://operations/talk.paths", "NOT_FOUND"),
        ] {
            let answer = running.ask(version, "resources/read", json!({"uri": uri})).await;
            let error = &answer.json()["error"];
            assert_eq!((answer.status, &error["code"]), (200, &json!(missing)), "{version} {uri} {error}");
            assert_eq!((&error["data"]["uri"], &error["data"]["code"]), (&json!(uri), &json!(code)));
        }
        let unknown = running.ask(version, "prompts/get", json!({"name": "talk_revew"})).await.json();
        assert_eq!(unknown["error"]["code"], -32602);
        assert_eq!(unknown["error"]["data"]["similar"][0]["value"], "talk_review");
        let bad = running.ask(version, "prompts/get", json!({"name": "talk_review", "arguments": {}})).await.json();
        assert_eq!((&bad["error"]["code"], &bad["error"]["data"]["code"]), (&json!(-32602), &json!("INVALID_INPUT")));
    }
}

#[tokio::test]
async fn arguments_are_completed() {
    let running = talk::running(|_| {}).await;
    for version in [LEGACY, MODERN] {
        let complete = async |reference: Value, name: &str, value: &str| {
            let params = json!({"ref": reference, "argument": {"name": name, "value": value}});
            running.ask(version, "completion/complete", params).await
        };
        let review = json!({"type": "ref/prompt", "name": "talk_review"});
        let values = complete(review, "path", "wor").await.result();
        assert_eq!(values["completion"], json!({"values": ["work.md", "world.md"], "total": 2, "hasMore": false}));
        let code = json!({"type": "ref/resource", "uri": "redress://errors/{code}"});
        let values = complete(code, "code", "page").await.result();
        assert_eq!(values["completion"]["values"], json!(["PAGE_MISSING"]));
        let nothing = json!({"type": "ref/prompt", "name": "talk_no"});
        assert_eq!(complete(nothing, "path", "").await.error().0, -32602);
    }
}

#[tokio::test]
async fn a_key_where_none_is_taken_is_refused_whatever_the_method() {
    let running = talk::running(|_| {}).await;
    for version in [LEGACY, MODERN] {
        let review = json!({"type": "ref/prompt", "name": "talk_review"});
        let code = json!({"type": "ref/resource", "uri": "redress://errors/{code}"});
        for (method, mut params) in [
            ("prompts/get", json!({"name": "talk_review", "arguments": {"path": "a.md"}})),
            ("resources/read", json!({"uri": "talk://readme"})),
            ("resources/read", json!({"uri": "redress://errors"})),
            ("completion/complete", json!({"ref": review, "argument": {"name": "path", "value": "wor"}})),
            ("completion/complete", json!({"ref": code, "argument": {"name": "code", "value": "page"}})),
        ] {
            assert!(running.ask(version, method, params.clone()).await.json()["result"].is_object(), "{method}");
            for key in ["k", "two words"] {
                params["_meta"] = json!({"dev.redress/idempotency_key": key});
                let refused = running.ask(version, method, params.clone()).await.json();
                assert_eq!(refused["error"]["data"]["code"], "INVALID_REQUEST", "{version} {method} {refused}");
            }
            params["_meta"] = json!({});
            let (body, headers) = crate::service::message(version, method, params);
            let mut headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, &**value)).collect();
            headers.push(("idempotency-key", "k"));
            let refused = running.send(body, &headers).await.json();
            assert_eq!(refused["error"]["data"]["code"], "INVALID_REQUEST", "{version} {method} {refused}");
        }
    }
}

#[tokio::test]
async fn pieces_to_look_at_are_the_content_and_promise_no_schema() {
    let running = talk::running(|_| {}).await;
    for version in [LEGACY, MODERN] {
        let result = running.call(version, "talk_show", json!({})).await.result();
        let image = json!({"type": "image", "data": "R0lG", "mimeType": "image/gif"});
        assert_eq!(result["content"], json!([{"type": "text", "text": "a dot"}, image]));
        assert_eq!(result.get("structuredContent"), None);
        let list = running.ask(version, "tools/list", json!({})).await.result();
        let show = list["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "talk_show").unwrap().clone();
        assert_eq!(show.get("outputSchema"), None);
    }
}

#[tokio::test]
async fn only_what_there_is_and_can_be_done_is_advertised() {
    let running = talk::running(|_| {}).await;
    let modern = running.ask(MODERN, "server/discover", json!({})).await.result();
    let changes = json!({"listChanged": true});
    let whole = json!({
        "tools": changes, "prompts": changes, "resources": {"subscribe": true, "listChanged": true},
        "completions": {}, "logging": {},
    });
    assert_eq!(modern["capabilities"], whole);
    let hello = json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let alone = running.ask(LEGACY, "initialize", hello).await.result();
    assert_eq!(alone["capabilities"], json!({"tools": {}, "prompts": {}, "resources": {}, "completions": {}}));
    let plain = crate::service::Running::start().await.ask(MODERN, "server/discover", json!({})).await.result();
    assert_eq!(plain["capabilities"].get("prompts"), None);
}
