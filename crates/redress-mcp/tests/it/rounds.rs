//! Calls that ask, in the era in which they end with their questions.

use serde_json::{Value, json};

use crate::{
    service::{Answer, MODERN, Running, failure},
    talk,
};

/// Sends a request as a client that can be asked this.
async fn ask(running: &Running, can: Value, method: &str, mut params: Value) -> Answer {
    params["_meta"] = json!({"io.modelcontextprotocol/clientCapabilities": can});
    running.ask(MODERN, method, params).await
}

fn form() -> Value {
    json!({"elicitation": {}})
}

fn named(name: &str) -> Value {
    json!({"action": "accept", "content": {"name": name}})
}

/// The state of a result that asks, after a look at what it asks.
#[track_caller]
fn asks(answer: &Answer, key: &str, method: &str) -> Value {
    let result = answer.result();
    assert_eq!((answer.status, &result["resultType"]), (200, &json!("input_required")), "{answer:?}");
    assert_eq!(result["inputRequests"][key]["method"], method, "{answer:?}");
    assert!(result["requestState"].is_string(), "{answer:?}");
    result["requestState"].clone()
}

#[tokio::test]
async fn a_call_ends_with_its_question_and_goes_on_with_the_answer() {
    let running = talk::running(|_| {}).await;
    let call = json!({"name": "talk_greet", "arguments": {"word": "hi"}});
    let first = ask(&running, form(), "tools/call", call.clone()).await;
    let asked = &first.result()["inputRequests"]["who"]["params"];
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    assert_eq!((&asked["message"], &asked["requestedSchema"]), (&json!("Who are you?"), &schema));
    let state = asks(&first, "who", "elicitation/create");

    let mut again = call.clone();
    again["requestState"] = state.clone();
    again["inputResponses"] = json!({"who": named("Ada"), "nobody asked": named("x")});
    let result = ask(&running, form(), "tools/call", again.clone()).await.result();
    assert_eq!(result["structuredContent"], json!({"greeted": "Ada"}));

    again["inputResponses"] = json!({"who": {"action": "decline"}});
    let declined = ask(&running, form(), "tools/call", again.clone()).await.result();
    assert_eq!(declined["structuredContent"], json!({"greeted": null}));

    // What does not fit is asked for again, and what is missing too.
    for unfit in [json!({"who": {"action": "accept", "content": {"name": 7}}}), json!({"other": named("x")})] {
        again["inputResponses"] = unfit;
        asks(&ask(&running, form(), "tools/call", again.clone()).await, "who", "elicitation/create");
    }
    for wrong in [json!({"who": 7}), json!([]), json!({"who": {"action": "perhaps"}})] {
        again["inputResponses"] = wrong;
        assert_eq!(ask(&running, form(), "tools/call", again.clone()).await.error().0, -32602);
    }
}

#[tokio::test]
async fn a_state_that_was_changed_or_belongs_to_another_call_is_refused() {
    let running = talk::running(|_| {}).await;
    let call = json!({"name": "talk_greet", "arguments": {"word": "hi"}});
    let first = ask(&running, form(), "tools/call", call.clone()).await;
    let state = asks(&first, "who", "elicitation/create").as_str().unwrap().to_owned();
    let middle = state.len() / 2;
    let other = if &state[middle..=middle] == "A" { "B" } else { "A" };
    let changed = format!("{}{other}{}", &state[..middle], &state[middle + 1..]);
    let elsewhere = talk::running(|_| {}).await;
    let foreign = asks(&ask(&elsewhere, form(), "tools/call", call.clone()).await, "who", "elicitation/create");
    for bad in [json!(format!("{state}-TAMPERED")), json!(changed), json!(""), json!(7), foreign] {
        let mut again = call.clone();
        again["requestState"] = bad.clone();
        again["inputResponses"] = json!({"who": named("Ada")});
        let refused = ask(&running, form(), "tools/call", again).await;
        assert_eq!((refused.status, refused.error().0), (200, -32602), "{bad}");
    }
    let other = json!({
        "name": "talk_greet", "arguments": {"word": "bye"}, "requestState": state, "inputResponses": {"who": named("Ada")},
    });
    let refused = failure(&ask(&running, form(), "tools/call", other).await.result());
    assert_eq!(
        (&refused["code"], &refused["details"]["state"]),
        (&json!("INVALID_REQUEST"), &json!("of another call"))
    );
}

