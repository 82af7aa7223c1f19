//! The documents about the registry itself: its codes and its operations, as far as a caller may
//! know of them.

use std::sync::Arc;

use redress_contract::{Caller, EngineCode, OperationDeclaration};
use redress_core::{Registry, offload::offload};
use redress_wire::{consent, pages};
use serde_json::{Value, json};

const CODES: &str = "redress.errors";
const CODE: &str = "redress.error";
const OPERATIONS: &str = "redress.operations";
const OPERATION: &str = "redress.operation";

/// How many values are offered at once to somebody who is typing.
const MAX_OFFERED: usize = 100;

/// The documents, as declarations: they are listed like any other, and nothing calls them.
pub(crate) fn documents() -> [OperationDeclaration; 4] {
    let named = |name: &str, uri: &str, summary: &str| {
        OperationDeclaration::query(name).with_summary(summary).resource(uri).with_mime_type("application/json")
    };
    [
        named(CODES, "redress://errors", "Every code that a call may fail with, and when."),
        named(CODE, "redress://errors/{code}", "What a code means and what to do then."),
        named(OPERATIONS, "redress://operations", "The operations that you may call."),
        named(
            OPERATION,
            "redress://operations/{name}",
            "What an operation takes and gives, and every way it can fail.",
        ),
    ]
}

/// What is in the document `name`, for this caller. `about` is what it is about. It grows with the operations, so it is
/// made off the workers.
pub(crate) async fn read(registry: &Registry, name: &str, about: &str, caller: Option<Arc<Caller>>) -> Option<Value> {
    let (registry, name, about) = (registry.clone(), name.to_owned(), about.to_owned());
    offload(move || made(&registry, &name, &about, caller.as_deref())).await
}

fn made(registry: &Registry, name: &str, about: &str, caller: Option<&Caller>) -> Option<Value> {
    match name {
        CODES => Some(pages::index_json(&registry.disclosed_to(caller), &registry.disclosed_codes(caller))),
        CODE => {
            // A code that no operation declares at all belongs to an extension as a whole.
            let extra = registry.disclosed_code(about, caller);
            pages::code_json(&registry.disclosed_to(caller), extra.as_ref(), about)
        }
        OPERATIONS => {
            let line = |operation: &OperationDeclaration| {
                json!({
                    "name": operation.name(),
                    "tool": operation.tool_name(),
                    "shape": operation.shape(),
                    "summary": operation.summary(),
                    "document": format!("redress://operations/{}", operation.name()),
                })
            };
            Some(json!({"operations": registry.open_to(caller).map(line).collect::<Vec<_>>()}))
        }
        OPERATION => serde_json::to_value(consent::shown(&registry.disclosed_operation(about, caller)?)).ok(),
        _ => None,
    }
}

/// What the document `name` may be about, where `typed` is typed so far, and how many there are.
pub(crate) fn offered(registry: &Registry, name: &str, typed: &str, caller: Option<&Caller>) -> (Vec<String>, usize) {
    let typed = typed.to_lowercase();
    let all: std::collections::BTreeSet<String> = match name {
        CODE => {
            let declared = registry.open_to(caller).flat_map(OperationDeclaration::failures);
            let declared = declared.map(|failure| failure.code().to_string());
            declared.chain(EngineCode::ALL.into_iter().map(|code| code.as_str().to_owned())).collect()
        }
        OPERATION => registry.open_to(caller).map(|operation| operation.name().to_string()).collect(),
        _ => Default::default(),
    };
    let mut offered: Vec<String> = all.into_iter().filter(|value| value.to_lowercase().starts_with(&typed)).collect();
    let total = offered.len();
    offered.truncate(MAX_OFFERED);
    (offered, total)
}
