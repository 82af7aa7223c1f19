//! A contract with one of everything, and envelopes made from it.

use redress_contract::{
    Access, Contract, Deprecation, Effect, Envelope, Example, ExampleEnding, FailureDeclaration, Kind, Meta,
    OperationDeclaration, Origin, OutputJson, Problem, Recovery, RequestId, Retry, Streaming, Verification,
};
use serde_json::json;

pub(crate) fn contract() -> Contract {
    let missing = FailureDeclaration::new("FILE_NOT_FOUND", Kind::NotFound)
        .with_when("The file <does> not exist.")
        .with_message("no file at {path}")
        .with_effect(Effect::None)
        .with_details(json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}))
        .with_since("0.2.0")
        .with_recovery(
            Recovery::call("files.list", "List the folder and pick a path that exists.").bind("path", "path"),
        );
    let busy = FailureDeclaration::new("STORE_BUSY", Kind::Unavailable)
        .with_when("The store is being compacted.")
        .with_retry_after("wait_ms")
        .with_details(json!({
            "type": "object",
            "properties": {"wait_ms": {"$ref": "#/$defs/Millis"}},
            "required": ["wait_ms"],
            "$defs": {"Millis": {"type": "integer", "minimum": 0}},
        }))
        .with_recovery(Recovery::wait("Wait as long as it says, then try again."));
    let other_busy = busy.clone().with_when("The disk is full of other work.").extending("FILE_NOT_FOUND");
    let verification =
        Verification::new("files.list", "/name", "Look whether it is listed, and write it again if not.")
            .is("<new>")
            .bind("path", "name")
            .why("see whether it is there");
    let unsure = FailureDeclaration::new("WRITE_UNSURE", Kind::Unavailable)
        .with_when("The store did not say whether it took the file.")
        .with_details(json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}))
        .with_recovery(verification.clone().into());
    let tree = json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#"}}},
        "required": ["name"],
    });
    Contract::new([
        OperationDeclaration::query("files.read")
            .with_summary("Read a text file.")
            .with_description("Reads all of it.")
            .with_input(json!({
                "type": "object",
                "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}},
                "required": ["path"],
                "additionalProperties": false,
            }))
            .with_output(json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}))
            .with_access(Access::caller().scope("files:read").any_scope("a").any_scope("b"))
            .with_tag("disk")
            .with_alias("fs.read")
            .with_example(Example {
                input: json!({"path": "a.md"}),
                ending: ExampleEnding::Output(json!({"text": "hello"})),
            })
            .with_example(Example {
                input: json!({"path": "b"}),
                ending: ExampleEnding::Failure("FILE_NOT_FOUND".into()),
            })
            .fails(missing)
            .fails(busy),
        OperationDeclaration::query("files.list")
            .with_summary("List a folder.")
            .with_input(json!({"type": "object", "properties": {"path": {"type": "string"}}}))
            .with_output(tree.clone())
            .with_access(Access::caller().scope("files:read")),
        OperationDeclaration::mutation("files.write")
            .with_summary("Write a file.")
            .with_input(tree)
            .with_idempotency_key()
            .with_verification(verification)
            .with_max_input(4096)
            .with_access(Access::caller().scope("files:write").consent())
            .with_deprecated(Deprecation { since: "0.3.0".into(), ..Deprecation::default() })
            .with_origin(Origin::Openapi)
            .fails(other_busy)
            .fails(unsure),
        OperationDeclaration::subscription("files.watch")
            .with_summary("Watch a folder.")
            .with_streaming(Streaming { resumable: true, idle_ms: Some(1000), ..Streaming::default() })
            .with_access(Access::anyone()),
        OperationDeclaration::mutation("eval.run")
            .with_summary("Run a script.")
            .with_eval("source", "javascript")
            .with_input(
                json!({"type": "object", "properties": {"source": {"type": "string"}}, "required": ["source"]}),
            ),
        OperationDeclaration::query("files.secret").with_summary("Nobody sees this.").internal(),
    ])
}

pub(crate) fn meta() -> Meta {
    Meta { elapsed_ms: 3, ..Meta::new(RequestId::given("req-1").unwrap()) }
}

pub(crate) fn success(output: &serde_json::Value) -> Envelope {
    Envelope::success(OutputJson::encode(output).unwrap(), meta())
}

/// A bad ending of this kind and status.
pub(crate) fn failure(kind: Kind, http: u16, retry_after_ms: Option<u64>) -> Envelope {
    let problem = Problem {
        error: "no \"file\" at ä".into(),
        code: redress_contract::Code::new("FILE_NOT_FOUND").unwrap(),
        kind,
        extends: [].into(),
        hint: "List the folder and pick a path that exists.".into(),
        retryable: kind.retryable(),
        retry: Retry::AfterFix,
        retry_after_ms,
        effect: Effect::None,
        http,
        recovery: None,
        next_actions: Vec::new(),
        similar: Vec::new(),
        details: None,
        docs_url: "/errors/FILE_NOT_FOUND".into(),
    };
    Envelope::failure(problem, None, meta())
}
