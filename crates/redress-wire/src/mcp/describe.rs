//! What a model reads about a tool.

use redress_contract::{Content, EngineCode, Failure, Operation, Verb};
use serde_json::{Value, json};

use crate::consent;

/// A title for people: `files.read_text` becomes "Files: read text".
pub(super) fn title(operation: &Operation) -> String {
    let mut segments = operation.name().as_str().split('.').map(|segment| segment.replace('_', " "));
    let mut namespace = segments.next().unwrap_or_default();
    if let Some(first) = namespace.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    format!("{namespace}: {}", segments.collect::<Vec<_>>().join(" "))
}

/// What it does, and how it fails.
pub(super) fn description(operation: &Operation) -> String {
    let mut text = operation.summary().trim().to_owned();
    let more = operation.description().trim();
    if !more.is_empty() && more != text {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(more);
    }
    if let Some(deprecated) = operation.deprecated() {
        let instead = deprecated
            .replaced_by
            .as_ref()
            .map(|name| format!("; call {} instead", name.to_string().replace('.', "_")));
        text.push_str(&format!("\nDeprecated since {}{}.", deprecated.since, instead.unwrap_or_default()));
    }
    if operation.access().needs_consent() {
        text.push_str("\nNeeds a person's consent: a client that can asks its user first.");
    }
    let mut failures: Vec<String> = consent::failures(operation).iter().map(advice).collect();
    failures.extend(source_codes(operation));
    if !failures.is_empty() {
        text.push_str(&format!("\nFails with: {}.", failures.join(", ")));
    }
    if let Some(verification) = operation.verification() {
        text.push_str(&format!("\nCut off: verify with {}.", verification.target().tool()));
    }
    text
}

/// What the content guard may answer where source is run. No other tool can end so, and so the instructions do not say
/// it.
fn source_codes(operation: &Operation) -> Option<String> {
    let Content::Eval { source, .. } = operation.content() else { return None };
    let codes = [EngineCode::EvalBlockedKeyword, EngineCode::EvalBlockedConstruct, EngineCode::EvalUnparsable];
    Some(codes.map(|code| format!("{code} (fix /{source})")).join(", "))
}

/// A code, and what to do then, in as few words as tell it.
fn advice(failure: &Failure) -> String {
    let retry = if failure.retryable() { ", retryable" } else { "" };
    let verb = match failure.recovery().map(|recovery| recovery.verb()) {
        Some(Verb::FixInput { pointer }) if pointer.is_empty() => "fix the input".to_owned(),
        Some(Verb::FixInput { pointer }) => format!("fix {pointer}"),
        Some(Verb::Call { operation, .. }) => format!("call {}", operation.tool()),
        Some(Verb::Verify { operation, .. }) => format!("verify with {}", operation.tool()),
        Some(Verb::Wait) => "wait".to_owned(),
        Some(Verb::AskUser) => "ask the user".to_owned(),
        Some(Verb::GetAccess { scope }) => format!("needs scope {scope}"),
        Some(Verb::Stop) | None => "stop".to_owned(),
    };
    format!("{} ({verb}{retry})", failure.code())
}

/// The failures that a model should know of when it picks the tool, for a program.
pub(super) fn failures(operation: &Operation) -> Value {
    let one = |failure: &Failure| {
        let mut told = json!({
            "code": failure.code(),
            "kind": failure.kind(),
            "when": failure.when(),
            "retryable": failure.retryable(),
            "effect": failure.effect(),
            "recovery": failure.recovery(),
        });
        if let (Value::Object(told), false) = (&mut told, failure.extends().is_empty()) {
            told.insert("extends".into(), json!(failure.extends()));
        }
        told
    };
    consent::failures(operation).iter().map(one).collect()
}
