//! Every answer that is no success, as a declared failure.

use redress_contract::{Code, FailureDeclaration, Kind, Recovery, Schema, Shape};
use serde_json::{Map, Value, json};

use super::{
    responses::{Content, Declared, any_of, measure, reasons, wanted},
    schemas::{Schemas, object, shortened},
    status,
};
use crate::{BodyKind, Budget, ContentPlan, ResponsePlan, StatusPattern};

/// How many letters of the document's own words are in a hint, and in what says when a failure happens.
const LONGEST_HINT: usize = 120;
const LONGEST_WHEN: usize = 140;

/// Members of the details that every failure of a document may have.
pub(super) const OWN_MEMBERS: [&str; 5] = ["status", "reason", "body", "headers", "retry_after_ms"];

/// What the failures of one operation are made from.
pub(super) struct Makes<'s, 'd> {
    pub(super) schemas: &'s Schemas<'d>,
    pub(super) budget: Budget,
    pub(super) shape: Shape,
}

impl Makes<'_, '_> {
    /// The plan of a response, and the failure that it is.
    pub(super) fn response(&self, declared: &Declared<'_>) -> (ResponsePlan, Option<FailureDeclaration>) {
        if status::is_success(declared.status) {
            let content = declared.content.iter().map(|content| ContentPlan {
                media_type: content.media_type.clone(),
                kind: content.kind,
                schema: Schema::anything(),
            });
            return (plan(declared, content.collect(), None, Vec::new()), None);
        }
        let content = self.content(&declared.content);
        let (pointers, codes) = reasons(self.schemas, &declared.content);
        let failure = self.failure(declared.status, &declared.description, details(&content, declared, &codes));
        let plan = plan(declared, content, Some(failure.code().clone()), pointers);
        (plan, Some(failure))
    }

    /// A failure that the document has no words of its own for: a status below a range or the default.
    pub(super) fn derived(
        &self,
        status: StatusPattern,
        below: &ResponsePlan,
        parent: &FailureDeclaration,
    ) -> (ResponsePlan, FailureDeclaration) {
        // What its body is, the wider failure says; so it is the same for all operations, and told once.
        let mut details = parent.details().as_value().clone();
        if let Some(members) = details.get_mut("properties").and_then(Value::as_object_mut) {
            members.insert("body".into(), json!({}));
            members.insert("reason".into(), json!({"type": "string"}));
        }
        let failure = self.failure(status, "", details).extending(parent.code().as_str());
        let failure = parent.extends().iter().fold(failure, |failure, code| failure.extending(code.as_str()));
        let plan = ResponsePlan { status, code: Some(failure.code().clone()), derived: true, ..below.clone() };
        (plan, failure)
    }

    fn failure(&self, status: StatusPattern, says: &str, details: Value) -> FailureDeclaration {
        let kind = status::kind(status);
        let when = shortened(says, LONGEST_WHEN).unwrap_or_else(|| status::when(status));
        let failure = FailureDeclaration::new(&status::code(status), kind)
            .with_when(when)
            .with_message("the service answered {status} ({reason})")
            .with_http(status::http(status))
            .with_effect(status::effect(status, self.shape))
            .with_recovery(recovery(kind, says));
        let mut details = details;
        if failure.retryable()
            && let Some(members) = details.get_mut("properties").and_then(Value::as_object_mut)
        {
            members.insert("retry_after_ms".into(), json!({"type": "integer"}));
            return failure.with_details(details).with_retry_after("retry_after_ms");
        }
        failure.with_details(details)
    }

    fn content(&self, content: &[Content]) -> Vec<ContentPlan> {
        let made = content.iter().map(|content| ContentPlan {
            media_type: content.media_type.clone(),
            kind: content.kind,
            schema: self.schemas.cut(&content.schema, measure(self.budget.depth, self.budget.details)).into(),
        });
        made.collect()
    }
}

fn plan(declared: &Declared<'_>, content: Vec<ContentPlan>, code: Option<Code>, reasons: Vec<String>) -> ResponsePlan {
    ResponsePlan {
        status: declared.status,
        code,
        content,
        headers: declared.headers.clone(),
        reasons,
        bound: Vec::new(),
        derived: false,
    }
}

