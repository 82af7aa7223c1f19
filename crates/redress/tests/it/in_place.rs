//! What is small is done where the call runs, without a wait; what may take long is not.

use futures_util::FutureExt as _;
use redress::{Operation, Registry, Request};
use serde_json::json;

use crate::service::{built, query};

/// The largest input whose refusal is explained where the call runs.
const SHORT: usize = redress_core::offload::LARGE / 16;

/// An input that is refused, of so many bytes.
fn refused(bytes: usize) -> String {
    let input = |padding: usize| json!({"text": 7, "padding": "x".repeat(padding)}).to_string();
    input(bytes - input(0).len())
}

#[tokio::test]
async fn a_long_refusal_is_explained_elsewhere_and_a_short_one_in_place() {
    let declaration = query("demo.take").with_input(json!({
        "type": "object", "properties": {"text": {"type": "string"}, "padding": {"type": "string"}},
    }));
    let take = Operation::dynamic(declaration).with_handler(|_, _| async { Ok(json!({})) });
    let harness = built(Registry::builder().add(take));
    for (bytes, in_place) in [(SHORT, true), (SHORT + 1, false)] {
        let input = refused(bytes);
        assert_eq!(input.len(), bytes);
        let ended = harness.send("demo.take", Request::new(input.as_bytes())).now_or_never();
        assert_eq!(ended.is_some(), in_place, "{bytes} bytes");
        let answer = harness.send("demo.take", Request::new(input.as_bytes())).await;
        assert_eq!(answer.problem().code.as_str(), "INVALID_INPUT");
    }
}

/// How long an explanation takes is the schema's doing as much as the input's.
#[tokio::test]
async fn a_short_input_that_takes_many_steps_to_explain_is_explained_elsewhere_and_alike() {
    let node = json!({"$ref": "#/$defs/node"});
    let declaration = query("demo.tree").with_input(json!({
        "type": "object", "properties": {"tree": node}, "required": ["tree"],
        "$defs": {"node": {"oneOf": [
            {"type": "object", "properties": {"left": node}, "required": ["left"], "additionalProperties": false},
            {"type": "object", "properties": {"left": node, "right": node}, "required": ["left", "right"]},
            {"type": "integer"},
        ]}},
    }));
    let take = Operation::dynamic(declaration).with_handler(|_, _| async { Ok(json!({})) });
    let harness = built(Registry::builder().add(take));
    let tree = |depth: usize| format!(r#"{{"tree":{}"no"{}}}"#, r#"{"left":"#.repeat(depth), "}".repeat(depth));
    for (depth, in_place) in [(1, true), (50, false)] {
        let input = tree(depth);
        assert!(input.len() < SHORT);
        // What is made for the first refusal of a schema is made once.
        harness.send("demo.tree", Request::new(input.as_bytes())).await;
        let ended = harness.send("demo.tree", Request::new(input.as_bytes())).now_or_never();
        assert_eq!(ended.is_some(), in_place, "{depth} deep");
        let problem = harness.send("demo.tree", Request::new(input.as_bytes())).await.problem().clone();
        assert_eq!(problem.code.as_str(), "INVALID_INPUT");
        let issues = problem.details.unwrap().get().to_owned();
        assert!(issues.contains("/tree"), "{issues}");
    }
}