#[tokio::test]
async fn a_client_is_asked_only_what_it_says_it_can_be_asked() {
    let running = talk::running(|_| {}).await;
    for (can, tool, needed) in [
        (json!({}), "talk_greet", json!({"elicitation": {"form": {}}})),
        (json!({"elicitation": {"url": {}}, "sampling": {}}), "talk_greet", json!({"elicitation": {"form": {}}})),
        (form(), "talk_sample", json!({"sampling": {}})),
    ] {
        let refused = ask(&running, can, "tools/call", json!({"name": tool})).await;
        assert_eq!((refused.status, refused.error().0), (400, -32021), "{refused:?}");
        let data = &refused.json()["error"]["data"];
        assert_eq!((&data["requiredCapabilities"], &data["code"]), (&needed, &json!("INVALID_OPERATION_TYPE")));
    }
    let sampled = ask(&running, json!({"sampling": {}}), "tools/call", json!({"name": "talk_sample"})).await;
    let state = asks(&sampled, "line", "sampling/createMessage");
    let said = json!({"role": "assistant", "content": {"type": "text", "text": "hm"}, "model": "m"});
    let again = json!({"name": "talk_sample", "requestState": state, "inputResponses": {"line": said}});
    let result = ask(&running, json!({"sampling": {}}), "tools/call", again).await.result();
    assert_eq!(result["structuredContent"], json!({"form": false}));
}

#[tokio::test]
async fn prompts_ask_too() {
    let running = talk::running(|_| {}).await;
    let first = ask(&running, form(), "prompts/get", json!({"name": "talk_asks"})).await;
    let state = asks(&first, "who", "elicitation/create");
    let again = json!({"name": "talk_asks", "requestState": state, "inputResponses": {"who": named("Ada")}});
    let result = ask(&running, form(), "prompts/get", again).await.result();
    assert_eq!(result["messages"][0]["content"]["text"], "asked");
}

#[tokio::test]
async fn a_consent_that_is_declined_falls_back_to_the_failure_and_nothing_in_it_grants_one() {
    let running = talk::running(|_| {}).await;
    let call = json!({"name": "talk_wipe"});
    let first = ask(&running, form(), "tools/call", call.clone()).await;
    let (key, state) = ("redress.consent", asks(&first, "redress.consent", "elicitation/create"));
    let answered = |answer: Value| json!({"name": "talk_wipe", "requestState": state, "inputResponses": {key: answer}});
    let declined = ask(&running, form(), "tools/call", answered(json!({"action": "decline"}))).await.result();
    let envelope = failure(&declined);
    assert_eq!(
        (&envelope["code"], &envelope["recovery"], envelope.get("next_actions")),
        (&json!("CONSENT_REQUIRED"), &json!({"verb": "ask_user"}), None)
    );
    assert!(envelope["hint"].as_str().unwrap().contains("said no"), "{envelope}");
    // Who cannot be asked is told at once how a person agrees. It keeps consents in memory, so that no command of today
    // would help.
    let unasked = failure(&ask(&running, json!({}), "tools/call", call.clone()).await.result());
    assert_eq!(unasked["code"], "CONSENT_REQUIRED");
    let hint = unasked["hint"].as_str().unwrap();
    let command = "`redress consent grant talk.wipe --caller local --state DIR`";
    assert!(hint.contains("in memory") && hint.contains("`--state DIR`") && hint.contains(command), "{unasked}");
    let agreed = json!({"action": "accept", "content": {"agree": true}});
    let done = ask(&running, form(), "tools/call", answered(agreed)).await.result();
    assert_eq!(done["structuredContent"], json!({"wiped": true}));
    let again = failure(&ask(&running, json!({}), "tools/call", call).await.result());
    assert_eq!(again["code"], "CONSENT_REQUIRED", "it was for one call");
}
