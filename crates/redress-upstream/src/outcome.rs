//! What an answer is, by the plan of its operation: an output, a declared failure, or nothing that was promised.

use std::time::SystemTime;

use redress_contract::{Effect, Json};
use redress_core::{DynamicFailure, Fail, Outcome, UpstreamFailure};
use redress_import::{ResponsePlan, StatusPattern};
use reqwest::StatusCode;
use serde_json::{Map, Value, json};

use crate::{
    advice,
    body::{self, Answer, Body, Unfit, millis},
    planned::Planned,
    redact,
    upstream::Inner,
};

/// How many characters of a service's own code, or of a header, are told.
const MAX_LENGTH: usize = 200;

/// The end of a call, as its operation declares it.
pub(crate) type Ended = Outcome<Json, DynamicFailure>;

/// What `answer` is to whoever called `planned` with `input`.
pub(crate) fn outcome(inner: &Inner, planned: &Planned, input: &Map<String, Value>, mut answer: Answer) -> Ended {
    let (upstream, status) = (inner.config.name.as_str(), answer.status);
    let is_ok = (200..300).contains(&status);
    let Some(plan) = planned.imported.response(status) else {
        inner.failed();
        return Err(unplanned(upstream, planned, &answer));
    };
    // What is said of all other statuses is said of failures, unless nothing is said of successes.
    let code = plan.code.as_ref().filter(|_| !(is_ok && plan.status == StatusPattern::Default));
    let read = match body::body(plan, &mut answer) {
        Ok(read) => read,
        Err(unfit) => {
            inner.failed();
            return Err(undeclared(upstream, &answer, unfit.as_str()).with_effect(planned.effect()).into());
        }
    };
    match code {
        Some(code) => Err(declared(upstream, planned, plan, code.as_str(), input, &answer, read)),
        None => success(planned, status, read),
    }
}

/// A success, unless its body says that it is none.
fn success(planned: &Planned, status: u16, read: Body) -> Ended {
    if planned.rules.is_empty() {
        return match read {
            Body::None => Ok(Json::from_written("null".to_owned())),
            Body::Json(json) => Ok(json),
            Body::Value(value) => Ok(Json::from_written(value.to_string())),
        };
    }
    let (json, value) = match read {
        Body::None => (Json::from_written("null".to_owned()), Value::Null),
        Body::Json(json) => {
            let value = serde_json::from_str(json.get()).unwrap_or_default();
            (json, value)
        }
        Body::Value(value) => (Json::from_written(value.to_string()), value),
    };
    match planned.rules.iter().find(|rule| rule.is_met(&value)) {
        None => Ok(json),
        Some(rule) => {
            let reason = rule.reason(&value).unwrap_or_else(|| "it does not say why".to_owned());
            let reason: String = reason.chars().take(MAX_LENGTH).collect();
            let details = json!({"status": status, "reason": reason, "body": rule.told(value)});
            Err(DynamicFailure::new(rule.code(), details))?
        }
    }
}

/// A failure that the document declares.
fn declared(
    upstream: &str,
    planned: &Planned,
    plan: &ResponsePlan,
    code: &str,
    input: &Map<String, Value>,
    answer: &Answer,
    read: Body,
) -> Fail<DynamicFailure> {
    let status = answer.status;
    let value = read.into_value();
    let mut details = Map::new();
    details.insert("status".to_owned(), status.into());
    details.insert("reason".to_owned(), reason(plan, status, value.as_ref()).into());
    if let Some(value) = value {
        details.insert("body".to_owned(), value);
    }
    let retryable = planned.imported.operation.failure(code).is_some_and(|failure| failure.retryable());
    let wait = advice::retry_after(&answer.headers, SystemTime::now()).filter(|_| retryable).map(millis);
    if let Some(wait) = wait {
        details.insert("retry_after_ms".to_owned(), wait.into());
    }
    let headers: Map<String, Value> =
        plan.headers.iter().filter_map(|name| Some((name.clone(), Value::from(header(answer, name)?)))).collect();
    if !headers.is_empty() {
        details.insert("headers".to_owned(), headers.into());
    }
    for bound in &plan.bound {
        if let Some(value) = input.get(&bound.field) {
            details.insert(bound.member.clone(), value.clone());
        }
    }
    let upstream = upstream.to_owned();
    let failure = DynamicFailure::new(code, details.into()).otherwise(move |details| {
        let body = details.get("body").map(Value::to_string).unwrap_or_default();
        UpstreamFailure::undeclared().with_details(told(&upstream, status, "body", body.as_bytes()))
    });
    match wait {
        Some(wait) => failure.with_retry_after_ms(wait).into(),
        None => failure.into(),
    }
}

fn header(answer: &Answer, name: &str) -> Option<String> {
    let text = answer.headers.get(name)?.to_str().ok()?;
    Some(text.chars().take(MAX_LENGTH).collect())
}

/// The service's own code, where the body has one; else what the status is called.
fn reason(plan: &ResponsePlan, status: u16, body: Option<&Value>) -> String {
    let found = plan.reasons.iter().find_map(|pointer| match body?.pointer(pointer)? {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => None,
    });
    let phrase =
        || StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or("no reason");
    found.map_or_else(|| phrase().to_owned(), |text| text.chars().take(MAX_LENGTH).collect())
}

/// An answer with a status of which the document says nothing. Some statuses mean the same of every service.
fn unplanned(upstream: &str, planned: &Planned, answer: &Answer) -> Fail<DynamicFailure> {
    let status = answer.status;
    match status {
        401 => {
            let details =
                json!({"upstream": upstream, "who": "operator", "reason": "refused", "schemes": planned.schemes()});
            UpstreamFailure::credentials_required().with_details(details).into()
        }
        429 | 502 | 503 | 504 => {
            let effect = if status == 429 { Effect::None } else { planned.effect() };
            let failure = UpstreamFailure::unreachable(effect);
            let failure = failure.with_details(json!({"upstream": upstream, "status": status, "reason": "busy"}));
            match advice::retry_after(&answer.headers, SystemTime::now()) {
                Some(wait) => failure.with_retry_after_ms(millis(wait)).into(),
                None => failure.into(),
            }
        }
        300..=399 => undeclared(upstream, answer, "redirect").with_effect(planned.effect()).into(),
        _ => undeclared(upstream, answer, "status").with_effect(planned.effect()).into(),
    }
}

/// What the document does not say.
pub(crate) fn undeclared(upstream: &str, answer: &Answer, reason: &str) -> UpstreamFailure {
    let mut details = told(upstream, answer.status, reason, &answer.bytes);
    let essence = answer.essence();
    if !essence.is_empty() && reason == Unfit::ContentType.as_str() {
        details["content_type"] = essence.chars().take(MAX_LENGTH).collect::<String>().into();
    }
    UpstreamFailure::undeclared().with_details(details)
}

fn told(upstream: &str, status: u16, reason: &str, bytes: &[u8]) -> Value {
    let mut details = json!({"upstream": upstream, "status": status, "reason": reason});
    if let Some(excerpt) = redact::excerpt(bytes) {
        details["excerpt"] = excerpt.into();
    }
    details
}
