//! Operations and codes that come as one bundle, with a configuration, and go as one.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use redress::{
    Caller, DynamicFailure, EndedCall, Extension, Kind, Observer, Operation, Recovery, Registry, Request, contract,
};
use serde_json::json;

/// Counts the calls of the whole service while it records.
struct Counter(Arc<AtomicBool>);

impl Observer for Counter {
    fn ended(&self, call: &EndedCall<'_>) {
        let name = call.operation.map_or("nothing", |operation| operation.name().as_str());
        if self.0.load(Ordering::SeqCst) {
            println!("recorded {name}");
        }
    }
}

/// A recorder. Everything that it brings is declared as data, as a plugin would from a file.
fn trace() -> Extension {
    // Codes are written bare, and leave as `trace.NOT_RECORDING`: two extensions never clash.
    let not_recording = contract::FailureDeclaration::new("NOT_RECORDING", Kind::Conflict)
        .with_when("No recording is running.")
        .with_effect(contract::Effect::None)
        .with_recovery(Recovery::call("trace.start", "Start a recording first, then stop it."));
    let recording = Arc::new(AtomicBool::new(false));
    let started = Arc::clone(&recording);
    let counter = Counter(Arc::clone(&recording));
    let start = contract::OperationDeclaration::mutation("trace.start").with_summary("Start a recording.");
    let start = Operation::dynamic(start).with_handler(move |_ctx, _input| {
        started.store(true, Ordering::SeqCst);
        async { Ok(json!({"recording": true})) }
    });
    let stop =
        contract::OperationDeclaration::mutation("trace.stop").with_summary("Stop the recording.").fails(not_recording);
    let stop = Operation::dynamic(stop).with_handler(move |_ctx, _input| {
        let ran = recording.swap(false, Ordering::SeqCst);
        async move {
            if ran { Ok(json!({"recording": false})) } else { Err(DynamicFailure::new("NOT_RECORDING", json!({})))? }
        }
    });
    Extension::new("trace", "1.0.0")
        .requires("^0.1")
        .config(json!({
            "type": "object",
            "properties": {"folder": {"type": "string", "default": "traces"}},
            "additionalProperties": false,
        }))
        .add(start)
        .add(stop)
        .observer(counter)
        .on_set_up(|config| async move {
            println!("set up with {config}");
            Ok::<(), std::io::Error>(())
        })
        .on_tear_down(|| async { println!("torn down") })
}

pub(crate) async fn started() -> Registry {
    Registry::builder().extension(trace(), json!({})).start().await.expect("it is sound")
}

#[tokio::main]
async fn main() {
    // A configuration that does not fit starts nothing: a registry takes all of it or none.
    let refused = Registry::builder().extension(trace(), json!({"foldr": "out"})).start().await;
    println!("{}\n", refused.expect_err("`foldr` is no setting"));

    let registry = started().await;
    for operation in ["trace.stop", "trace.start", "services.extensions", "trace.stop"] {
        let outcome = registry.call(operation, Request::default().with_caller(Caller::local())).await;
        println!("{operation}\n{}\n", String::from_utf8_lossy(&outcome.into_bytes()));
    }
    registry.shut_down().await;
}
