//! What a model reads of a bad ending: one sentence, and what it can act on.

use std::borrow::Cow;

use redress_contract::{Done, Effect, NextAction, Problem, RecoveryStep, Retry};
use serde::Serialize;
use serde_json::{Value, value::RawValue};

use super::{
    members::ObjectMembers,
    prose::{Spoken, spoken},
};

/// The longest detail that is told although neither the sentence nor the hint speaks of it.
const LONGEST_DETAIL: usize = 256;

#[derive(Serialize)]
struct FailureText<'a> {
    code: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    hint: Cow<'a, str>,
    retry: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    /// Where the same call may not simply be made again, and something may have been done.
    #[serde(skip_serializing_if = "Option::is_none")]
    effect: Option<&'static str>,
    /// Said only where nothing else says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    recovery: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix_field: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    done: Option<&'a Done>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    next_actions: Vec<Action<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    similar: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct Action<'a> {
    tool: String,
    arguments: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
}

/// What a model reads of a bad ending: the sentence, and as one line of JSON what it can act on. `read` says what names
/// are to the caller. The envelope has the rest.
pub fn told(problem: &Problem, read: &dyn Fn(&str) -> Spoken) -> String {
    let hint = spoken(&problem.hint, read);
    let step = RecoveryText::of(problem.recovery.as_ref());
    let issues = problem.details.as_ref().is_some_and(|details| details.get().contains("\"issues\""));
    let told = FailureText {
        code: problem.code.as_str(),
        retry: problem.retry.as_str(),
        retry_after_ms: problem.retry_after_ms,
        effect: Some(problem.effect)
            .filter(|effect| *effect != Effect::None && problem.retry != Retry::Safe)
            .map(Effect::as_str),
        recovery: step.verb,
        // Issues say for themselves where they are.
        fix_field: step.fix.filter(|pointer| !pointer.is_empty() && !issues).map(field),
        scope: step.scope,
        done: step.done,
        next_actions: problem
            .next_actions
            .iter()
            .filter_map(|action| {
                let tool = match read(action.operation.as_str()) {
                    Spoken::Tool(tool) => tool,
                    Spoken::Other => action.operation.tool(),
                    // The call path has left those out already.
                    Spoken::Closed => return None,
                };
                let arguments = serde_json::from_str(action.input.get()).ok();
                Some(Action { tool, arguments, why: action.why.as_deref() })
            })
            .collect(),
        similar: problem.similar.iter().map(|similar| similar.value.as_str()).collect(),
        details: problem.details.as_ref().and_then(|details| untold(details.get(), problem, &hint)),
        hint,
    };
    let mut text = problem.error.clone().into_owned();
    text.push('\n');
    text.push_str(&serde_json::to_string(&told).unwrap_or_default());
    text
}

/// A pointer into the input, in a form that nobody takes for the path of a file: `/edits/0/old` is `edits.0.old`.
fn field(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".").replace("~1", "/").replace("~0", "~")
}

/// What a recovery tells that is not told elsewhere.
#[derive(Default)]
struct RecoveryText<'a> {
    verb: Option<&'static str>,
    fix: Option<&'a str>,
    scope: Option<&'a str>,
    done: Option<&'a Done>,
}

impl<'a> RecoveryText<'a> {
    fn of(recovery: Option<&'a RecoveryStep>) -> RecoveryText<'a> {
        match recovery {
            Some(RecoveryStep::FixInput { pointer }) => RecoveryText { fix: Some(pointer), ..RecoveryText::default() },
            Some(RecoveryStep::AskUser) => RecoveryText { verb: Some("ask_user"), ..RecoveryText::default() },
            Some(RecoveryStep::GetAccess { scope }) => RecoveryText { scope: Some(scope), ..RecoveryText::default() },
            Some(RecoveryStep::Verify { done, .. }) => RecoveryText { done: Some(done), ..RecoveryText::default() },
            // The next action, the time to wait and the advice about a retry say it.
            Some(RecoveryStep::Call { .. } | RecoveryStep::Wait | RecoveryStep::Stop) | None => RecoveryText::default(),
        }
    }
}

/// The details that nobody has been told yet: those that the hint names, and short ones that are not in the sentence.
fn untold(details: &str, problem: &Problem, hint: &str) -> Option<Box<RawValue>> {
    let mut json = String::from("{");
    for (name, value) in ObjectMembers::read(details)?.0 {
        let named = hint.contains(&format!("details.{name}"));
        let is_new = || value.get().len() <= LONGEST_DETAIL && !is_in(value, problem);
        if named || is_new() {
            if json.len() > 1 {
                json.push(',');
            }
            json.push_str(&Value::from(name.as_ref()).to_string());
            json.push(':');
            json.push_str(value.get());
        }
    }
    json.push('}');
    if json.len() == 2 { None } else { RawValue::from_string(json).ok() }
}

/// Whether what a detail says stands elsewhere in what is told: in the sentence, in the input of a next action, or as the
/// time to wait.
fn is_in(value: &RawValue, problem: &Problem) -> bool {
    if problem.retry_after_ms.is_some_and(|ms| ms.to_string() == value.get()) {
        return true;
    }
    let value = serde_json::from_str::<Value>(value.get());
    let is_given = |action: &NextAction| {
        let input = serde_json::from_str::<Value>(action.input.get());
        input.is_ok_and(|input| {
            input.as_object().into_iter().flatten().any(|(_, given)| value.as_ref().is_ok_and(|value| given == value))
        })
    };
    if problem.next_actions.iter().any(is_given) {
        return true;
    }
    let text = match value {
        Ok(Value::String(text)) => text,
        Ok(Value::Number(number)) => number.to_string(),
        Ok(Value::Null) => return true,
        // That there is nothing of a sort is nothing to act on.
        Ok(Value::Array(several)) if several.is_empty() => return true,
        Ok(Value::Bool(_) | Value::Array(_) | Value::Object(_)) | Err(_) => return false,
    };
    let within = |c: char| c.is_alphanumeric() || c == '_';
    let mut places = problem.error.match_indices(&text);
    places.any(|(place, found)| {
        let (before, behind) = (problem.error.get(..place), problem.error.get(place + found.len()..));
        !before.unwrap_or_default().ends_with(within) && !behind.unwrap_or_default().starts_with(within)
    })
}
