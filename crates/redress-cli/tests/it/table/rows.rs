//! The calls of the table: one for each way in which a call can end.

use redress_core::contract::Kind;
use serde_json::json;

use super::{contained, service, site::Site};

/// How an operation is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// For one answer.
    Call,
    /// For a stream.
    Stream,
    /// For one answer, though it streams.
    CallOfStream,
    /// For a stream, though it has one answer.
    StreamOfCall,
}

/// Who calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// `local`, with all scopes.
    Local,
    /// A caller with no scopes.
    Clerk,
    /// The clerk in person, who may consent.
    Person,
    Nobody,
}

/// The operation whose calls all say how to find out whether they took place.
pub(crate) const VERIFIED: &str = "table.store";

/// Its input to end like this: a key belongs to an input as it is written.
pub(crate) fn ending(how: &str) -> String {
    format!(r#"{{"n":7,"how":"{how}"}}"#)
}

/// One call.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) operation: &'static str,
    pub(crate) input: String,
    pub(crate) ask: Ask,
    pub(crate) who: Who,
    pub(crate) deadline_ms: Option<u64>,
    pub(crate) key: Option<&'static str>,
    /// The code with which the call ends that it makes, if it makes one.
    pub(crate) below: Option<&'static str>,
    /// The code with which it ends; nothing if it ends well.
    pub(crate) code: Option<String>,
}

fn row(name: &str, operation: &'static str, input: impl Into<String>, code: Option<&str>) -> Row {
    Row {
        name: name.to_owned(),
        operation,
        input: input.into(),
        ask: Ask::Call,
        who: Who::Local,
        deadline_ms: None,
        key: None,
        below: None,
        code: code.map(str::to_owned),
    }
}

impl Row {
    /// A call that never ends by itself.
    pub(crate) fn that_waits() -> Row {
        row("waits", "table.wait", "{}", Some("CANCELLED"))
    }

    /// A stream that never ends by itself.
    pub(crate) fn stream_that_waits() -> Row {
        Row { ask: Ask::Stream, ..row("a stream waits", "table.hang", "{}", Some("CANCELLED")) }
    }

    /// Whether it asks for what is for persons alone, and therefore no tool.
    pub(crate) fn is_for_persons(&self) -> bool {
        self.operation.starts_with("consent.")
    }

    pub(crate) fn is_stream(&self) -> bool {
        matches!(self.ask, Ask::Stream)
    }

    fn streams(mut self) -> Row {
        self.ask = Ask::Stream;
        self
    }

    fn by(mut self, who: Who) -> Row {
        self.who = who;
        self
    }
}

/// What is agreed to, by the caller itself and by somebody else.
const GRANT: &str = r#"{"operation":"table.wipe"}"#;
const FOR_LOCAL: &str = r#"{"operation":"table.wipe","caller":"local"}"#;

