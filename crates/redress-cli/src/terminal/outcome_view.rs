//! The outcome of a call on a terminal: the output, or the failure with what to do.

use std::{
    fmt, io,
    time::{Duration, SystemTime},
};

use redress_contract::{Done, EngineCode};
use serde_json::Value;

use crate::{
    config::{Span, moment::calendar},
    program::CommandEnd,
    terminal::{
        indent,
        output::{BAD, NAME, SOFT, Stream, TYPED, Terminal, harmless},
        shell,
    },
};

/// What to do where a consent has to come with the call.
const AGREE: &str = "Ask the user to agree: only a person can, who makes the call with `--consent`.";

/// The envelope of a call, as it came.
#[derive(Debug)]
pub(crate) struct OutcomeView {
    bytes: Vec<u8>,
    json: Value,
    /// That the operation is deprecated, and what to call instead, where that is known.
    deprecated: Option<Option<String>>,
}

/// What was typed, to make the lines that can be typed next.
#[derive(Clone, Copy)]
pub(crate) struct Typing<'a> {
    pub(crate) program: &'a str,
    pub(crate) flags: &'a [String],
    pub(crate) operation: &'a str,
    pub(crate) input: &'a [u8],
    /// Whether the operation runs in this very process.
    pub(crate) here: bool,
}

impl OutcomeView {
    /// Reads an envelope; nothing if it is none.
    pub(crate) fn read(bytes: Vec<u8>) -> Option<OutcomeView> {
        let json: Value = serde_json::from_slice(&bytes).ok()?;
        json.get("ok")?.as_bool()?;
        Some(OutcomeView { bytes, json, deprecated: None })
    }

    /// The same answer, of an operation that is deprecated, with what to call instead.
    pub(crate) fn of_deprecated(mut self, instead: Option<String>) -> OutcomeView {
        self.deprecated = Some(instead);
        self
    }

    /// Says to the person who called that the operation is deprecated, where it is. It goes where no program reads.
    pub(crate) fn note_deprecated(&self, operation: &str, terminal: &mut Terminal<'_>) -> io::Result<()> {
        let Some(instead) = &self.deprecated else { return Ok(()) };
        let instead = instead.as_ref().map(|name| format!(": call {name} instead")).unwrap_or_default();
        let err = terminal.err();
        err.line(format_args!(
            "{} {}",
            err.paint(SOFT, "note:"),
            harmless(&format!("{operation} is deprecated{instead}"))
        ))
    }

    pub(crate) fn is_ok(&self) -> bool {
        self.json.get("ok").and_then(Value::as_bool) == Some(true)
    }

    /// What it ended with, where it ended well.
    pub(crate) fn result(&self) -> Option<&Value> {
        self.json.get("result").filter(|_| self.is_ok())
    }

    /// Whether the operation was called once and is a stream.
    pub(crate) fn wants_subscription(&self) -> bool {
        self.text("code") == "INVALID_OPERATION_TYPE"
            && self.json.pointer("/details/shape") == Some(&"subscription".into())
    }

    fn text(&self, member: &str) -> &str {
        self.json.get(member).and_then(Value::as_str).unwrap_or_default()
    }

