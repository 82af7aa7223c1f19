//! Consent is a person's: no tool grants it, and a yes to the client's own question is for one call of one caller.

use std::time::Duration;

use redress_core::{
    Registry, Secret,
    contract::{CONSENT_GRANT, Caller},
};
use redress_mcp::McpOptions;
use serde_json::{Value, json};

use crate::{
    lines::Talk,
    service::failure,
    strangers::{ADA, ADA_ANEW, BOB, Knows, Served},
    talk,
};

fn yes() -> Value {
    json!({"redress.consent": {"action": "accept", "content": {"agree": true}}})
}

/// The call of `first` once more, with the state that it ended with and these answers.
fn again(mut call: Value, first: &Value, answers: Value) -> Value {
    call["requestState"] = first["result"]["requestState"].clone();
    call["inputResponses"] = answers;
    call
}

fn asks_for_consent(answer: &Value) -> bool {
    answer["result"]["inputRequests"]["redress.consent"]["method"] == "elicitation/create"
}

#[tokio::test]
async fn a_yes_is_for_one_call_of_one_caller_with_one_input() {
    let served = Served::that(Knows::Tokens, |_| {}).await;
    let wiped = json!({"wiped": true});
    let call = json!({"name": "talk_wipe", "arguments": {"disk": "a"}});
    let first = served.ask(ADA, "tools/call", call.clone()).await;
    let message = &first["result"]["inputRequests"]["redress.consent"]["params"]["message"];
    assert_eq!(message, "Do you agree to `talk.wipe`, this once? Erase it.\nIts input: {\"disk\":\"a\"}");
    let agreed = again(call.clone(), &first, yes());

    // Another caller, another input, another operation: none of them was agreed to.
    assert_eq!(served.ask(BOB, "tools/call", agreed.clone()).await["error"]["code"], -32602);
    for (name, arguments) in
        [("talk_wipe", json!({"disk": "b"})), ("talk_wipe", json!({})), ("talk_burn", json!({"disk": "a"}))]
    {
        let other = again(json!({"name": name, "arguments": arguments}), &first, yes());
        let refused = served.ask(ADA, "tools/call", other).await;
        assert_eq!(failure(&refused["result"])["code"], "INVALID_REQUEST", "{name} {arguments}: {refused}");
    }
    // None of those has used it up: it is the first state that gives it, and it gives it once.
    let first = served.ask(ADA, "tools/call", call.clone()).await;
    let agreed = again(call.clone(), &first, yes());
    assert_eq!(served.ask(ADA, "tools/call", agreed.clone()).await["result"]["structuredContent"], wiped);
    for who in [ADA, ADA_ANEW] {
        let twice = served.ask(who, "tools/call", agreed.clone()).await;
        assert!(asks_for_consent(&twice), "{twice}");
    }
    assert!(asks_for_consent(&served.ask(ADA, "tools/call", call.clone()).await), "nothing of it is kept");
    // Who is asked anew can agree anew.
    let anew = served.ask(ADA, "tools/call", agreed).await;
    let agreed = again(call, &anew, yes());
    assert_eq!(served.ask(ADA, "tools/call", agreed).await["result"]["structuredContent"], wiped);
}

#[tokio::test]
async fn a_yes_comes_in_time_or_not_at_all() {
    let served = Served::that(Knows::Tokens, |options| options.state_lasts = Duration::ZERO).await;
    let call = json!({"name": "talk_wipe"});
    let first = served.ask(ADA, "tools/call", call.clone()).await;
    assert!(asks_for_consent(&first));
    let late = served.ask(ADA, "tools/call", again(call, &first, yes())).await;
    assert_eq!(late["error"]["code"], -32602, "{late}");
}

#[tokio::test]
async fn an_open_question_is_answered_after_a_reload_and_a_yes_that_was_used_up_stays_so() {
    let served = Served::that(Knows::Tokens, |_| {}).await;
    let call = json!({"name": "talk_wipe", "arguments": {"disk": "a"}});
    let first = served.ask(ADA, "tools/call", call.clone()).await;
    assert!(asks_for_consent(&first));
    served.reload(|_| {});
    let agreed = again(call.clone(), &first, yes());
    let done = served.ask(ADA, "tools/call", agreed.clone()).await;
    assert_eq!(done["result"]["structuredContent"], json!({"wiped": true}), "{done}");
    served.reload(|_| {});
    let twice = served.ask(ADA, "tools/call", agreed).await;
    assert!(asks_for_consent(&twice), "{twice}");
    // With another key nothing of before can be told to be ours.
    served.reload(|options| options.state_key = Some(Secret::new("another key, of more than thirty-two bytes")));
    let other = served.ask(ADA, "tools/call", again(call, &twice, yes())).await;
    assert_eq!(other["error"]["code"], -32602, "{other}");
}

#[tokio::test]
async fn nobody_is_asked_to_agree_to_what_is_too_much_to_be_seen() {
    let served = Served::that(Knows::Tokens, |_| {}).await;
    let ask = async |disk: Value| {
        served.ask(ADA, "tools/call", json!({"name": "talk_wipe", "arguments": {"disk": disk}})).await
    };
    let long = ask(json!("x".repeat(200_000))).await;
    let message = &long["result"]["inputRequests"]["redress.consent"]["params"]["message"];
    assert!(message.as_str().unwrap().contains("…199760 bytes…"), "{long}");
    let many = ask(json!((0..5_000).collect::<Vec<_>>())).await;
    assert_eq!(failure(&many["result"])["code"], "CONSENT_REQUIRED", "{many}");
}