/// What a failure tells: the status, the service's own code, the body, and the headers that the document names.
fn details(content: &[ContentPlan], declared: &Declared<'_>, codes: &[String]) -> Value {
    let mut members = Map::new();
    members.insert("status".into(), json!({"type": "integer"}));
    let mut reason = json!({"type": "string"});
    if let (false, Value::Object(reason)) = (codes.is_empty(), &mut reason) {
        reason.insert("examples".into(), json!(codes));
    }
    members.insert("reason".into(), reason);
    let readable = content.iter().filter(|content| content.kind != BodyKind::Bytes);
    let body: Vec<Value> = readable.map(|content| content.schema.as_value().clone()).collect();
    members.insert("body".into(), any_of(body));
    if !declared.headers.is_empty() {
        members.insert("headers".into(), json!({"type": "object", "additionalProperties": {"type": "string"}}));
    }
    object(members, ["status".to_owned(), "reason".to_owned()], true)
}

/// What the caller can do, by the kind, with the document's own words.
pub(super) fn recovery(kind: Kind, says: &str) -> Recovery {
    let says = shortened(says, LONGEST_HINT).unwrap_or_default();
    // A hint is shown as it stands, so that nothing in it may look like a place for a value.
    let says = says.replace(['{', '}'], "");
    let told = |what: &str| {
        if says.split_whitespace().count() < 2 {
            return what.to_owned();
        }
        let end = if says.ends_with(['.', '!', '?', '…']) { "" } else { "." };
        format!("{what} The service says: {says}{end}")
    };
    match kind {
        Kind::Parse | Kind::InvalidRequest | Kind::InvalidParams | Kind::MethodNotFound => {
            Recovery::fix_input("", told("Change the input so that the service takes it, then call again."))
        }
        Kind::Validation => {
            Recovery::fix_input("", told("Correct the values that `details.body` complains of, then call again."))
        }
        Kind::NotFound => Recovery::fix_input("", told("Look for what exists and name that instead.")),
        Kind::Conflict => {
            Recovery::fix_input("", told("Look at the present state first, and change the input to fit it."))
        }
        Kind::Unauthorized => {
            Recovery::ask_user(told("Ask the user to have the credentials for this service renewed."))
        }
        Kind::Forbidden => {
            Recovery::ask_user(told("Ask the user for access: the credentials for this service do not allow it."))
        }
        Kind::RateLimited => {
            Recovery::wait(told("Wait as long as `retry_after_ms` says, or a minute, then make the same call."))
        }
        Kind::Timeout | Kind::Unavailable => {
            Recovery::wait(told("Wait a little while before the same call is made again."))
        }
        Kind::Internal
        | Kind::Configuration
        | Kind::Initialization
        | Kind::Database
        | Kind::Cancelled
        | Kind::Serialization
        | Kind::Unknown => Recovery::ask_user(told("Tell the user what `details` says; the service could not do it.")),
    }
}

/// The statuses that are told apart below a range or the default because something else helps then, where the document
/// does not name them itself.
pub(super) fn told_apart(declared: &[Declared<'_>], shape: Shape) -> Vec<(StatusPattern, StatusPattern)> {
    const APART: [u16; 3] = [404, 429, 503];
    let has = |status| declared.iter().any(|response| response.status == status);
    APART
        .into_iter()
        .filter(|status| !has(StatusPattern::Exact(*status)))
        // A change that the service was too busy for may have been made all the same: waiting alone does not help.
        .filter(|status| *status != 503 || shape != Shape::Mutation)
        .filter_map(|status| {
            let digit = u8::try_from(status / 100).unwrap_or_default();
            let below = [StatusPattern::Range(digit), StatusPattern::Default].into_iter().find(|wide| has(*wide))?;
            Some((StatusPattern::Exact(status), below))
        })
        .collect()
}

/// The success schema of an operation, references and all.
pub(super) fn output(declared: &[Declared<'_>]) -> Value {
    let successes: Vec<&Declared<'_>> =
        declared.iter().filter(|response| status::is_success(response.status)).collect();
    let default = declared.iter().filter(|response| response.status == StatusPattern::Default);
    // Where only a default is declared, it is what a success looks like as well.
    let spoken: Vec<&Declared<'_>> = if successes.is_empty() { default.collect() } else { successes };
    let mut several = Vec::new();
    for response in spoken {
        if response.content.is_empty() {
            several.push(json!({"type": "null"}));
        }
        several.extend(wanted(&response.content).into_iter().map(|content| content.schema.clone()));
    }
    any_of(several)
}
