//! The examples that operations declare are what really happens.

use redress::{
    Caller, DynamicFailure, Events, Kind, Operation, Registry,
    contract::{self, Example, ExampleEnding},
    testing::{Examples, Harness},
};
use serde_json::{Value, json};

use crate::service::{built, failure, query, subscription};

#[expect(dead_code, reason = "the example is a program, and only its registry is looked at here")]
#[path = "../../../../examples/orders.rs"]
mod orders;

#[tokio::test]
async fn the_examples_of_the_orders_example_hold() {
    let clerk = Caller::new("clerk").scopes(["orders:read", "orders:write"]);
    let report = Examples::of(Harness::new(orders::registry()).as_caller(clerk)).run().await;
    report.assert_hold();
    assert_eq!(report.held, 8);
}

fn shown(input: Value, output: Value) -> Example {
    Example { input, ending: ExampleEnding::Output(output) }
}

fn failed(input: Value, code: &str) -> Example {
    Example { input, ending: ExampleEnding::Failure(code.to_owned()) }
}

/// An operation that gives back its input, or fails where that is `{"fail": true}`.
fn echo(examples: impl IntoIterator<Item = Example>) -> Operation {
    let declaration = query("echo.it").fails(failure("NO_ECHO", Kind::NotFound)).fails(failure("MUTE", Kind::Conflict));
    let declaration = examples.into_iter().fold(declaration, contract::OperationDeclaration::with_example);
    Operation::dynamic(declaration).with_handler(|_, input: Value| async move {
        if input["fail"] == true { Err(DynamicFailure::new("NO_ECHO", json!({})))? } else { Ok(input) }
    })
}

/// What is told of the examples that do not hold.
async fn told(examples: Vec<Example>) -> Vec<String> {
    let report = Examples::of(built(Registry::builder().add(echo(examples)))).run().await;
    report.broken.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn an_example_that_does_not_hold_is_told_with_where_it_differs() {
    let given = json!({"a": {"b": [1, 2]}, "c": "d"});
    let broken = [
        (shown(given.clone(), json!({"a": {"b": [1, 3]}})), "the answer has 2 at `/a/b/1`, and the example says 3"),
        (shown(given.clone(), json!({"a": {"b": [1]}})), "the answer has [1,2] at `/a/b`, and the example says [1]"),
        (shown(given.clone(), json!({"e": 1})), "the answer has nothing at `/e`"),
        (shown(given.clone(), json!([])), r#"the answer is {"a":{"b":[1,2]},"c":"d"}, and the example says []"#),
        (shown(json!({"fail": true}), json!({})), "the call ends with NO_ECHO, and the example with an output"),
        (failed(json!({"fail": true}), "MUTE"), "the call ends with NO_ECHO, and the example with MUTE"),
        (failed(json!({}), "MUTE"), "the call ends well, and the example with MUTE"),
    ];
    for (example, says) in broken {
        assert_eq!(told(vec![example]).await, [format!("echo.it, example 1: {says}")]);
    }
    let held = vec![shown(given, json!({"c": "d"})), failed(json!({"fail": true}), "NO_ECHO")];
    assert_eq!(told(held).await, [""; 0]);
}

#[tokio::test]
async fn what_differs_each_time_is_there_and_not_compared() {
    let examples =
        [shown(json!({"id": 7, "of": "a"}), json!({"id": 1, "of": "a"})), shown(json!({}), json!({"id": 1}))];
    let report = Examples::of(built(Registry::builder().add(echo(examples)))).varying("echo.it", "/id").run().await;
    assert_eq!(report.held, 1);
    assert_eq!(report.broken[0].says, "the answer has nothing at `/id`");
}

#[tokio::test]
async fn of_a_stream_the_first_item_is_the_output_and_its_end_the_failure() {
    let declaration = subscription("count.up")
        .fails(failure("ENOUGH", Kind::Conflict))
        .with_example(shown(json!({}), json!(1)))
        .with_example(failed(json!({}), "ENOUGH"))
        .with_example(shown(json!({}), json!(2)));
    let count = Operation::dynamic(declaration).with_stream_handler(|_, _: Value| async {
        let items = [Ok(json!(1)), Ok(json!(2)), Err(DynamicFailure::new("ENOUGH", json!({})).into())];
        Ok(Events::new(futures_util::stream::iter(items)))
    });
    let report = Examples::of(built(Registry::builder().add(count))).run().await;
    assert_eq!((report.held, report.broken.len()), (2, 1));
}

#[tokio::test]
async fn what_nobody_outside_can_call_is_told_and_not_run() {
    let hidden = query("echo.hidden").internal().with_example(shown(json!({}), json!(1)));
    let hidden = Operation::dynamic(hidden).with_handler(|_, _| async { Ok(json!(1)) });
    let report = Examples::of(built(Registry::builder().add(hidden))).run().await;
    assert_eq!((report.held, report.broken.len(), report.internal[0].as_str()), (0, 0, "echo.hidden"));
}

#[tokio::test]
#[should_panic(expected = "no example was run")]
async fn a_report_of_nothing_does_not_hold() {
    Examples::of(built(Registry::builder().add(echo([])))).run().await.assert_hold();
}
