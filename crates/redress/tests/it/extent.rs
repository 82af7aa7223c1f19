//! How deep an input may nest and how much it may hold.

use redress::{
    Layers, Operation, Registry, Request,
    contract::{self, Access},
};
use serde_json::{Value, json};

fn registry(fittings: Layers) -> Registry {
    let take = contract::OperationDeclaration::query("demo.take")
        .with_summary("Take it.")
        .with_access(Access::anyone())
        .with_input(json!({"type": "object"}));
    let take = Operation::dynamic(take).with_handler(|_, _| async move { Ok(json!("taken")) });
    Registry::builder().add(take).build().unwrap().with_layers(fittings)
}

async fn call(registry: &Registry, input: &str) -> (Option<String>, Value) {
    let envelope = registry.call("demo.take", Request::new(input.as_bytes())).await;
    let details = envelope.problem().and_then(|problem| problem.details.as_ref());
    let details = details.map_or(Value::Null, |details| serde_json::from_str(details.get()).unwrap());
    (envelope.code().map(str::to_owned), details)
}

fn nested(depth: usize) -> String {
    // The object is a level itself.
    format!(r#"{{"a":{}1{}}}"#, "[".repeat(depth - 1), "]".repeat(depth - 1))
}

#[tokio::test]
async fn an_input_that_nests_too_deep_is_refused_with_how_deep_it_may() {
    let registry = registry(Layers::new().json_depth(5));
    assert_eq!(call(&registry, &nested(5)).await.0, None);
    let refused = call(&registry, &nested(6)).await;
    assert_eq!(refused, (Some("PAYLOAD_TOO_LARGE".to_owned()), json!({"limit_depth": 5})));
}

#[tokio::test]
async fn an_input_that_holds_too_much_is_refused_with_how_much_it_may() {
    let registry = registry(Layers::new().json_members(4));
    assert_eq!(call(&registry, r#"{"a": [1, 2, 3]}"#).await.0, None);
    let refused = call(&registry, r#"{"a": [1, 2, 3, "four"]}"#).await;
    assert_eq!(refused, (Some("PAYLOAD_TOO_LARGE".to_owned()), json!({"limit_members": 4})));
}

#[tokio::test]
async fn what_nests_deeper_than_the_parser_goes_is_no_syntax_error() {
    let registry = registry(Layers::new());
    assert_eq!(call(&registry, &nested(127)).await.0, None);
    for depth in [128, 5_000] {
        let refused = call(&registry, &nested(depth)).await;
        assert_eq!(refused, (Some("PAYLOAD_TOO_LARGE".to_owned()), json!({"limit_depth": 127})), "{depth}");
    }
    assert_eq!(call(&registry, "[1,").await.0.as_deref(), Some("PARSE_ERROR"));
}

#[tokio::test]
async fn a_result_that_is_too_large_names_the_members_that_take_much_of_it_and_no_others() {
    let output = json!({
        "type": "object", "properties": {"hits": {"type": "string"}, "page": {"type": "string"}},
    });
    let declaration = crate::service::query("demo.search").with_output(output);
    let search = crate::service::ends(declaration, || Ok(json!({"hits": "x".repeat(8_000), "page": "7"})));
    let harness = crate::service::built(Registry::builder().add(search).max_output(4_096));
    let problem = harness.call("demo.search", json!({})).await.problem().clone();
    assert_eq!(problem.code.as_str(), "RESULT_TOO_LARGE");
    let details = serde_json::to_value(&problem.details).unwrap();
    assert_eq!(details["largest"], json!([{"pointer": "/hits", "bytes": 8_002}]));
}
