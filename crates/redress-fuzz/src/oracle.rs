//! What every answer has to keep, whatever was sent.

use redress::{
    EngineCode, Kind, Registry, Retry,
    contract::{Meta, Problem, RecoveryStep},
};
use serde_json::{Map, Value};

use crate::{operations::SECRET, service::Answer};

/// The members of an envelope of a bad ending, and of a problem document around it.
const FAILED: [&str; 17] = [
    "ok",
    "error",
    "code",
    "kind",
    "extends",
    "hint",
    "retryable",
    "retry",
    "retry_after_ms",
    "effect",
    "http",
    "recovery",
    "next_actions",
    "similar",
    "details",
    "docs_url",
    "_meta",
];

/// How a call ended: well, or with a code.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ending {
    Well(Value),
    Badly { code: String, http: u16, details: Value },
}

impl Ending {
    pub(crate) fn code(&self) -> Option<&str> {
        match self {
            Ending::Well(_) => None,
            Ending::Badly { code, .. } => Some(code),
        }
    }
}

/// Reads bytes that have to be JSON, and hold nothing that was to stay inside.
#[track_caller]
pub(crate) fn json(bytes: &[u8]) -> Value {
    clean(bytes);
    serde_json::from_slice(bytes).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(bytes)))
}

/// Holds every byte that leaves against what operations at fault hold.
#[track_caller]
pub(crate) fn clean(bytes: &[u8]) {
    let leaks = |needle: &[u8]| bytes.windows(needle.len()).any(|window| window.eq_ignore_ascii_case(needle));
    assert!(!leaks(&SECRET.as_bytes()[..12]), "the cause of a fault got out: {}", String::from_utf8_lossy(bytes));
}

/// An answer is as large as its call asks for, and no larger; the largest is a document about everything.
#[track_caller]
pub(crate) fn bounded(answer: &[u8], asked: &[u8]) {
    assert!(answer.len() <= 256 * 1024 + 64 * asked.len(), "{} bytes for {}", answer.len(), asked.len());
}

/// The same for many messages in one: each may be refused, with an envelope of a kilobyte.
#[track_caller]
pub(crate) fn bounded_by_line(answer: &[u8], asked: &[u8]) {
    let lines = asked.split(|byte| *byte == b'\n').count();
    let max = 256 * 1024 + 64 * asked.len() + 1024 * lines;
    assert!(answer.len() <= max, "{} bytes for {} in {lines} lines", answer.len(), asked.len());
}

/// An envelope: one of two shapes, with a code that is known and words that agree with it.
#[track_caller]
pub(crate) fn envelope(registry: &Registry, value: &Value) -> Ending {
    let members = value.as_object().unwrap_or_else(|| panic!("no envelope: {value}"));
    let meta: Meta = serde_json::from_value(value["_meta"].clone()).unwrap_or_else(|error| panic!("{error}: {value}"));
    let mut payload = members.clone();
    payload.remove("_meta");
    estimated(&payload, meta.estimated_tokens);
    match value["ok"].as_bool() {
        Some(true) => {
            let held: Vec<&str> = payload.keys().map(String::as_str).collect();
            assert!(held == ["ok", "result"] || held == ["result", "ok"], "{value}");
            Ending::Well(value["result"].clone())
        }
        Some(false) => {
            let strange: Vec<&String> = members.keys().filter(|name| !FAILED.contains(&name.as_str())).collect();
            assert!(strange.is_empty(), "{strange:?} in {value}");
            problem(registry, value)
        }
        None => panic!("neither well nor badly: {value}"),
    }
}

/// A quarter of the characters of the payload, however its members are ordered.
#[track_caller]
fn estimated(payload: &Map<String, Value>, told: u64) {
    let text = serde_json::to_string(payload).unwrap_or_default();
    // The engine counts what it wrote; numbers may be written in more than one way.
    let max = u64::try_from(text.chars().count()).unwrap_or_default();
    assert!(told >= max / 16 && told <= max + 16, "{told} tokens for {max} characters");
}

