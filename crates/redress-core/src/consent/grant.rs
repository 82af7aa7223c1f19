//! The operation by which a caller gives its own consent.

use std::time::Duration;

use redress_contract::{self as contract, Caller, Effect, Failure, Kind, Recovery};
use serde_json::{Value, json};

use super::{Consent, ConsentScope, base, broken, not_kept};
use crate::{Ctx, DynamicFailure, Failure as _, Field, Form, Operation, Outcome, Question};

/// For how long a consent holds where the caller does not say.
const MINUTES: u64 = 60;

/// `consent.grant`: the caller agrees to one operation or a namespace, for a time, with a reason (B7).
///
/// CONSENT_REQUIRED names it as the next action wherever it is registered. A consent is given by
/// the caller for itself only: whose it is comes from the call and cannot be written in the input.
/// It is kept where the registry keeps consents, gives no scope, and is refused for an operation
/// that this caller could not call anyway, so that it tells nobody what exists.
///
/// ```
/// use redress_core::{Operation, Registry, Request, consent_grant, contract};
/// use redress_core::contract::{Access, Caller};
/// use serde_json::json;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let wipe = contract::Operation::mutation("disk.wipe")
///     .with_summary("Erase the disk.")
///     .with_access(Access::caller().consent());
/// let wipe = Operation::dynamic(wipe).with_handler(|_, _| async { Ok(json!("wiped")) });
/// let registry = Registry::builder().add(wipe).add(consent_grant()).build().unwrap();
///
/// let ada = |input: &'static str| Request::new(input.as_bytes()).with_caller(Caller::new("ada"));
/// assert_eq!(registry.call("disk.wipe", ada("{}")).await.code(), Some("CONSENT_REQUIRED"));
/// assert!(registry.call("consent.grant", ada(r#"{"operation":"disk.wipe"}"#)).await.is_ok());
/// assert!(registry.call("disk.wipe", ada("{}")).await.is_ok());
/// # });
/// ```
pub fn consent_grant() -> Operation {
    Operation::dynamic(declaration()).with_owner("redress").with_handler(grant)
}

fn declaration() -> contract::Operation {
    let unknown = Failure::new("OPERATION_UNKNOWN", Kind::NotFound)
        .with_when("No operation of this name asks the caller for consent.")
        .with_message("no operation `{operation}` asks you for consent")
        .with_effect(Effect::None)
        .with_details(json!({
            "type": "object",
            "properties": {"operation": {"type": "string"}},
            "required": ["operation"],
            "additionalProperties": false,
        }))
        .with_recovery(Recovery::fix_input("/operation", "Name the operation that answered CONSENT_REQUIRED."));
    base(contract::Operation::mutation("consent.grant"))
        .with_summary("Agree to one operation, for a time.")
        .with_description(
            "Gives the caller's own consent to one operation, or to all of a namespace (`files.*`), until the \
             minutes have passed. Nobody can consent for somebody else.",
        )
        .with_input(json!({
            "type": "object",
            "properties": {
                "operation": {"type": "string", "description": "The operation agreed to, or `namespace.*`."},
                "reason": {"type": "string", "maxLength": 500, "description": "Why, in the caller's own words."},
                "minutes": {
                    "type": "integer", "minimum": 1, "maximum": 1440, "default": MINUTES,
                    "description": "For how long.",
                },
            },
            "required": ["operation"],
            "additionalProperties": false,
        }))
        .with_output(json!({
            "type": "object",
            "properties": {"operation": {"type": "string"}, "minutes": {"type": "integer"}},
            "required": ["operation", "minutes"],
            "additionalProperties": false,
        }))
        .fails(unknown)
        .fails(not_kept())
}

/// The question by which a face that can ask obtains a consent.
pub(crate) fn question(operation: &contract::Operation) -> Question {
    let name = operation.name();
    let message = format!("Do you agree to `{name}` for the next {MINUTES} minutes? {}", operation.summary());
    Question::form(message, Form::new().field("agree", Field::boolean().titled("I agree")))
}

/// The consent of a caller who was asked.
pub(crate) fn given(caller: &Caller, operation: &contract::Operation) -> Consent {
    Consent {
        caller: caller.id().to_owned(),
        scope: operation.name().clone().into(),
        lasts: Duration::from_secs(MINUTES * 60),
        reason: "agreed when asked".to_owned(),
    }
}

async fn grant(ctx: Ctx, input: Value) -> Outcome<Value, DynamicFailure> {
    let wanted = input.get("operation").and_then(Value::as_str).unwrap_or_default();
    let reason = input.get("reason").and_then(Value::as_str).unwrap_or_default();
    let minutes = input.get("minutes").and_then(Value::as_u64).unwrap_or(MINUTES);
    let Some(caller) = ctx.caller() else { return Err(crate::ArgumentMissing::Caller)? };
    let asking = || ctx.registry.open_to(Some(caller)).filter(|operation| operation.access().needs_consent());
    let scope = match wanted.parse() {
        Ok(ConsentScope::Namespace(namespace)) => asking()
            .any(|operation| operation.name().namespace() == namespace)
            .then_some(ConsentScope::Namespace(namespace)),
        Ok(ConsentScope::Operation(_)) | Err(_) => {
            let named = ctx.registry.operation(wanted).map(contract::Operation::name);
            let named = named.filter(|named| asking().any(|operation| operation.name() == *named));
            named.cloned().map(ConsentScope::Operation)
        }
    };
    let Some(scope) = scope else {
        let unknown = DynamicFailure::new("OPERATION_UNKNOWN", json!({"operation": wanted}));
        return Err(unknown.with_similar(wanted, asking().map(|operation| operation.name().as_str())));
    };
    let answer = json!({"operation": scope.to_string(), "minutes": minutes});
    let consent = Consent {
        caller: caller.id().to_owned(),
        scope,
        lasts: Duration::from_secs(minutes * 60),
        reason: reason.to_owned(),
    };
    ctx.registry.consent().grant(consent).await.map_err(|error| broken(&ctx, &error))?;
    Ok(answer)
}
