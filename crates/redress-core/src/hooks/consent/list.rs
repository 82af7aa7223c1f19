//! The operation by which a person sees what was agreed to.

use redress_contract as contract;
use serde_json::{Value, json};

use super::{ADMIN, base, broken, caller_property, not_kept, not_yours, whose};
use crate::{Ctx, DynamicFailure, Operation, Outcome, author::operation::REDRESS, rfc3339};

/// `consent.list`: the consents of the caller that still hold; with the scope `consent:admin`
/// those of anybody. It is for persons, as [`consent_grant`](super::consent_grant) is.
///
/// ```
/// use redress_core::{Registry, Request, consent_list};
/// use redress_core::contract::{CONSENT_GRANT, Caller};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let registry = Registry::builder().add(consent_list()).build().unwrap();
/// let ada = Caller::new("ada").scope(CONSENT_GRANT);
/// let listed = registry.call("consent.list", Request::default().with_caller(ada)).await;
/// assert_eq!(listed.output(), Some(br#"{"consents":[]}"#.as_slice()));
/// # });
/// ```
pub fn consent_list() -> Operation {
    Operation::dynamic(declaration()).with_owner(REDRESS).with_handler(list)
}

fn declaration() -> contract::OperationDeclaration {
    let consent = json!({
        "type": "object",
        "properties": {
            "caller": {"type": "string"},
            "operation": {"type": "string", "description": "What is agreed to: an operation, or `namespace.*`."},
            "reason": {"type": "string"},
            "until": {"type": "string", "format": "date-time"},
        },
        "required": ["caller", "operation", "reason", "until"],
        "additionalProperties": false,
    });
    base(contract::OperationDeclaration::query("consent.list"))
        .with_summary("List the consents that still hold.")
        .with_description(
            "What was agreed to for the caller and until when. With the scope consent:admin it lists those of \
             another caller, or of everyone.",
        )
        .with_input(json!({
            "type": "object",
            "properties": {
                "caller": caller_property(),
                "everyone": {"type": "boolean", "default": false, "description": "Those of all callers."},
            },
            "additionalProperties": false,
        }))
        .with_output(json!({
            "type": "object",
            "properties": {"consents": {"type": "array", "items": consent}},
            "required": ["consents"],
            "additionalProperties": false,
        }))
        .fails(not_kept())
        .fails(not_yours())
}

async fn list(ctx: Ctx, input: Value) -> Outcome<Value, DynamicFailure> {
    let Some(caller) = ctx.caller() else { return Err(crate::ArgumentMissing::Caller)? };
    let everyone = input.get("everyone").and_then(Value::as_bool).unwrap_or_default();
    let whose = match input.get("caller").and_then(Value::as_str) {
        None if everyone && caller.has(ADMIN) => None,
        None if everyone => return Err(DynamicFailure::new("CONSENT_NOT_YOURS", json!({})))?,
        named => Some(whose(caller, named)?),
    };
    let held = ctx.registry.consent().list(whose).await.map_err(|error| broken(&ctx, &error))?;
    let consents: Vec<Value> = held
        .iter()
        .map(|held| {
            json!({
                "caller": held.caller,
                "operation": held.scope.to_string(),
                "reason": held.reason,
                "until": rfc3339(held.until),
            })
        })
        .collect();
    Ok(json!({"consents": consents}))
}