/// The members of a bad ending.
#[track_caller]
pub(crate) fn problem(registry: &Registry, value: &Value) -> Ending {
    let read: Problem = serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error}: {value}"));
    let nulls: Vec<&String> =
        value.as_object().into_iter().flatten().filter(|(_, member)| member.is_null()).map(|(name, _)| name).collect();
    assert!(nulls.is_empty(), "{nulls:?} are null in {value}");
    let code = read.code.as_str();
    let declared = EngineCode::parse(code).map(EngineCode::declaration).or_else(|| registry.failure(code));
    let declared = declared.unwrap_or_else(|| panic!("nobody declared {code}"));
    assert_eq!(read.kind, declared.kind(), "{value}");
    assert!((400..=599).contains(&read.http), "{value}");
    assert!(!read.error.is_empty() && read.hint.split_whitespace().count() >= 5, "{value}");
    assert_eq!(&*read.docs_url, format!("/errors/{code}"), "{value}");
    let again = matches!(read.retry, Retry::Safe | Retry::SafeWithKey);
    assert!(!read.retryable || again, "may be repeated, and is not safe to: {value}");
    let verifies = matches!((&read.recovery, &read.next_actions[..]),
        (Some(RecoveryStep::Verify { operation, .. }), [next, ..]) if next.operation == *operation);
    assert!(read.retry != Retry::AfterVerify || verifies, "is to be verified, and nothing says how: {value}");
    assert!(read.retry_after_ms.is_none() || read.kind != Kind::InvalidParams, "{value}");
    Ending::Badly { code: code.to_owned(), http: read.http, details: value["details"].clone() }
}

/// An answer whose body is one envelope.
#[track_caller]
pub(crate) fn enveloped(registry: &Registry, answer: &Answer) -> Ending {
    headed(answer);
    let ending = envelope(registry, &json(&answer.body));
    match &ending {
        Ending::Well(_) => assert_eq!(answer.status, 200, "{answer:?}"),
        Ending::Badly { http, .. } => assert_eq!(answer.status, *http, "{answer:?}"),
    }
    ending
}

/// An answer whose body is an output, or a problem document.
#[track_caller]
pub(crate) fn plain(registry: &Registry, answer: &Answer) -> Ending {
    headed(answer);
    let value = json(&answer.body);
    if answer.status == 200 {
        assert_eq!(answer.headers["content-type"], "application/json");
        return Ending::Well(value);
    }
    assert_eq!(answer.headers["content-type"], "application/problem+json", "{answer:?}");
    let mut envelope = value.clone();
    for member in ["type", "title", "status", "detail"] {
        let member = envelope.as_object_mut().and_then(|members| members.remove(member));
        assert!(member.is_some(), "{value}");
    }
    assert_eq!((&value["type"], &value["detail"]), (&value["docs_url"], &value["error"]));
    assert_eq!((value["status"].as_u64(), &value["http"]), (Some(answer.status.into()), &value["status"]));
    let ending = self::envelope_of_problem(registry, &envelope);
    assert!(ending.code().is_some(), "{value}");
    ending
}

/// The envelope inside a problem document; what it counts is the envelope alone.
#[track_caller]
fn envelope_of_problem(registry: &Registry, value: &Value) -> Ending {
    envelope(registry, value)
}

/// The headers that an answer has to have, and those that go with a status.
#[track_caller]
pub(crate) fn headed(answer: &Answer) {
    let has = |name: &str| answer.headers.contains_key(name);
    assert!(has("x-request-id"), "{answer:?}");
    assert_eq!(has("www-authenticate"), answer.status == 401, "{answer:?}");
    assert_eq!(has("allow"), answer.status == 405, "{answer:?}");
    if let Some(seconds) = answer.headers.get("retry-after") {
        assert!(seconds.to_str().is_ok_and(|text| text.parse::<u64>().is_ok()), "{answer:?}");
    }
    for (name, value) in &answer.headers {
        clean(name.as_str().as_bytes());
        clean(value.as_bytes());
    }
}