#[tokio::test]
async fn a_yes_that_an_earlier_round_had_is_used_up_with_the_state_that_holds_it() {
    let served = Served::that(Knows::Tokens, |_| {}).await;
    let call = json!({"name": "talk_burn"});
    let first = served.ask(ADA, "tools/call", call.clone()).await;
    let second = served.ask(ADA, "tools/call", again(call.clone(), &first, yes())).await;
    assert_eq!(second["result"]["inputRequests"]["who"]["method"], "elicitation/create", "{second}");
    let named = json!({"who": {"action": "accept", "content": {"name": "Ada"}}});
    let third = again(call, &second, named);
    let done = served.ask(ADA, "tools/call", third.clone()).await;
    assert_eq!(done["result"]["structuredContent"], json!({"burnt": true}), "{done}");
    let replayed = served.ask(ADA, "tools/call", third).await;
    assert!(asks_for_consent(&replayed), "{replayed}");
}

#[tokio::test]
async fn nobody_agrees_by_an_answer_that_was_not_asked_for() {
    let served = Served::that(Knows::Tokens, |_| {}).await;
    let call = json!({"name": "talk_wipe", "inputResponses": yes()});
    assert!(asks_for_consent(&served.ask(ADA, "tools/call", call).await));
    let greet = served.ask(ADA, "tools/call", json!({"name": "talk_greet"})).await;
    let other = again(json!({"name": "talk_wipe"}), &greet, yes());
    assert_eq!(failure(&served.ask(ADA, "tools/call", other).await["result"])["code"], "INVALID_REQUEST");
}

/// A client whose caller has every scope, that of a person included.
struct Person(Talk);

impl Person {
    fn at(registry: Registry, options: McpOptions) -> Person {
        Person(Talk::with(registry, options, Caller::local().scope(CONSENT_GRANT).scope("consent:admin")))
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        let can = json!({"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}});
        self.0.modern(1, method, params, can);
        self.0.next().await
    }
}

#[tokio::test]
async fn to_consent_is_no_tool_by_any_name_and_whatever_scopes_a_caller_has() {
    let wipe = json!({"operation": "talk.wipe"});
    for above in [200, 0] {
        let mut options = McpOptions::default();
        options.discovery_above = above;
        let registry = talk::registry();
        let mut person = Person::at(registry.clone(), options);
        for (method, params) in [
            ("tools/list", json!({})),
            ("prompts/list", json!({})),
            ("resources/list", json!({})),
            ("resources/read", json!({"uri": "redress://operations"})),
            (
                "completion/complete",
                json!({
                    "ref": {"type": "ref/resource", "uri": "redress://operations/{name}"},
                    "argument": {"name": "name", "value": "con"},
                }),
            ),
            ("tools/call", json!({"name": "redress_search", "arguments": {"query": "consent grant agree"}})),
            ("tools/call", json!({"name": "consent_grand", "arguments": {}})),
        ] {
            let answer = person.ask(method, params.clone()).await.to_string();
            for name in ["consent_grant", "consent.grant", "consent_list", "consent.list", "consent.revoke"] {
                assert!(!answer.contains(name), "{method} {params} tells of {name}: {answer}");
            }
        }
        for name in
            ["consent_grant", "consent.grant", "consent/grant", "/consent/grant", "consent_list", "consent_revoke"]
        {
            let direct = person.ask("tools/call", json!({"name": name, "arguments": wipe})).await;
            assert_eq!(direct["error"]["code"], -32602, "{name}: {direct}");
            for (tool, arguments) in [
                ("redress_call", json!({"tool": name, "arguments": wipe})),
                ("redress_batch", json!({"calls": [{"tool": name, "arguments": wipe}]})),
                ("redress_schema", json!({"tools": [name]})),
            ] {
                let answer = person.ask("tools/call", json!({"name": tool, "arguments": arguments})).await.to_string();
                assert!(above > 0 || answer.contains("NOT_FOUND"), "{tool} {name}: {answer}");
            }
            let read = person.ask("resources/read", json!({"uri": format!("redress://operations/{name}")})).await;
            assert!(read["error"].is_object(), "{name}: {read}");
        }
        assert!(registry.consent().list(None).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn that_a_tool_needs_a_consent_stands_in_its_description() {
    let listed = Person::at(talk::registry(), McpOptions::default()).ask("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    for tool in tools {
        let needs = ["talk_wipe", "talk_burn"].contains(&tool["name"].as_str().unwrap());
        let description = tool["description"].as_str().unwrap();
        assert_eq!(description.contains("Needs a person's consent"), needs, "{tool}");
        assert_eq!(description.contains("CONSENT_REQUIRED (ask the user)"), needs, "{tool}");
        assert_eq!(tool["_meta"]["dev.redress/failures"].to_string().contains("CONSENT_REQUIRED"), needs, "{tool}");
    }
    assert!(tools.iter().any(|tool| tool["name"] == "talk_wipe"));
}
