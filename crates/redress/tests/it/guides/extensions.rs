//! The code of `docs/extensions.md`.

use redress::contract::{self, FailureDeclaration};
use redress::{Caller, DynamicFailure, Extension, Kind, Operation, Recovery, Registry, Request};
use serde_json::json;

fn trace() -> Extension {
    let not_recording = FailureDeclaration::new("NOT_RECORDING", Kind::Conflict)
        .with_when("No recording is running.")
        .with_recovery(Recovery::call("trace.start", "Start a recording first, then stop it."));

    let start =
        Operation::dynamic(contract::OperationDeclaration::mutation("trace.start").with_summary("Start a recording."))
            .with_handler(async |_ctx, _input| Ok(json!({"recording": true})));

    let stop = Operation::dynamic(
        contract::OperationDeclaration::mutation("trace.stop").with_summary("Stop the recording.").fails(not_recording),
    )
    .with_handler(async |_ctx, _input| Err(DynamicFailure::new("NOT_RECORDING", json!({})))?);

    Extension::new("trace", "1.0.0")
        .requires("^0.1")
        .config(json!({
            "type": "object",
            "properties": {"folder": {"type": "string", "default": "traces"}},
            "additionalProperties": false,
        }))
        .add(start)
        .add(stop)
        .on_set_up(|config| async move { std::fs::create_dir_all(config["folder"].as_str().unwrap_or("traces")) })
        .on_tear_down(|| async {})
}

#[tokio::test]
async fn what_it_brings_is_there_under_its_namespace() -> Result<(), Box<dyn std::error::Error>> {
    let trace = trace();
    let out = tempfile::tempdir()?;
    let folder = out.path().to_str();
    let registry = Registry::builder().extension(trace, json!({"folder": folder})).start().await?;
    let envelope = registry.call("trace.stop", Request::default().with_caller(Caller::local())).await;
    assert_eq!(envelope.code(), Some("trace.NOT_RECORDING"));
    registry.shut_down().await;
    Ok(())
}
