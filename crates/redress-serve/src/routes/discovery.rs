//! What is served, told by operations: `services.list`, `services.schema` and
//! `errors.explain`. Each tells only of what its caller may call.

use redress_contract::{
    self as contract, Access, Disclosure, Effect, Example, ExampleEnding, FailureDeclaration, Kind, Reach, Recovery,
    Role,
};
use redress_core::{Ctx, DynamicFailure, Face, Failure as _, Operation, Outcome, offload::offload};
use redress_wire::{consent, http, pages};
use serde_json::{Value, json};

/// The most bytes that one of them answers with. It is their own, since what is told here is as long as the contract,
/// and a setting for the answers of a service must not take away what tells how to call it.
const MAX_OUTPUT: usize = 16 << 20;

/// The operations that tell what is served. Open to everyone, since they tell each caller
/// only of what it may call.
///
/// ```
/// use redress_core::Registry;
///
/// let builder = Registry::builder().add_all(redress_serve::discovery());
/// assert!(builder.build().unwrap().operation("services.list").is_some());
/// ```
pub fn discovery() -> [Operation; 3] {
    let owned = |declaration: contract::OperationDeclaration| {
        let declaration = declaration.with_access(Access::anyone()).with_tag("discovery").with_max_output(MAX_OUTPUT);
        Operation::dynamic(declaration).with_owner("redress")
    };
    [
        owned(list()).with_handler(run_list),
        owned(schema()).with_handler(run_schema),
        owned(explain()).with_handler(run_explain),
    ]
}

/// One line for each operation.
pub(crate) fn listed<'a>(operations: impl Iterator<Item = &'a contract::OperationDeclaration>) -> Value {
    let line = |operation: &contract::OperationDeclaration| {
        json!({
            "name": operation.name(),
            "shape": operation.shape(),
            "summary": operation.summary(),
            "path": http::path(operation.name()),
            "deprecated": operation.deprecated().is_some(),
        })
    };
    operations.map(line).collect()
}

fn list() -> contract::OperationDeclaration {
    contract::OperationDeclaration::query("services.list")
        .with_summary("List the operations that you may call.")
        .with_output(json!({
            "type": "object",
            "properties": {"operations": {"type": "array", "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "shape": {"type": "string", "enum": ["query", "mutation", "subscription"]},
                    "summary": {"type": "string"},
                    "path": {"type": "string"},
                    "deprecated": {"type": "boolean"},
                },
                "required": ["name", "shape", "summary", "path", "deprecated"],
            }}},
            "required": ["operations"],
        }))
}

async fn run_list(ctx: Ctx, _: Value) -> Outcome<Value, DynamicFailure> {
    Ok(json!({"operations": listed(ctx.open())}))
}

fn schema() -> contract::OperationDeclaration {
    let unknown = FailureDeclaration::new("SERVICE_UNKNOWN", Kind::NotFound)
        .with_when("There is no operation of this name that the caller may call.")
        .with_message("there is no operation `{name}` that you may call")
        .with_effect(Effect::None)
        .with_details(text_field("name"))
        .with_recovery(Recovery::call("services.list", "List the operations and pick a name that exists."));
    contract::OperationDeclaration::query("services.schema")
        .with_summary("Show the whole declaration of one operation.")
        .with_description(
            "What it takes, what it gives, every way it can fail and what to do then. \
             What it calls inside, and as whom, only callers with the scope internals:read are told.",
        )
        .with_input(input_field("name", "The name of the operation."))
        .with_output(json!({
            "type": "object",
            "properties": {"name": {"type": "string"}, "shape": {"type": "string"}, "failures": {"type": "array"}},
            "required": ["name", "shape", "failures"],
        }))
        .with_example(Example {
            input: json!({"name": "services.list"}),
            ending: ExampleEnding::Output(json!({"name": "services.list", "shape": "query", "failures": []})),
        })
        .fails(unknown)
}

async fn run_schema(ctx: Ctx, input: Value) -> Outcome<Value, DynamicFailure> {
    let wanted = input.get("name").and_then(Value::as_str).unwrap_or_default();
    match ctx.disclosed_operation(wanted) {
        Some(operation) => Ok(serde_json::to_value(consent::shown(&operation))?),
        None => {
            let names = ctx.open().map(|operation| operation.name().as_str());
            Err(DynamicFailure::new("SERVICE_UNKNOWN", json!({"name": wanted})).with_similar(wanted, names))
        }
    }
}