/// Every row.
pub(crate) fn all(site: &Site) -> Vec<Row> {
    let mut rows = vec![
        row("success", "table.greet", r#"{"name":"Ada"}"#, None),
        row("success, by its path", "table/greet", r#"{"name":"Ada"}"#, None),
        row("success, by an alias", "table.hello", r#"{"name":"Ada"}"#, None),
        row("success, any Unicode", "table.greet", r#"{"name":"\u0000\"\\ é 𝄞 \ud83d\ude00"}"#, None),
        row("success, null", "table.nothing", "{}", None),
    ];
    rows.extend(Kind::ALL.into_iter().map(|kind| {
        let input = json!({"kind": kind.as_str()}).to_string();
        row(&format!("kind {}", kind.as_str()), "table.fail", input, Some(&service::code_of(kind)))
    }));
    let secret = site.typed.plant("a value that is refused");
    let invalid = |name, input: String| row(name, "table.greet", input, Some("INVALID_INPUT"));
    let composed = |how: &str, below, code| {
        let called = row(&format!("composed, {how}"), "table.outer", json!({"how": how}).to_string(), Some(code));
        Row { below: Some(below), ..called }
    };
    let cut_off = |how: &str, code| {
        let ends = how.split(',').next().unwrap_or_default();
        row(&format!("to verify, {how}"), VERIFIED, ending(ends), Some(code))
    };
    rows.extend([
        row("all that a failure can say", "table.find", "{}", Some("THING_MISSING")),
        row("next actions, all scopes", "table.stray", "{}", Some("THING_STRAYED")),
        row("next actions, no scope", "table.stray", "{}", Some("THING_STRAYED")).by(Who::Clerk),
        row("a declaration, all scopes", "services.schema", r#"{"name":"table.compose"}"#, None),
        row("a declaration, no scope", "services.schema", r#"{"name":"table.compose"}"#, None).by(Who::Clerk),
        row("a declaration of the hidden", "services.schema", r#"{"name":"table.gone"}"#, Some("SERVICE_UNKNOWN")),
        invalid("invalid, with a fix", r#"{"nam":"Ada"}"#.to_owned()),
        invalid("invalid, value never told", json!({"name": [secret]}).to_string()),
        invalid("invalid, two at once", r#"{"name":7,"times":99}"#.to_owned()),
        invalid("invalid, an array", "[]".to_owned()),
        row("a member twice", "table.greet", r#"{"name":"a","name":"b"}"#, Some("INVALID_INPUT")),
        row("unknown operation", "table.gret", "{}", Some("NOT_FOUND")),
        row("internal operation", "table.hidden", "{}", Some("NOT_FOUND")),
        row("timeout, its own", "table.slow", "{}", Some("TIMEOUT")),
        Row { deadline_ms: Some(30), ..row("timeout, as asked", "table.patient", "{}", Some("TIMEOUT")) },
        row("panic", "table.break", r#"{"how":"panic"}"#, Some("INTERNAL")),
        row("a contained error", "table.break", r#"{"how":"text"}"#, Some("INTERNAL")),
        row("a foreign error", "table.break", r#"{"how":"io"}"#, Some("INTERNAL")),
        row("declared, with a cause", "table.break", r#"{"how":"caused"}"#, Some("THING_MISSING")),
        composed("down", "UPSTREAM_UNREACHABLE", "UPSTREAM_UNREACHABLE"),
        composed("text", "INTERNAL", "INTERNAL"),
        composed("caused", "THING_MISSING", "INTERNAL"),
        row("undeclared failure", "table.break", r#"{"how":"undeclared"}"#, Some("INTERNAL")),
        row("details against their schema", "table.break", r#"{"how":"details"}"#, Some("INTERNAL")),
        row("output against its schema", "table.break", r#"{"how":"output"}"#, Some("INVALID_OUTPUT")),
        cut_off("late", "TIMEOUT"),
        cut_off("panic", "INTERNAL"),
        cut_off("text", "INTERNAL"),
        cut_off("undeclared", "INTERNAL"),
        cut_off("down", "UPSTREAM_UNREACHABLE"),
        cut_off("output", "INVALID_OUTPUT"),
        cut_off("unsure", "STORE_UNSURE"),
        Row { key: Some("lost"), ..cut_off("late, with its key again", "OUTCOME_UNKNOWN") },
        row("too large", "table.greet", json!({"name": "x".repeat(5000)}).to_string(), Some("PAYLOAD_TOO_LARGE")),
        row("consent", "table.wipe", "{}", Some("CONSENT_REQUIRED")),
        row("consent of nobody yet", "table.wipe", "{}", Some("CONSENT_REQUIRED")).by(Who::Clerk),
        row("consent, granted by local", "consent.grant", GRANT, Some("FORBIDDEN")),
        row("consent, granted by an agent", "consent.grant", GRANT, Some("FORBIDDEN")).by(Who::Clerk),
        row("consent, taken back by an agent", "consent.revoke", GRANT, Some("FORBIDDEN")).by(Who::Clerk),
        row("consent, granted by a person", "consent.grant", GRANT, None).by(Who::Person),
        row("consent for somebody else", "consent.grant", FOR_LOCAL, Some("CONSENT_NOT_YOURS")).by(Who::Person),
        row("consent, and then the call", "table.wipe", "{}", None).by(Who::Clerk),
        row("consent of another caller", "table.wipe", "{}", Some("CONSENT_REQUIRED")),
        row("a result that is too large", "table.much", "{}", Some("RESULT_TOO_LARGE")),
        row("no capacity", "table.full", "{}", Some("OVERLOADED")),
        row("a limit", "table.limited", "{}", Some("RATE_LIMITED")),
        row("a quota", "table.spent", "{}", Some("QUOTA_EXHAUSTED")),
        row("a quota of a stream", "table.spent_stream", "{}", Some("QUOTA_EXHAUSTED")).streams(),
        row("a guard's veto", "table.guarded", "{}", Some("CLOSED_TODAY")),
        row("source that is refused", "table.run", r#"{"source":"goto 7"}"#, Some("EVAL_BLOCKED_KEYWORD")),
        row("source with a construct", "table.run", r#"{"source":"poke 7"}"#, Some("EVAL_BLOCKED_CONSTRUCT")),
        row("source that is none", "table.run", r#"{"source":"?"}"#, Some("EVAL_UNPARSABLE")),
        Row { key: Some("kept"), ..row("a key again", "table.once", r#"{"n":2}"#, Some("IDEMPOTENCY_CONFLICT")) },
        Row { key: Some("k"), ..row("a key of a query", "table.greet", r#"{"name":"Ada"}"#, Some("INVALID_REQUEST")) },
        Row { key: Some("k"), ..row("a key of a mutation without", "table.wipe", "{}", Some("INVALID_REQUEST")) },
        Row { key: Some("k"), ..row("a key of a stream", "table.count", "{}", Some("INVALID_REQUEST")).streams() },
        Row { key: Some("k"), ..row("a key of nobody", "table.vault", "{}", Some("AUTH_REQUIRED")).by(Who::Nobody) },
        row("nobody", "table.vault", "{}", Some("AUTH_REQUIRED")).by(Who::Nobody),
        row("without the scope", "table.vault", "{}", Some("FORBIDDEN")).by(Who::Clerk),
        row("with the scope", "table.vault", "{}", None),
        row("a check, let through", "table.owned", r#"{"of":"mine"}"#, None),
        row("a check, refused", "table.owned", r#"{"of":"theirs"}"#, Some("FORBIDDEN")),
        row("a check, hidden", "table.owned", r#"{"of":"hidden"}"#, Some("THING_MISSING")),
        row("a check, contained", "table.owned", r#"{"of":"text"}"#, Some("INTERNAL")),
        row("a check, undeclared", "table.owned", r#"{"of":"undeclared"}"#, Some("INTERNAL")),
        row("a check, panics", "table.owned", r#"{"of":"panic"}"#, Some("INTERNAL")),
        row("a check, down", "table.owned", r#"{"of":"down"}"#, Some("UPSTREAM_UNREACHABLE")),
        row("a check of a stream, let through", "table.feed", r#"{"of":"mine"}"#, None).streams(),
        row("a check of a stream, refused", "table.feed", r#"{"of":"theirs"}"#, Some("FORBIDDEN")).streams(),
        row("a check of a stream, hidden", "table.feed", r#"{"of":"hidden"}"#, Some("THING_MISSING")).streams(),
        row("stream", "table.count", r#"{"to":3}"#, None).streams(),
        row("stream of nothing", "table.count", r#"{"to":0}"#, None).streams(),
        row("stream, fails in the middle", "table.count", r#"{"to":2,"then":"fail"}"#, Some("THING_MISSING")).streams(),
        row("stream, breaks in the middle", "table.count", r#"{"to":2,"then":"text"}"#, Some("INTERNAL")).streams(),
        row("stream, cut off below", "table.count", r#"{"to":2,"then":"down"}"#, Some("UPSTREAM_UNREACHABLE"))
            .streams(),
        row("stream, panics in the middle", "table.count", r#"{"to":2,"then":"panic"}"#, Some("INTERNAL")).streams(),
        row("stream, silent for too long", "table.count", r#"{"to":1,"then":"hang"}"#, Some("TIMEOUT")).streams(),
        Row {
            deadline_ms: Some(500),
            ..row("stream, as long as asked", "table.hang", "{}", Some("TIMEOUT")).streams()
        },
        row("stream, invalid", "table.count", r#"{"too":3}"#, Some("INVALID_INPUT")).streams(),
        row("stream, fails to open", "table.count", r#"{"to":-1}"#, Some("THING_MISSING")).streams(),
    ]);
    rows.extend(contained::classes().into_iter().map(|(how, code)| {
        let input = json!({"how": how}).to_string();
        row(&format!("contained, {how}"), "table.break", input, Some(code))
    }));
    let misused = Some("INVALID_OPERATION_TYPE");
    rows.push(Row { ask: Ask::CallOfStream, ..row("a stream called once", "table.count", "{}", misused) });
    rows.push(Row { ask: Ask::StreamOfCall, ..row("a query subscribed to", "table.greet", "{}", misused) });
    rows
}
