//! A small service, for what a person sees of its calls.

use std::time::Duration;

use futures_util::stream;
use redress_core::{
    DynamicFailure, Events, Operation, Registry, consent_grant,
    contract::{self, Access, Effect, FailureDeclaration, Kind, Recovery},
};
use serde_json::{Value, json};

fn at() -> Value {
    json!({
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
        "additionalProperties": false,
    })
}

fn failures(operation: contract::OperationDeclaration) -> contract::OperationDeclaration {
    let missing = FailureDeclaration::new("NOTE_NOT_FOUND", Kind::NotFound)
        .with_when("The note does not exist.")
        .with_message("no note at {path}")
        .with_effect(Effect::None)
        .with_details(at())
        .with_recovery(
            Recovery::call("notes.list", "List the folder and pick a note that exists.").why("see what is there"),
        );
    let busy = FailureDeclaration::new("DISK_BUSY", Kind::Unavailable)
        .with_when("The disk is busy with something else.")
        .with_effect(Effect::None)
        .with_recovery(Recovery::wait("Wait a moment, then read the note again."));
    operation.with_access(Access::caller().scope("notes:read")).with_input(at()).fails(missing).fails(busy)
}

/// The operations.
pub(crate) fn registry() -> Registry {
    let read = contract::OperationDeclaration::query("notes.read")
        .with_summary("Read a note.")
        .with_output(json!({"type": "string"}));
    let read = Operation::dynamic(failures(read)).with_handler(|_, input: Value| async move {
        match input["path"].as_str().unwrap_or_default() {
            "a.md" => Ok(json!("Say how it fails.")),
            path => Err(DynamicFailure::new("NOTE_NOT_FOUND", json!({"path": path})).into()),
        }
    });
    let list = contract::OperationDeclaration::query("notes.list")
        .with_summary("List the notes.")
        .with_access(Access::caller().scope("notes:read"))
        .with_output(json!({"type": "array"}));
    let list = Operation::dynamic(list).with_handler(|_, _| async { Ok(json!(["a.md"])) });
    let wipe = contract::OperationDeclaration::mutation("notes.wipe")
        .with_summary("Remove every note.")
        .with_access(Access::caller().consent());
    let wipe = Operation::dynamic(wipe).with_handler(|_, _| async { Ok(json!("wiped")) });
    let follow = contract::OperationDeclaration::subscription("notes.follow").with_summary("Follow a note.");
    let follow = Operation::dynamic(failures(follow)).with_stream_handler(|_, input: Value| async move {
        let torn = input["path"] == "torn.md";
        let end = torn.then(|| Err(DynamicFailure::new("NOTE_NOT_FOUND", json!({"path": "torn.md"})).into()));
        Ok(Events::new(stream::iter([Ok(json!(1)), Ok(json!(2))].into_iter().chain(end))))
    });
    let builder = Registry::builder().deadline(Duration::from_secs(5)).add(read).add(list).add(wipe).add(follow);
    builder.add(consent_grant()).build().unwrap()
}