fn explain() -> contract::OperationDeclaration {
    let unknown = FailureDeclaration::new("CODE_UNKNOWN", Kind::NotFound)
        .with_when("No operation that the caller may call ends with this code.")
        .with_message("there is no code `{code}`")
        .with_effect(Effect::None)
        .with_details(text_field("code"))
        .with_recovery(Recovery::fix_input("/code", "Give a code exactly as a failure carried it."));
    contract::OperationDeclaration::query("errors.explain")
        .with_summary("Explain a code: what it means and what to do.")
        .with_input(input_field("code", "The code, as a failure carries it."))
        .with_output(json!({
            "type": "object",
            "properties": {"code": {"type": "string"}, "kind": {"type": "string"}, "when": {"type": "string"}},
            "required": ["code", "kind", "when"],
        }))
        .with_example(Example {
            input: json!({"code": "TIMEOUT"}),
            ending: ExampleEnding::Output(json!({
                "code": "TIMEOUT",
                "kind": "timeout",
                "when": "The deadline passed before the operation ended.",
            })),
        })
        .fails(unknown)
}

async fn run_explain(ctx: Ctx, input: Value) -> Outcome<Value, DynamicFailure> {
    let wanted = input.get("code").and_then(Value::as_str).unwrap_or_default().to_owned();
    // It goes through every operation that the caller may call, which may be many.
    offload(move || explained(&ctx, &wanted)).await
}

fn explained(ctx: &Ctx, wanted: &str) -> Outcome<Value, DynamicFailure> {
    let open = ctx.disclosed();
    match pages::code_json(&open, of_extension(ctx, wanted).as_ref(), wanted) {
        Some(page) => Ok(page),
        None => {
            let engine = contract::EngineCode::ALL.into_iter().map(|code| code.as_str().to_owned());
            let failures = open.operations().iter().flat_map(contract::OperationDeclaration::failures);
            let codes = engine.chain(failures.map(|failure| failure.code().to_string()));
            Err(DynamicFailure::new("CODE_UNKNOWN", json!({"code": wanted})).with_similar(wanted, codes))
        }
    }
}

/// The declaration of a code that no operation has for itself, as far as the caller is told of it: what
/// [`Registry::disclosed_code`](redress_core::Registry::disclosed_code) gives to a face.
fn of_extension(ctx: &Ctx, code: &str) -> Option<FailureDeclaration> {
    let declares = |operation: &contract::OperationDeclaration| operation.failure(code).is_some();
    let failure = ctx.declared(code).filter(|_| !ctx.contract().operations().iter().any(declares))?;
    let reach = |name: &str| match ctx.contract().operation(name) {
        None => Reach::Unknown,
        Some(operation) if ctx.open().all(|open| open.name() != operation.name()) => Reach::Closed,
        Some(operation) if ctx.face() == Face::Mcp && *operation.role() != Role::Plain => Reach::Listed,
        Some(_) => Reach::Open,
    };
    Some(failure.disclosed(&Disclosure::to(ctx.caller(), &reach)))
}

fn input_field(name: &str, text: &str) -> Value {
    json!({
        "type": "object",
        "properties": {name: {"type": "string", "maxLength": 256, "description": text}},
        "required": [name],
        "additionalProperties": false,
    })
}

fn text_field(name: &str) -> Value {
    json!({
        "type": "object",
        "properties": {name: {"type": "string"}},
        "required": [name],
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use redress_core::{
        Registry,
        testing::{Examples, Harness},
    };

    use super::*;

    #[tokio::test]
    async fn every_example_is_what_really_happens() {
        let builder = Registry::builder().add_all(discovery());
        Examples::of(Harness::new(builder.build().unwrap())).run().await.assert_hold();
    }

    #[tokio::test]
    async fn no_setting_takes_away_what_tells_how_to_call() {
        let builder = Registry::builder().add_all(discovery());
        let harness = Harness::new(builder.max_output(16).build().unwrap());
        for (name, input) in [
            ("services.list", json!({})),
            ("services.schema", json!({"name": "services.schema"})),
            ("errors.explain", json!({"code": "OVERLOADED"})),
        ] {
            assert_eq!(harness.call(name, input).await.code(), None, "{name}");
        }
    }
}
