//! What a refused caller is told.
//!
//! Schema and document are walked together within a budget of work, and what is found on the way is named;
//! each issue says where, which rule, and what the schema wants there. It never says what was sent: a refused value
//! may be a secret in the wrong field, and an error text travels into logs. The one exception is a
//! pointer, which holds the names of fields, made up ones included; see [`shown`].

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::budget::StepBudget;
use super::decode::{document, parse};
use super::duplicate_keys::twice;
use super::fix::{changes, fix, is_true_to};
use super::instance_path::{push, shown, shown_at};
use super::shape::InputShape;
use super::violation::{Violation, ViolationContext, problems};

/// The most issues that are told: few enough to be read.
pub(super) const MAX: usize = 30;
/// The steps for finding near words, for all issues together.
const NEAR: u64 = 300_000;

/// Why an input was refused, and how to mend it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// What is wrong, in the order of the schema; at least one.
    pub issues: Vec<InputIssue>,
    /// A JSON Patch (RFC 6902) that, applied to the input, makes it acceptable. Its values come from
    /// the input, so it belongs in the reply to the caller and nowhere else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<Vec<Value>>,
}

/// One thing wrong with an input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InputIssue {
    /// Where (RFC 6901).
    pub pointer: String,
    /// The schema keyword that was broken; `json` for a text that is no JSON, `duplicate` for a
    /// field that stands twice, `decode` for a value that its schema admits and its type does not,
    /// `schema` where looking for the keyword took more work than a refusal is worth.
    pub rule: String,
    /// What the schema wants there.
    pub expected: String,
    /// The known field or value nearest to what was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near: Option<String>,
}

/// Explains a refusal. `accepts` decodes again, which is how a fix is tried; `pointer` finds the place
/// where a type refuses what its schema admits, see [`pointer_of`]; `stop` says whether the explanation is
/// still worth its work: it is asked again and again, and once it is `true` what was found so far is told.
pub fn explain(
    bytes: &[u8],
    shape: &InputShape,
    accepts: &dyn Fn(&[u8]) -> bool,
    pointer: &dyn Fn(&[u8]) -> Option<String>,
    stop: &dyn Fn() -> bool,
) -> Explanation {
    explain_counted(bytes, shape, accepts, pointer, stop).0
}

/// Explains a refusal, and says how many steps that took.
pub(super) fn explain_counted(
    bytes: &[u8],
    shape: &InputShape,
    accepts: &dyn Fn(&[u8]) -> bool,
    pointer: &dyn Fn(&[u8]) -> Option<String>,
    stop: &dyn Fn() -> bool,
) -> (Explanation, u64) {
    let Ok(value) = parse(bytes) else {
        return (only(String::new(), "json", "a JSON document"), 0);
    };
    if shape.is_valid(&value) {
        if let Some(place) = twice(bytes) {
            return (only(shown(&place), "duplicate", "each field once"), 0);
        }
        let place = pointer(bytes).unwrap_or_default();
        return (only(shown(&place), "decode", "a value this field's type accepts"), 0);
    }
    let tree = shape.tree();
    let budget = StepBudget::of(bytes.len(), stop);
    let words = StepBudget::new(NEAR, stop);
    let (issues, changes) = {
        let found = problems(tree, &value, &budget, MAX);
        let context = ViolationContext::new(tree, &value, &words);
        (issues(&found, &context), changes(&found, &context))
    };
    if issues.is_empty() {
        return (only(String::new(), "schema", "a value that fits the schema"), budget.used());
    }
    let fix = changes
        .and_then(|changes| fix(value, changes, shape, &budget, &words, accepts))
        .filter(|operations| is_true_to(bytes, operations));
    (Explanation { issues, fix }, budget.used() + words.used())
}

/// The place where `T` refuses a document.
pub fn pointer_of<T: DeserializeOwned>(bytes: &[u8]) -> Option<String> {
    use serde_path_to_error::Segment;
    let mut document = serde_json::Deserializer::from_slice(document(bytes));
    let error = serde_path_to_error::deserialize::<_, T>(&mut document).err()?;
    let mut pointer = String::new();
    for segment in error.path() {
        match segment {
            Segment::Seq { index } => push(&mut pointer, &index.to_string()),
            Segment::Map { key } => push(&mut pointer, key),
            // Only the name of a variant with content is reported, and that is a field.
            Segment::Enum { variant } => push(&mut pointer, variant),
            Segment::Unknown => break,
        }
    }
    Some(pointer)
}

fn only(pointer: String, rule: &str, expected: &str) -> Explanation {
    let issue = InputIssue { pointer, rule: rule.to_owned(), expected: expected.to_owned(), near: None };
    Explanation { issues: vec![issue], fix: None }
}

/// The first issues, few enough to be read.
fn issues<'a>(found: &[Violation<'a>], context: &ViolationContext<'a>) -> Vec<InputIssue> {
    const ROOM: usize = 4096;
    let mut issues: Vec<InputIssue> = Vec::new();
    let mut size = 0;
    for problem in found.iter().take(MAX) {
        let issue = InputIssue {
            pointer: shown_at(&problem.at, problem.name()),
            rule: problem.rule.to_owned(),
            expected: context.expected(problem),
            near: context.near(problem).map(|near| near.word.to_owned()),
        };
        if issues.contains(&issue) {
            continue;
        }
        size += serde_json::to_vec(&issue).map_or(ROOM, |bytes| bytes.len());
        if size > ROOM && !issues.is_empty() {
            break;
        }
        issues.push(issue);
    }
    issues
}
