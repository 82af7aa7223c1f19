//! A registry with one of everything, for the tests and for the server that they start.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt as _, stream};
use redress_core::{
    DynamicFailure, Events, Fail, Operation, Progress, Registry,
    contract::{self, Access, Caller, Effect, FailureDeclaration, Kind, Recovery},
    testing::Canary,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// What the handler that waits lets a test see.
#[derive(Default)]
pub(crate) struct Watched {
    pub(crate) started: Notify,
    pub(crate) dropped: Notify,
    pub(crate) runs: AtomicUsize,
}

struct Dropped(Arc<Watched>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.dropped.notify_one();
    }
}

#[expect(clippy::print_stdout, reason = "some operation will do it")]
fn print() {
    println!("printed by an operation");
}

fn missing() -> FailureDeclaration {
    FailureDeclaration::new("THING_MISSING", Kind::NotFound)
        .with_when("There is no such thing.")
        .with_message("no thing {id}")
        .with_effect(Effect::None)
        .with_details(json!({"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}))
        .with_recovery(Recovery::call("demo.number", "Ask for the number of things first."))
}

fn object(properties: Value, required: Value) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// The operations, of which those at fault hold a secret that must stay where it is.
pub(crate) fn registry(canary: &Canary, watched: &Arc<Watched>) -> Registry {
    build(canary, watched, |builder| builder)
}

pub(crate) fn build(
    canary: &Canary,
    watched: &Arc<Watched>,
    more: impl FnOnce(redress_core::Builder) -> redress_core::Builder,
) -> Registry {
    let open =
        |operation: contract::OperationDeclaration| operation.with_summary("One of all.").with_access(Access::anyone());
    let greet = open(contract::OperationDeclaration::query("demo.greet"))
        .with_input(object(
            json!({"name": {"type": "string", "format": "vendor"}, "times": {"type": "integer", "maximum": 9}}),
            json!(["name"]),
        ))
        .with_output(object(json!({"message": {"type": "string"}}), json!(["message"])));
    let greet = Operation::dynamic(greet).with_handler(|_, input| async move {
        Ok(json!({"message": format!("hello \"{}\"", input["name"].as_str().unwrap_or_default())}))
    });
    let number = open(contract::OperationDeclaration::query("demo.number")).with_output(json!({"type": "integer"}));
    let number = Operation::dynamic(number).with_handler(|_, _| async { Ok(json!(7)) });
    let find = open(contract::OperationDeclaration::query("demo.find")).fails(missing());
    let find = Operation::dynamic(find)
        .with_handler(|_, _| async { Err(DynamicFailure::new("THING_MISSING", json!({"id": 7})))? });
    let secret = canary.plant("the cause of a contained error");
    let fault =
        Operation::dynamic(open(contract::OperationDeclaration::query("demo.fault"))).with_handler(move |_, _| {
            let text = format!("cannot open {secret}");
            async move { Err(Fail::contain(text)) }
        });
    let text = canary.plant("a panic");
    let panics =
        Operation::dynamic(open(contract::OperationDeclaration::query("demo.panic"))).with_handler(move |_, _| {
            let text = text.clone();
            async move {
                print();
                panic!("{text}")
            }
        });
    let slow = open(contract::OperationDeclaration::query("demo.slow")).with_deadline(Duration::from_millis(30));
    let slow = Operation::dynamic(slow).with_handler(|_, _| std::future::pending());
    let seen = Arc::clone(watched);
    let wait =
        Operation::dynamic(open(contract::OperationDeclaration::mutation("demo.wait"))).with_handler(move |_, _| {
            let seen = Arc::clone(&seen);
            async move {
                let _dropped = Dropped(Arc::clone(&seen));
                seen.started.notify_one();
                std::future::pending().await
            }
        });
    let seen = Arc::clone(watched);
    let once = open(contract::OperationDeclaration::mutation("demo.once")).with_idempotency_key();
    let once = Operation::dynamic(once).with_handler(move |_, _| {
        let run = seen.runs.fetch_add(1, Ordering::SeqCst);
        async move { Ok(json!({"run": run})) }
    });
    let closed = contract::OperationDeclaration::query("demo.closed").with_summary("Needs a scope.");
    let closed = closed.with_access(Access::caller().scope("demo:closed"));
    let closed =
        Operation::dynamic(closed).with_handler(|ctx, _| async move { Ok(json!(ctx.caller().map(Caller::id))) });
    let hidden = contract::OperationDeclaration::query("demo.hidden").with_summary("Hidden.").internal();
    let hidden = Operation::dynamic(hidden).with_handler(|_, _| async { Ok(json!("hidden")) });
    let count = open(contract::OperationDeclaration::subscription("demo.count"))
        .fails(missing())
        .with_deadline(Duration::from_secs(2))
        .with_input(object(json!({"to": {"type": "integer"}, "then": {"type": "string"}}), json!([])))
        .with_output(json!({"type": "integer"}));
    let count = Operation::dynamic(count).with_stream_handler(|_, input| async move {
        let items = stream::iter((1..=input["to"].as_i64().unwrap_or(3)).map(|n| Ok(json!(n))));
        Ok(match input["then"].as_str().unwrap_or("end") {
            "fail" => Events::new(items.chain(stream::once(async {
                Err(Fail::from(DynamicFailure::new("THING_MISSING", json!({"id": 7}))))
            }))),
            "hang" => Events::new(items.chain(stream::pending())),
            _ => Events::new(items),
        })
    });
    let steps = Operation::dynamic(open(contract::OperationDeclaration::query("demo.steps"))).with_handler(
        |ctx, _| async move {
            for done in [1.0, 2.0, 2.0, f64::NAN, 1.0, 3.0] {
                ctx.progress(Progress::new(done).of(3.0).saying("counting"));
            }
            Ok(json!({"done": true}))
        },
    );
    let all = [greet, number, steps, find, fault, panics, slow, wait, once, closed, hidden, count];
    let builder = all.into_iter().fold(Registry::builder().max_input(64 * 1024), |builder, one| builder.add(one));
    more(builder).build().unwrap()
}