    fn list(&self, pointer: &str) -> &[Value] {
        self.json.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    /// Shows the outcome: to programs as it is; to people the output on the output, the
    /// failure on the error stream.
    pub(crate) fn show(&self, terminal: &mut Terminal<'_>, typing: Typing<'_>) -> io::Result<CommandEnd> {
        let ended = if self.is_ok() { CommandEnd::Well } else { CommandEnd::Badly };
        if terminal.is_json() {
            terminal.out().bytes(&self.bytes)?;
            terminal.out().bytes(b"\n")?;
        } else if self.is_ok() {
            // The end of a stream has no result, and its items are there already.
            if let Some(output) = indent::output(&self.bytes) {
                terminal.out().line(output)?;
            }
        } else {
            self.show_failure(terminal.err(), typing)?;
        }
        Ok(ended)
    }

    fn show_failure(&self, err: &mut Stream<'_>, typing: Typing<'_>) -> io::Result<()> {
        let code = harmless(self.text("code"));
        err.line(format_args!("{}  {}", err.paint(BAD, code), harmless(self.text("error"))))?;
        for issue in self.list("/details/issues") {
            row(err, "at:", told(issue))?;
        }
        // A consent in memory ends with this process, so it has to come with the call. That is for a person to type, and
        // therefore no line to paste: who reads this may be an agent.
        let agree = self.text("code") == EngineCode::ConsentRequired.as_str() && typing.here;
        row(err, "hint:", if agree { AGREE.to_owned() } else { harmless(self.text("hint")) })?;
        if let Some(token) = self.token(typing) {
            row(err, "token:", token)?;
        }
        if let Some(details) = self.details() {
            row(err, "details:", harmless(&details))?;
        }
        for (line, why) in self.next(typing) {
            row(err, "next:", err.paint(TYPED, line))?;
            if let Some(why) = why {
                row(err, "", err.paint(SOFT, harmless(&why)))?;
            }
        }
        if let Some(done) = self.done() {
            row(err, "done:", harmless(&format!("where its answer has {done}; otherwise call again")))?;
        }
        let similar: Vec<String> =
            self.list("/similar").iter().filter_map(|near| near.get("value")?.as_str()).map(harmless).collect();
        if !similar.is_empty() {
            row(err, "similar:", similar.join(", "))?;
        }
        let mut retry = harmless(self.text("retry"));
        if let Some(ms) = self.json.get("retry_after_ms").and_then(Value::as_u64) {
            retry.push_str(&format!(", {}", after(Duration::from_millis(ms), SystemTime::now())));
        }
        row(err, "retry:", retry)?;
        let request = self.json.pointer("/_meta/request_id").and_then(Value::as_str).unwrap_or_default();
        row(err, "request:", err.paint(NAME, harmless(request)))
    }

    /// How to show a server who calls, where it does not know that.
    fn token(&self, typing: Typing<'_>) -> Option<&'static str> {
        let unknown = self.text("code") == EngineCode::AuthRequired.as_str() && !typing.here;
        let refused = self.json.pointer("/details/token") == Some(&"refused".into());
        unknown.then_some(if refused {
            "the one in REDRESS_TOKEN, or behind --token, is not known to the server, or has ended"
        } else {
            "set REDRESS_TOKEN, or give it with --token, where the server takes tokens"
        })
    }

    /// What the details of an engine code say. Those of a declared one stand in its message, which is made of them; the
    /// message of an engine code is always the same.
    fn details(&self) -> Option<String> {
        EngineCode::parse(self.text("code"))?;
        let told = self.json.get("details")?.as_object()?.iter().filter_map(|(name, value)| {
            // What was typed, and what has a row of its own.
            if matches!(name.as_str(), "operation" | "issues" | "fix" | "token") {
                return None;
            }
            let span = name.strip_suffix("_ms").zip(value.as_u64());
            let (name, value) = match (span, value) {
                (Some((name, ms)), _) => (name, Span(Duration::from_millis(ms)).to_string()),
                (None, Value::String(text)) => (name.as_str(), text.clone()),
                (None, Value::Number(number)) => (name.as_str(), number.to_string()),
                (None, Value::Array(items)) => {
                    let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
                    (name.as_str(), texts.join(" "))
                }
                (None, Value::Bool(true)) => (name.as_str(), "yes".to_owned()),
                (None, Value::Bool(false) | Value::Null | Value::Object(_)) => return None,
            };
            (!value.is_empty()).then(|| format!("{} {value}", name.replace('_', " ")))
        });
        let told: Vec<String> = told.collect();
        (!told.is_empty()).then(|| told.join(", "))
    }

    /// How the answer of the next call shows that the effect took place.
    fn done(&self) -> Option<Done> {
        let recovery = self.json.get("recovery").filter(|recovery| recovery.get("verb") == Some(&"verify".into()))?;
        serde_json::from_value(recovery.get("done")?.clone()).ok()
    }

    /// The calls that help, each as a line that can be pasted, with why.
    fn next(&self, typing: Typing<'_>) -> Vec<(String, Option<String>)> {
        let input: Option<Value> = serde_json::from_slice(typing.input).ok();
        let mut next = Vec::new();
        if let Some(fixed) = input.and_then(|input| self.fixed(input)) {
            next.push((typing.call(typing.operation, &fixed), Some("the input, corrected".to_owned())));
        }
        for action in self.list("/next_actions") {
            let Some(operation) = action.get("operation").and_then(Value::as_str) else { continue };
            let line = typing.call(operation, action.get("input").unwrap_or(&Value::Null));
            next.push((line, action.get("why").and_then(Value::as_str).map(str::to_owned)));
        }
        next
    }

    /// The input with the fix applied that came with its refusal.
    fn fixed(&self, mut input: Value) -> Option<Value> {
        let patch: json_patch::Patch = serde_json::from_value(self.json.pointer("/details/fix")?.clone()).ok()?;
        json_patch::patch(&mut input, &patch).ok()?;
        Some(input)
    }
}

fn row(err: &mut Stream<'_>, label: &str, text: impl fmt::Display) -> io::Result<()> {
    err.line(format_args!("  {:9} {text}", err.paint(SOFT, label)))
}

/// How long to wait, and until when where that is long.
fn after(wait: Duration, now: SystemTime) -> String {
    let seconds = wait.as_secs();
    if seconds < 60 {
        return format!("in {}", if seconds < 10 { Span(wait) } else { Span(Duration::from_secs(seconds)) });
    }
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    let parts = [(days, "d"), (hours, "h"), (minutes, "min")];
    let parts: Vec<String> =
        parts.into_iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count} {unit}")).collect();
    match now.checked_add(wait) {
        Some(then) => format!("in {}, at {}", parts.join(" "), calendar(then)),
        None => format!("in {}", parts.join(" ")),
    }
}

/// One thing that is wrong with an input.
fn told(issue: &Value) -> String {
    let text = |member: &str| issue.get(member).and_then(Value::as_str).map(harmless);
    let place = text("pointer").filter(|pointer| !pointer.is_empty()).unwrap_or_else(|| "the input".to_owned());
    let mut told = match text("expected") {
        Some(expected) => format!("{place}  expected {expected}"),
        None => format!("{place}  breaks {}", text("rule").unwrap_or_default()),
    };
    if let Some(near) = text("near") {
        told.push_str(&format!("; near: {near}"));
    }
    told
}

impl Typing<'_> {
    /// A call as a line that can be pasted.
    fn call(&self, operation: &str, input: &Value) -> String {
        let json = shell::json(input);
        let operation = harmless(operation);
        let named = [operation.as_str()].into_iter().chain((!input.is_null()).then_some(json.as_str()));
        let flags = self.flags.iter().map(String::as_str);
        let call = [self.program, "call"].into_iter();
        // A service may give its operations any name, and none of them is to be taken for an option.
        if operation.starts_with('-') {
            return shell::line(call.chain(flags).chain(["--"]).chain(named));
        }
        shell::line(call.chain(named).chain(flags))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_to_wait_is_told_as_people_say_it() {
        let now = humantime::parse_rfc3339("2026-11-18T20:47:00Z").unwrap();
        for (ms, says) in [
            (250, "in 250ms"),
            (1_000, "in 1s"),
            (59_999, "in 59s"),
            (61_000, "in 1 min, at 2026-11-18T20:48:01Z"),
            (11_580_000, "in 3 h 13 min, at 2026-11-19T00:00:00Z"),
            (86_400_000, "in 1 d, at 2026-11-19T20:47:00Z"),
        ] {
            assert_eq!(after(Duration::from_millis(ms), now), says);
        }
        assert!(after(Duration::from_millis(u64::MAX), now).starts_with("in 213503982334 d"));
    }

    fn told(envelope: &Value, here: bool) -> String {
        let answer = OutcomeView::read(envelope.to_string().into_bytes()).unwrap();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut terminal = Terminal::new(Stream::plain(&mut out), Stream::plain(&mut err));
        let typing = Typing { program: "redress", flags: &[], operation: "a.b", input: b"{}", here };
        answer.show(&mut terminal, typing).unwrap();
        String::from_utf8(err).unwrap()
    }

    #[test]
    fn no_name_of_an_operation_is_an_option() {
        let flags = ["--server".to_owned(), "http://h".to_owned()];
        let typing = Typing { program: "redress", flags: &flags, operation: "a.b", input: b"{}", here: false };
        assert_eq!(typing.call("a.b", &Value::Null), "redress call a.b --server http://h");
        assert_eq!(typing.call("--help", &serde_json::json!({})), "redress call --server http://h -- --help '{}'");
    }

    #[test]
    fn what_the_message_of_an_engine_code_does_not_say_is_shown() {
        let failed = |code: &str, details: Value| serde_json::json!({"ok": false, "error": "no", "code": code, "hint": "Do.", "retry": "never", "details": details});
        let quota =
            serde_json::json!({"limit": 2, "used": 2, "window": "day", "renews_at": "2026-11-19T00:00:00.000Z"});
        let shown = told(&failed("QUOTA_EXHAUSTED", quota.clone()), false);
        assert!(shown.contains("renews at 2026-11-19T00:00:00.000Z") && shown.contains("limit 2"), "{shown}");
        assert!(
            !told(&failed("ORDER_FULL", quota), false).contains("details:"),
            "what is declared has it in its message"
        );
        let late = told(&failed("TIMEOUT", serde_json::json!({"deadline_ms": 90_000})), true);
        assert!(late.contains("details:  deadline 1m 30s\n"), "{late}");
        let scopes = serde_json::json!({"missing": ["consent:grant"], "one_is_enough": false});
        assert!(told(&failed("FORBIDDEN", scopes), false).contains("details:  missing consent:grant\n"));
        let bare = told(&failed("AUTH_REQUIRED", serde_json::json!({"operation": "a.b"})), false);
        assert!(bare.contains("REDRESS_TOKEN") && bare.contains("--token") && !bare.contains("details:"), "{bare}");
        let refused = failed("AUTH_REQUIRED", serde_json::json!({"token": "refused"}));
        assert!(told(&refused, false).contains("is not known to the server"));
        assert!(!told(&refused, true).contains("REDRESS_TOKEN"), "a process of one's own takes none");
        let hostile = failed("INVALID_REQUEST", serde_json::json!({"header": "a\u{1b}[2Jb"}));
        assert!(!told(&hostile, false).contains('\u{1b}'));
    }
}
