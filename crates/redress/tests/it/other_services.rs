//! What another service is the reason of: its codes, the effect that a handler knows of, and answers that break their word.

use redress::{
    DynamicFailure, Effect, Face, Operation, Registry, Request, UpstreamFailure,
    contract::{Json, Kind, OutputBreach},
};
use serde_json::{Value, json};

use crate::service::{Watch, built, ends, failure, mutation, query, with};

async fn ended(declaration: redress::contract::OperationDeclaration, made: fn() -> UpstreamFailure) -> Value {
    let name = declaration.name().to_string();
    with(ends(declaration, move || Err(made())?)).call(&name, json!({})).await.json()
}

#[tokio::test]
async fn whether_a_call_may_be_made_again_goes_by_the_effect_that_the_handler_knows_of() {
    let never_sent = || UpstreamFailure::unreachable(Effect::None).with_retry_after_ms(300);
    let cut_off = || UpstreamFailure::unreachable(Effect::Unknown).with_retry_after_ms(300);
    for (declaration, made, retry, after) in [
        (mutation("orders.pay"), never_sent as fn() -> UpstreamFailure, "safe", json!(300)),
        (mutation("orders.pay"), cut_off, "unsafe", Value::Null),
        (query("orders.get"), never_sent, "safe", json!(300)),
        (query("orders.get"), cut_off, "safe", json!(300)),
    ] {
        let envelope = ended(declaration, made).await;
        assert_eq!(
            (&envelope["code"], &envelope["retry"]),
            (&json!("UPSTREAM_UNREACHABLE"), &json!(retry)),
            "{envelope}"
        );
        assert_eq!(envelope["retryable"], retry == "safe");
        assert_eq!(envelope.get("retry_after_ms").cloned().unwrap_or_default(), after, "{envelope}");
    }
}

#[tokio::test]
async fn only_what_another_service_is_the_reason_of_can_be_raised() {
    for (made, code, http) in [
        (UpstreamFailure::undeclared as fn() -> UpstreamFailure, "UPSTREAM_UNDECLARED", 502),
        (UpstreamFailure::credentials_required, "CREDENTIALS_REQUIRED", 424),
        (UpstreamFailure::contract_changed, "CONTRACT_CHANGED", 503),
        (UpstreamFailure::result_too_large, "RESULT_TOO_LARGE", 422),
        (UpstreamFailure::overloaded, "OVERLOADED", 503),
        (|| UpstreamFailure::unsendable("id", "a text"), "INVALID_INPUT", 400),
    ] {
        let envelope = ended(query("orders.get"), made).await;
        assert_eq!((&envelope["code"], &envelope["http"]), (&json!(code), &json!(http)));
        assert_eq!(envelope["retryable"], code == "OVERLOADED", "{envelope}");
    }
}

#[tokio::test]
async fn a_mutation_whose_answer_is_too_large_was_made() {
    let envelope = ended(mutation("orders.pay"), UpstreamFailure::result_too_large).await;
    assert_eq!((&envelope["retry"], &envelope["effect"]), (&json!("never"), &json!("unknown")));
    assert!(envelope["hint"].as_str().unwrap().starts_with("The change was made"));
}

#[tokio::test]
async fn the_cause_is_for_the_log_alone() {
    let made = || UpstreamFailure::unreachable(Effect::None).with_cause(std::io::Error::other("connect to 10.0.0.7"));
    let envelope = ended(query("orders.get"), made).await;
    assert!(!envelope.to_string().contains("10.0.0.7"), "{envelope}");
}

#[tokio::test]
async fn details_of_another_service_that_break_their_schema_are_not_this_ones_fault() {
    let declared = failure("HTTP_404", Kind::NotFound)
        .with_details(json!({"type": "object", "properties": {"body": {"type": "string"}}}));
    let raised = |details: Value| {
        let declaration = query("orders.get").fails(declared.clone());
        let failing = Operation::dynamic(declaration).with_handler(move |_, _| {
            let failure = DynamicFailure::new("HTTP_404", details.clone());
            let failure =
                failure.otherwise(|unfit| UpstreamFailure::undeclared().with_details(json!({"members": unfit.len()})));
            std::future::ready(Err(failure.into()))
        });
        with(failing)
    };
    let fits = raised(json!({"body": "none"})).call("orders.get", json!({})).await;
    assert_eq!(fits.code(), Some("HTTP_404"));
    let unfit = raised(json!({"body": 7})).call("orders.get", json!({})).await;
    assert_eq!((unfit.code(), unfit.details()), (Some("UPSTREAM_UNDECLARED"), json!({"members": 1})));
}

#[tokio::test]
async fn an_output_that_breaks_its_schema_is_refused_or_marked_as_its_operation_says() {
    let schema = json!({"type": "object", "properties": {"id": {"type": "integer"}}});
    let gives = |breach, json: &'static str| {
        let declaration = query("orders.get").with_output(schema.clone()).with_output_breach(breach);
        let handler = move |_, _| std::future::ready(Ok(Json::from_written(json.to_owned())));
        Operation::dynamic(declaration).with_json_handler(handler)
    };
    for (breach, code) in
        [(OutputBreach::Invalid, Some("INVALID_OUTPUT")), (OutputBreach::Undeclared, Some("UPSTREAM_UNDECLARED"))]
    {
        let answer = with(gives(breach, r#"{"id":"x"}"#)).call("orders.get", json!({})).await;
        assert_eq!(answer.code(), code);
    }
    let watch = Watch::default();
    let harness = built(Registry::builder().observer(watch.clone()).add(gives(OutputBreach::Marked, r#"{"id":"x"}"#)));
    let answer = harness.call("orders.get", json!({})).await.json();
    assert_eq!((&answer["ok"], &answer["result"]), (&json!(true), &json!({"id": "x"})));
    assert_eq!(answer["_meta"]["output_breach"], json!({"pointer": "/id", "rule": "type"}));
    let fits = with(gives(OutputBreach::Marked, r#"{"id":1.0}"#)).call("orders.get", json!({})).await;
    assert!(!fits.json()["_meta"].as_object().unwrap().contains_key("output_breach"));
    let text = String::from_utf8(fits.bytes()).unwrap();
    assert!(text.contains(r#""result":{"id":1.0}"#), "as it was written: {text}");
    let no_json = with(gives(OutputBreach::Marked, "{")).call("orders.get", json!({})).await;
    assert_eq!(no_json.code(), Some("INVALID_OUTPUT"), "what is no JSON is of no use to anybody");
}

#[tokio::test]
async fn an_agent_is_given_less_and_told_what_makes_an_answer_smaller() {
    let declaration = query("orders.list")
        .with_output(json!({"type": "object", "properties": {"items": {"type": "array"}}}))
        .with_max_output_for_agents(100)
        .with_narrowing(["limit", "fields"]);
    let harness = with(ends(declaration, || Ok(json!({"items": vec!["one of many"; 50]}))));
    let ask = |face| harness.send("orders.list", Request::new(&b"{}"[..]).with_face(face));
    assert_eq!(ask(Face::Http).await.code(), None);
    let answer = ask(Face::Mcp).await;
    assert_eq!(answer.code(), Some("RESULT_TOO_LARGE"));
    let details = answer.details();
    assert_eq!((&details["limit_bytes"], &details["narrow_by"]), (&json!(100), &json!(["limit", "fields"])));
    assert_eq!(details["largest"][0]["pointer"], "/items");
}
