//! The operation by which a person gives a consent.

use std::time::Duration;

use redress_contract::{self as contract, Effect, FailureDeclaration, Kind, Recovery};
use serde_json::{Value, json};

use super::{Consent, ConsentScope, base, broken, caller_property, not_kept, not_yours, whose};
use crate::{Ctx, DynamicFailure, Failure as _, Operation, Outcome, author::operation::REDRESS};

/// For how long a consent holds where the person does not say.
const MINUTES: u64 = 60;

/// `consent.grant`: a person agrees to one operation or a namespace, for a time, with a reason.
///
/// It needs the scope `consent:grant`, which a token for an agent should not have, and which
/// [`Caller::local`](contract::Caller::local) does not have either. It is no tool of an agent, and no next action names
/// it. The consent is for calls of the person's own name, or with the scope `consent:admin` for those of another caller.
/// It is kept where the registry keeps consents, and gives no scope.
///
/// ```
/// use redress_core::{Operation, Registry, Request, consent_grant, contract};
/// use redress_core::contract::{Access, CONSENT_GRANT, Caller};
/// use serde_json::json;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let wipe = contract::OperationDeclaration::mutation("disk.wipe")
///     .with_summary("Erase the disk.")
///     .with_access(Access::caller().consent());
/// let wipe = Operation::dynamic(wipe).with_handler(|_, _| async { Ok(json!("wiped")) });
/// let registry = Registry::builder().add(wipe).add(consent_grant()).build().unwrap();
///
/// // The agent and the person are one caller, with two tokens.
/// let agent = || Request::new(b"{}".as_slice()).with_caller(Caller::new("ada"));
/// assert_eq!(registry.call("disk.wipe", agent()).await.code(), Some("CONSENT_REQUIRED"));
/// assert_eq!(registry.call("consent.grant", agent()).await.code(), Some("FORBIDDEN"));
/// let person = Caller::new("ada").scope(CONSENT_GRANT);
/// let grant = Request::new(br#"{"operation":"disk.wipe"}"#.as_slice()).with_caller(person);
/// assert!(registry.call("consent.grant", grant).await.is_ok());
/// assert!(registry.call("disk.wipe", agent()).await.is_ok());
/// # });
/// ```
pub fn consent_grant() -> Operation {
    Operation::dynamic(declaration()).with_owner(REDRESS).with_handler(grant)
}

fn declaration() -> contract::OperationDeclaration {
    let unknown = FailureDeclaration::new("OPERATION_UNKNOWN", Kind::NotFound)
        .with_when("No operation of this name asks for consent.")
        .with_message("no operation `{operation}` asks for consent")
        .with_effect(Effect::None)
        .with_details(json!({
            "type": "object",
            "properties": {"operation": {"type": "string"}},
            "required": ["operation"],
            "additionalProperties": false,
        }))
        .with_recovery(Recovery::fix_input("/operation", "Name the operation that answered CONSENT_REQUIRED."));
    base(contract::OperationDeclaration::mutation("consent.grant"))
        .with_summary("Agree to one operation, for a time.")
        .with_description(
            "Gives a person's consent to one operation, or to all of a namespace (`files.*`), until the minutes have \
             passed. With the scope consent:admin it is given for the calls of another caller.",
        )
        .with_input(json!({
            "type": "object",
            "properties": {
                "operation": {"type": "string", "description": "The operation agreed to, or `namespace.*`."},
                "reason": {"type": "string", "maxLength": 500, "description": "Why, in the person's own words."},
                "minutes": {
                    "type": "integer", "minimum": 1, "maximum": 1440, "default": MINUTES,
                    "description": "For how long.",
                },
                "caller": caller_property(),
            },
            "required": ["operation"],
            "additionalProperties": false,
        }))
        .with_output(json!({
            "type": "object",
            "properties": {
                "caller": {"type": "string"},
                "operation": {"type": "string"},
                "minutes": {"type": "integer"},
            },
            "required": ["caller", "operation", "minutes"],
            "additionalProperties": false,
        }))
        .fails(unknown)
        .fails(not_kept())
        .fails(not_yours())
}

async fn grant(ctx: Ctx, input: Value) -> Outcome<Value, DynamicFailure> {
    let wanted = input.get("operation").and_then(Value::as_str).unwrap_or_default();
    let reason = input.get("reason").and_then(Value::as_str).unwrap_or_default();
    let minutes = input.get("minutes").and_then(Value::as_u64).unwrap_or(MINUTES);
    let Some(caller) = ctx.caller() else { return Err(crate::ArgumentMissing::Caller)? };
    let whose = whose(caller, input.get("caller").and_then(Value::as_str))?;
    // Whoever may consent need not be able to make the calls: those are an agent's.
    let asking = || {
        let known = ctx.registry.shown().filter(|operation| operation.is_external());
        known.filter(|operation| operation.access().needs_consent())
    };
    let scope = match wanted.parse() {
        Ok(ConsentScope::Namespace(namespace)) => asking()
            .any(|operation| operation.name().namespace() == namespace)
            .then_some(ConsentScope::Namespace(namespace)),
        Ok(ConsentScope::Operation(_)) | Err(_) => {
            // A person reads the name of a tool in a host, and that of an operation elsewhere.
            let by_tool = || ctx.registry.behind_tool(wanted).map(|entry| &entry.declaration);
            let named = ctx.registry.operation(wanted).or_else(by_tool).map(contract::OperationDeclaration::name);
            let named = named.filter(|named| asking().any(|operation| operation.name() == *named));
            named.cloned().map(ConsentScope::Operation)
        }
    };
    let Some(scope) = scope else {
        let unknown = DynamicFailure::new("OPERATION_UNKNOWN", json!({"operation": wanted}));
        return Err(unknown.with_similar(wanted, asking().map(|operation| operation.name().as_str())));
    };
    let answer = json!({"caller": whose, "operation": scope.to_string(), "minutes": minutes});
    let consent = Consent {
        caller: whose.to_owned(),
        scope,
        lasts: Duration::from_secs(minutes * 60),
        reason: reason.to_owned(),
    };
    ctx.registry.consent().grant(consent).await.map_err(|error| broken(&ctx, &error))?;
    Ok(answer)
}
