//! The operation by which a person takes a consent back.

use redress_contract::{self as contract, Effect, FailureDeclaration, Kind, Recovery};
use serde_json::{Value, json};

use super::{ConsentScope, base, broken, caller_property, not_kept, not_yours, whose};
use crate::{Ctx, DynamicFailure, Operation, Outcome, author::operation::REDRESS};

/// `consent.revoke`: takes a consent of the caller back; with the scope `consent:admin` that of
/// anybody. It takes back what it names and nothing else: one for `disk.*` is not taken back by
/// naming `disk.wipe`. It is for persons, as [`consent_grant`](super::consent_grant) is.
///
/// ```
/// use redress_core::{Registry, Request, consent_revoke};
/// use redress_core::contract::{CONSENT_GRANT, Caller};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let registry = Registry::builder().add(consent_revoke()).build().unwrap();
/// let ada = Caller::new("ada").scope(CONSENT_GRANT);
/// let request = Request::new(br#"{"operation":"disk.wipe"}"#.as_slice()).with_caller(ada);
/// assert_eq!(registry.call("consent.revoke", request).await.code(), Some("CONSENT_NOT_FOUND"));
/// # });
/// ```
pub fn consent_revoke() -> Operation {
    Operation::dynamic(declaration()).with_owner(REDRESS).with_handler(revoke)
}

fn declaration() -> contract::OperationDeclaration {
    let not_found = FailureDeclaration::new("CONSENT_NOT_FOUND", Kind::NotFound)
        .with_when("There is no consent for exactly this, or it has ended by itself.")
        .with_message("there is no such consent")
        .with_effect(Effect::None)
        .with_recovery(Recovery::fix_input("/operation", "List the consents and name one as it is written there."));
    base(contract::OperationDeclaration::mutation("consent.revoke"))
        .with_summary("Take a consent back.")
        .with_description(
            "Takes back the consent for the caller's own calls of an operation or to `namespace.*`, as consent.list writes it. \
             With the scope consent:admin it takes back that of another caller.",
        )
        .with_input(json!({
            "type": "object",
            "properties": {
                "operation": {"type": "string", "description": "What was agreed to, as consent.list writes it."},
                "caller": caller_property(),
            },
            "required": ["operation"],
            "additionalProperties": false,
        }))
        .with_output(json!({
            "type": "object",
            "properties": {"caller": {"type": "string"}, "operation": {"type": "string"}},
            "required": ["caller", "operation"],
            "additionalProperties": false,
        }))
        .fails(not_found)
        .fails(not_kept())
        .fails(not_yours())
}

async fn revoke(ctx: Ctx, input: Value) -> Outcome<Value, DynamicFailure> {
    let Some(caller) = ctx.caller() else { return Err(crate::ArgumentMissing::Caller)? };
    let whose = whose(caller, input.get("caller").and_then(Value::as_str))?;
    let not_found = || DynamicFailure::new("CONSENT_NOT_FOUND", json!({}));
    let named = input.get("operation").and_then(Value::as_str).unwrap_or_default();
    let by_tool = || Some(ConsentScope::Operation(ctx.registry.behind_tool(named)?.declaration.name().clone()));
    let scope: ConsentScope = named.parse().ok().or_else(by_tool).ok_or_else(not_found)?;
    let taken = ctx.registry.consent().withdraw(whose, &scope).await.map_err(|error| broken(&ctx, &error))?;
    if !taken {
        return Err(not_found())?;
    }
    Ok(json!({"caller": whose, "operation": scope.to_string()}))
}
