//! What a model reads about a tool.
//!
//! Why so: docs/decisions/0070-what-a-model-reads.md.

use redress_contract::{Content, EngineCode, FailureDeclaration, Name, OperationDeclaration, Recovery, Verb};
use serde_json::{Value, json};

use super::prose::{Spoken, names, spoken};
use crate::consent;

/// For whom a tool is described.
#[derive(Clone, Copy)]
pub struct ToolReader<'a> {
    /// What the names of operations are to them.
    pub names: &'a dyn Fn(&str) -> Spoken,
    /// Whether the instructions tell of a failure, for all tools of the operation's namespace at once.
    pub shared: &'a dyn Fn(&OperationDeclaration, &FailureDeclaration) -> bool,
}

impl ToolReader<'_> {
    /// Somebody to whom no name is known to be that of an operation.
    pub const ANYBODY: ToolReader<'static> = ToolReader { names: &|_| Spoken::Other, shared: &|_, _| false };
}

impl std::fmt::Debug for ToolReader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolReader").finish_non_exhaustive()
    }
}

/// The names in what is written about an operation that may be those of operations.
pub fn mentions(operation: &OperationDeclaration) -> impl Iterator<Item = &str> {
    let described = operation.input().parts().filter_map(|words| words.get("description")?.as_str());
    [operation.summary(), operation.description()].into_iter().chain(described).flat_map(names)
}

/// A title for people: `files.read_text` becomes "Files: read text".
pub(super) fn title(operation: &OperationDeclaration) -> String {
    let mut segments = operation.name().as_str().split('.').map(|segment| segment.replace('_', " "));
    let mut namespace = segments.next().unwrap_or_default();
    if let Some(first) = namespace.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    format!("{namespace}: {}", segments.collect::<Vec<_>>().join(" "))
}

/// What it does, and how it fails.
pub(super) fn description(operation: &OperationDeclaration, reader: ToolReader<'_>) -> String {
    let mut text = spoken(&flowing(operation), reader.names).into_owned();
    if let Some(deprecated) = operation.deprecated() {
        let instead = deprecated.replaced_by.as_ref().map(|name| format!("; call {} instead", tool(name, reader)));
        text.push_str(&format!("\nDeprecated since {}{}.", deprecated.since, instead.unwrap_or_default()));
    }
    if operation.access().needs_consent() {
        text.push_str("\nNeeds a person's consent: a client that can asks its user first.");
    }
    let own = |failure: &&FailureDeclaration| !(reader.shared)(operation, failure);
    let mut failures: Vec<String> =
        consent::failures(operation).iter().filter(own).map(|failure| advised(failure, reader)).collect();
    failures.extend(source_codes(operation));
    if !failures.is_empty() {
        text.push_str(&format!("\nFails with: {}.", failures.join(", ")));
    }
    // Where a failure names the same tool, that says it.
    let verifies = |failure: &FailureDeclaration, target: &Name| matches!(failure.recovery().map(Recovery::verb), Some(Verb::Verify { operation, .. }) if operation == target);
    let named = |target: &Name| operation.failures().iter().any(|failure| verifies(failure, target));
    if let Some(verification) = operation.verification().filter(|verification| !named(verification.target())) {
        text.push_str(&format!("\nCut off: verify with {}.", tool(verification.target().as_str(), reader)));
    }
    text
}

/// What the operation does, each sentence once: a doc comment begins with the summary. Lines are broken for whoever
/// reads the source, and a model pays for every break.
fn flowing(operation: &OperationDeclaration) -> String {
    let summary = operation.summary().trim();
    let more = operation.description().trim();
    let more = more.strip_prefix(summary).unwrap_or(more).trim_start();
    let mut text = String::with_capacity(summary.len() + more.len() + 1);
    for line in summary.lines().chain(more.lines()) {
        let line = line.trim();
        // A list keeps its lines.
        let apart = line.starts_with(['-', '*', '|', '#', '>']) || line.starts_with("```");
        if !text.is_empty() && !line.is_empty() {
            text.push(if apart { '\n' } else { ' ' });
        }
        text.push_str(line);
    }
    text
}

/// What the content guard may answer where source is run. No other tool can end so, and so the instructions do not say
/// it.
fn source_codes(operation: &OperationDeclaration) -> Option<String> {
    let Content::Eval { .. } = operation.content() else { return None };
    let codes = [EngineCode::EvalBlockedKeyword, EngineCode::EvalBlockedConstruct, EngineCode::EvalUnparsable];
    Some(codes.map(EngineCode::as_str).join(", "))
}

/// The tool of the operation of this name, as lists have it: an alias is not listed.
fn tool(name: &str, reader: ToolReader<'_>) -> String {
    match (reader.names)(name) {
        Spoken::Tool(tool) => tool,
        Spoken::Other | Spoken::Closed => name.replace('.', "_"),
    }
}

/// A code, and what to do then, to anybody.
pub(super) fn advice(failure: &FailureDeclaration) -> String {
    advised(failure, ToolReader::ANYBODY)
}

/// A code, and what to do then, in as few words as tell it. That an input can be corrected, and that there is nothing to
/// do, is said when it happens: before the call it helps nobody to pick a tool.
pub(super) fn advised(failure: &FailureDeclaration, reader: ToolReader<'_>) -> String {
    let verb = match failure.recovery().map(|recovery| recovery.verb()) {
        Some(Verb::Call { operation, .. }) => Some(format!("call {}", tool(operation.as_str(), reader))),
        Some(Verb::Verify { operation, .. }) => Some(format!("verify with {}", tool(operation.as_str(), reader))),
        Some(Verb::Wait) => Some("wait".to_owned()),
        Some(Verb::AskUser) => Some("ask the user".to_owned()),
        Some(Verb::GetAccess { scope }) => Some(format!("needs scope {scope}")),
        Some(Verb::FixInput { .. } | Verb::Stop) | None => None,
    };
    let advice: Vec<&str> = verb.as_deref().into_iter().chain(failure.retryable().then_some("retryable")).collect();
    if advice.is_empty() { failure.code().to_string() } else { format!("{} ({})", failure.code(), advice.join(", ")) }
}

/// The failures that a model should know of when it picks the tool, for a program.
pub(super) fn failures(operation: &OperationDeclaration) -> Value {
    let one = |failure: &FailureDeclaration| {
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
