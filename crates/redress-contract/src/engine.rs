//! What the call path itself may answer: one closed list, one page each.

use std::fmt;

use crate::{Code, Effect, Failure, Kind, Recovery};

/// A code that the call path itself may answer, for any operation.
///
/// No operation may declare one of these as its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EngineCode {
    /// There is no such operation, or it cannot be called from outside.
    NotFound,
    /// The operation needs a caller and there is none, or its token is bad or expired.
    AuthRequired,
    /// The caller lacks a scope that the operation needs.
    Forbidden,
    /// The operation needs the caller's consent, and it has not been given.
    ConsentRequired,
    /// The input breaks the operation's schema.
    InvalidInput,
    /// A subscription was called once, or a query was subscribed to.
    InvalidOperationType,
    /// The content guard found a forbidden keyword in the source.
    EvalBlockedKeyword,
    /// The content guard found a forbidden construct in the source.
    EvalBlockedConstruct,
    /// The content guard could not parse the source, so it cannot vouch for it.
    EvalUnparsable,
    /// The input is larger than the operation takes.
    PayloadTooLarge,
    /// A limit on the number of calls was reached.
    RateLimited,
    /// There is no capacity for the call, or the service is shutting down.
    Overloaded,
    /// The same idempotency key came with another input.
    IdempotencyConflict,
    /// The deadline passed before the operation ended.
    Timeout,
    /// The caller went away or cancelled before the operation ended.
    Cancelled,
    /// A fault was contained: a bug, broken surroundings, or a failure that was not declared.
    Internal,
    /// The handler's own result broke the contract.
    InvalidOutput,
    /// The operation is declared, but nothing runs it.
    HandlerNotBound,
    /// A reader was slower than the stream's buffer allows and was cut off.
    StreamOverflow,
    /// The message is not JSON.
    ParseError,
    /// The message is JSON, but not a request.
    InvalidRequest,
    /// The gateway could not reach the service behind it.
    UpstreamUnreachable,
    /// The service behind the gateway answered what its contract does not say.
    UpstreamUndeclared,
}

/// What is fixed about an engine code.
struct Row {
    code: &'static str,
    kind: Kind,
    http: u16,
    effect: Effect,
    verb: Advice,
    when: &'static str,
    message: &'static str,
    hint: &'static str,
    page: &'static str,
}

/// The verbs that engine codes use; the engine fills in what a call knows.
enum Advice {
    FixInput,
    Wait,
    AskUser,
    Stop,
}

impl EngineCode {
    /// Every engine code, in the order of the design's table.
    pub const ALL: [EngineCode; 23] = [
        EngineCode::NotFound,
        EngineCode::AuthRequired,
        EngineCode::Forbidden,
        EngineCode::ConsentRequired,
        EngineCode::InvalidInput,
        EngineCode::InvalidOperationType,
        EngineCode::EvalBlockedKeyword,
        EngineCode::EvalBlockedConstruct,
        EngineCode::EvalUnparsable,
        EngineCode::PayloadTooLarge,
        EngineCode::RateLimited,
        EngineCode::Overloaded,
        EngineCode::IdempotencyConflict,
        EngineCode::Timeout,
        EngineCode::Cancelled,
        EngineCode::Internal,
        EngineCode::InvalidOutput,
        EngineCode::HandlerNotBound,
        EngineCode::StreamOverflow,
        EngineCode::ParseError,
        EngineCode::InvalidRequest,
        EngineCode::UpstreamUnreachable,
        EngineCode::UpstreamUndeclared,
    ];

    const fn row(self) -> Row {
        match self {
            EngineCode::NotFound => Row {
                code: "NOT_FOUND",
                kind: Kind::MethodNotFound,
                http: 404,
                effect: Effect::None,
                verb: Advice::Stop,
                when: "There is no such operation, or it cannot be called from outside.",
                message: "there is no operation of that name",
                hint: "Look at `similar`, or list the operations, and use a name that exists.",
                page: include_str!("engine/NOT_FOUND.md"),
            },
            EngineCode::AuthRequired => Row {
                code: "AUTH_REQUIRED",
                kind: Kind::Unauthorized,
                http: 401,
                effect: Effect::None,
                verb: Advice::AskUser,
                when: "The operation needs a caller and there is none, or its token is bad or expired.",
                message: "this operation needs a caller",
                hint: "Send valid credentials with the call, or ask the user to sign in.",
                page: include_str!("engine/AUTH_REQUIRED.md"),
            },
            EngineCode::Forbidden => Row {
                code: "FORBIDDEN",
                kind: Kind::Forbidden,
                http: 403,
                effect: Effect::None,
                verb: Advice::AskUser,
                when: "The caller lacks a scope that the operation needs.",
                message: "the caller lacks a scope",
                hint: "Ask for the scope named in the details, or use another operation.",
                page: include_str!("engine/FORBIDDEN.md"),
            },
            EngineCode::ConsentRequired => Row {
                code: "CONSENT_REQUIRED",
                kind: Kind::Forbidden,
                http: 403,
                effect: Effect::None,
                verb: Advice::AskUser,
                when: "The operation needs the caller's consent, and it has not been given.",
                message: "this operation needs the caller's consent",
                hint: "Ask the user to agree, grant the consent, then call again.",
                page: include_str!("engine/CONSENT_REQUIRED.md"),
            },
            EngineCode::InvalidInput => Row {
                code: "INVALID_INPUT",
                kind: Kind::InvalidParams,
                http: 400,
                effect: Effect::None,
                verb: Advice::FixInput,
                when: "The input breaks the operation's schema.",
                message: "the input does not fit the operation's schema",
                hint: "Change what `details.issues` points at, or apply `details.fix`, and call again.",
                page: include_str!("engine/INVALID_INPUT.md"),
            },
            EngineCode::InvalidOperationType => Row {
                code: "INVALID_OPERATION_TYPE",
                kind: Kind::InvalidRequest,
                http: 405,
                effect: Effect::None,
                verb: Advice::Stop,
                when: "A subscription was called once, or a query was subscribed to.",
                message: "this operation is not asked for in this way",
                hint: "Subscribe to a subscription; call a query or a mutation once.",
                page: include_str!("engine/INVALID_OPERATION_TYPE.md"),
            },
            EngineCode::EvalBlockedKeyword => Row {
                code: "EVAL_BLOCKED_KEYWORD",
                kind: Kind::Validation,
                http: 400,
                effect: Effect::None,
                verb: Advice::FixInput,
                when: "The content guard found a forbidden keyword in the source.",
                message: "the source holds a forbidden keyword",
                hint: "Remove the keyword named in the details, or use a narrower operation.",
                page: include_str!("engine/EVAL_BLOCKED_KEYWORD.md"),
            },
            EngineCode::EvalBlockedConstruct => Row {
                code: "EVAL_BLOCKED_CONSTRUCT",
                kind: Kind::Validation,
                http: 400,
                effect: Effect::None,
                verb: Advice::FixInput,
                when: "The content guard found a forbidden construct in the source.",
                message: "the source holds a forbidden construct",
                hint: "Remove the construct named in the details, or prefer a granular operation.",
                page: include_str!("engine/EVAL_BLOCKED_CONSTRUCT.md"),
            },
            EngineCode::EvalUnparsable => Row {
                code: "EVAL_UNPARSABLE",
                kind: Kind::Validation,
                http: 400,
                effect: Effect::None,
                verb: Advice::FixInput,
                when: "The content guard could not parse the source, so it cannot vouch for it.",
                message: "the source cannot be parsed",
                hint: "Correct the syntax of the source and call again.",
                page: include_str!("engine/EVAL_UNPARSABLE.md"),
            },
            EngineCode::PayloadTooLarge => Row {
                code: "PAYLOAD_TOO_LARGE",
                kind: Kind::InvalidRequest,
                http: 413,
                effect: Effect::None,
                verb: Advice::FixInput,
                when: "The input is larger than the operation takes.",
                message: "the input is too large",
                hint: "Send less than the limit in the details, in several calls if need be.",
                page: include_str!("engine/PAYLOAD_TOO_LARGE.md"),
            },
            EngineCode::RateLimited => Row {
                code: "RATE_LIMITED",
                kind: Kind::RateLimited,
                http: 429,
                effect: Effect::None,
                verb: Advice::Wait,
                when: "A limit on the number of calls was reached.",
                message: "too many calls",
                hint: "Wait as long as `retry_after_ms` says, then make the same call again.",
                page: include_str!("engine/RATE_LIMITED.md"),
            },
            EngineCode::Overloaded => Row {
                code: "OVERLOADED",
                kind: Kind::Unavailable,
                http: 503,
                effect: Effect::None,
                verb: Advice::Wait,
                when: "There is no capacity for the call, or the service is shutting down.",
                message: "there is no capacity for this call",
                hint: "Wait a moment, then make the same call again.",
                page: include_str!("engine/OVERLOADED.md"),
            },
            EngineCode::IdempotencyConflict => Row {
                code: "IDEMPOTENCY_CONFLICT",
                kind: Kind::Conflict,
                http: 409,
                effect: Effect::None,
                verb: Advice::AskUser,
                when: "The same idempotency key came with another input.",
                message: "this idempotency key belongs to another call",
                hint: "Use a new key for a new call, or repeat the first input exactly.",
                page: include_str!("engine/IDEMPOTENCY_CONFLICT.md"),
            },
            EngineCode::Timeout => Row {
                code: "TIMEOUT",
                kind: Kind::Timeout,
                http: 504,
                effect: Effect::Unknown,
                verb: Advice::Wait,
                when: "The deadline passed before the operation ended.",
                message: "the deadline passed",
                hint: "Follow `retry`: make the same call again only where it says that this is safe.",
                page: include_str!("engine/TIMEOUT.md"),
            },
            EngineCode::Cancelled => Row {
                code: "CANCELLED",
                kind: Kind::Cancelled,
                http: 499,
                effect: Effect::Unknown,
                verb: Advice::Stop,
                when: "The caller went away or cancelled before the operation ended.",
                message: "the call was cancelled",
                hint: "Nothing needs to be done unless the cancellation was a mistake.",
                page: include_str!("engine/CANCELLED.md"),
            },
            EngineCode::Internal => Row {
                code: "INTERNAL",
                kind: Kind::Internal,
                http: 500,
                effect: Effect::Unknown,
                verb: Advice::Stop,
                when: "A fault was contained: a bug, broken surroundings, or a failure that was not declared.",
                message: "something went wrong inside the service",
                hint: "Report the request id to the operator; the cause is in the log under it.",
                page: include_str!("engine/INTERNAL.md"),
            },
            EngineCode::InvalidOutput => Row {
                code: "INVALID_OUTPUT",
                kind: Kind::Internal,
                http: 500,
                effect: Effect::Unknown,
                verb: Advice::Stop,
                when: "The handler's own result broke the contract.",
                message: "the operation gave a result that breaks its own contract",
                hint: "Report the request id to the operator; this is a bug in the service.",
                page: include_str!("engine/INVALID_OUTPUT.md"),
            },
            EngineCode::HandlerNotBound => Row {
                code: "HANDLER_NOT_BOUND",
                kind: Kind::Configuration,
                http: 501,
                effect: Effect::None,
                verb: Advice::Stop,
                when: "The operation is declared, but nothing runs it.",
                message: "nothing runs this operation",
                hint: "Use another operation; this one is only declared here.",
                page: include_str!("engine/HANDLER_NOT_BOUND.md"),
            },
            EngineCode::StreamOverflow => Row {
                code: "STREAM_OVERFLOW",
                kind: Kind::Unavailable,
                http: 503,
                effect: Effect::None,
                verb: Advice::Wait,
                when: "A reader was slower than the stream's buffer allows and was cut off.",
                message: "the reader was too slow and was cut off",
                hint: "Subscribe again, and read faster or ask for fewer items.",
                page: include_str!("engine/STREAM_OVERFLOW.md"),
            },
            EngineCode::ParseError => Row {
                code: "PARSE_ERROR",
                kind: Kind::Parse,
                http: 400,
                effect: Effect::None,
                verb: Advice::FixInput,
                when: "The message is not JSON.",
                message: "the message is not JSON",
                hint: "Send one well-formed JSON document in UTF-8 and call again.",
                page: include_str!("engine/PARSE_ERROR.md"),
            },
            EngineCode::InvalidRequest => Row {
                code: "INVALID_REQUEST",
                kind: Kind::InvalidRequest,
                http: 400,
                effect: Effect::None,
                verb: Advice::FixInput,
                when: "The message is JSON, but not a request.",
                message: "the message is not a request",
                hint: "Send the members that this face documents and call again.",
                page: include_str!("engine/INVALID_REQUEST.md"),
            },
            EngineCode::UpstreamUnreachable => Row {
                code: "UPSTREAM_UNREACHABLE",
                kind: Kind::Unavailable,
                http: 502,
                effect: Effect::Unknown,
                verb: Advice::Wait,
                when: "The gateway could not reach the service behind it.",
                message: "the service behind this operation cannot be reached",
                hint: "Follow `retry`; if it lasts, report the request id to the operator.",
                page: include_str!("engine/UPSTREAM_UNREACHABLE.md"),
            },
            EngineCode::UpstreamUndeclared => Row {
                code: "UPSTREAM_UNDECLARED",
                kind: Kind::Internal,
                http: 502,
                effect: Effect::Unknown,
                verb: Advice::Stop,
                when: "The service behind the gateway answered what its contract does not say.",
                message: "the service behind this operation broke its contract",
                hint: "Report the request id to the operator; the answer is in the log under it.",
                page: include_str!("engine/UPSTREAM_UNDECLARED.md"),
            },
        }
    }

    /// The code as text.
    pub const fn as_str(self) -> &'static str {
        self.row().code
    }

    /// The engine code spelled `text`.
    pub fn parse(text: &str) -> Option<EngineCode> {
        EngineCode::ALL.into_iter().find(|code| code.as_str() == text)
    }

    /// What sort of bad ending it is.
    pub const fn kind(self) -> Kind {
        self.row().kind
    }

    /// Its status.
    pub const fn http(self) -> u16 {
        self.row().http
    }

    /// What happened, for a person.
    pub const fn message(self) -> &'static str {
        self.row().message
    }

    /// What to do, for a person or a model.
    pub const fn hint(self) -> &'static str {
        self.row().hint
    }

    /// The page about it, in Markdown.
    pub const fn page(self) -> &'static str {
        self.row().page
    }

    /// The code as a declared failure would be written, so that documents and clients
    /// treat both alike.
    pub fn declaration(self) -> Failure {
        let row = self.row();
        let recovery = match row.verb {
            Advice::FixInput => Recovery::fix_input("", row.hint),
            Advice::Wait => Recovery::wait(row.hint),
            Advice::AskUser => Recovery::ask_user(row.hint),
            Advice::Stop => Recovery::stop(row.hint),
        };
        Failure::new(row.code, row.kind)
            .with_when(row.when)
            .with_message(row.message)
            .with_http(row.http)
            .with_effect(row.effect)
            .with_recovery(recovery)
            .with_details(serde_json::json!({"type": "object"}))
    }

    /// The code, as codes are held everywhere else.
    pub fn code(self) -> Code {
        Code::unchecked(self.as_str())
    }
}

impl fmt::Display for EngineCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::{Envelope, Meta, Problem, Retry, Shape, Started};

    const HEADINGS: [&str; 4] = ["## What it means", "## Why it matters", "## Example", "## What to do"];

    #[test]
    fn every_engine_code_has_a_page_with_its_headings_in_order() {
        // C7.
        for code in EngineCode::ALL {
            let page = code.page();
            assert!(page.starts_with(&format!("# {code}\n")), "{code}: the page opens with its code");
            let places: Vec<_> = HEADINGS.iter().map(|heading| page.find(heading)).collect();
            assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{code}: {places:?}");
            assert!(page.contains(&format!("\"code\": \"{code}\"")), "{code}: the example shows the code");
        }
    }

    #[test]
    fn every_page_belongs_to_an_engine_code() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/engine");
        for entry in std::fs::read_dir(folder).unwrap() {
            let file = entry.unwrap().file_name().into_string().unwrap();
            assert!(EngineCode::parse(file.trim_end_matches(".md")).is_some(), "{file} is about no code");
        }
    }

    #[test]
    fn every_engine_code_obeys_the_rules_for_declared_ones() {
        // A1.2, A1.4 and M-04.
        for code in EngineCode::ALL {
            assert!(Code::new(code.as_str()).is_ok(), "{code}");
            assert!((400..=599).contains(&code.http()), "{code}");
            assert!(code.hint().split_whitespace().count() >= Recovery::HINT_WORDS, "{code}");
            assert_eq!(EngineCode::parse(code.as_str()), Some(code));
        }
    }

    /// The example on a code's page.
    fn example(code: EngineCode) -> &'static str {
        let (_, rest) = code.page().split_once("```json\n").unwrap();
        rest.split_once("```").unwrap().0
    }

    #[test]
    fn every_page_shows_an_envelope_exactly_as_it_is_written() {
        // C7.
        for code in EngineCode::ALL {
            let shown: Value = serde_json::from_str(example(code)).unwrap();
            // Without its line breaks and spaces, as the estimate of tokens counts it.
            let problem: Problem = serde_json::from_str(&shown.to_string()).unwrap();
            let meta: Meta = serde_json::from_value(shown["_meta"].clone()).unwrap();
            let written = Envelope::failure(problem, meta).into_bytes();
            assert_eq!(serde_json::from_slice::<Value>(&written).unwrap(), shown, "{code}");
        }
    }

    #[test]
    fn every_page_shows_what_the_table_says() {
        // C7.
        for code in EngineCode::ALL {
            let problem: Problem = serde_json::from_str(example(code)).unwrap();
            let declared = code.declaration();
            assert_eq!(problem.code, code.code(), "{code}");
            assert_eq!(problem.kind, code.kind(), "{code}");
            assert_eq!(problem.http, code.http(), "{code}");
            assert_eq!(problem.error, code.message(), "{code}");
            assert_eq!(&*problem.hint, code.hint(), "{code}");
            assert_eq!(problem.effect, declared.effect(), "{code}");
            assert_eq!(&*problem.docs_url, code.code().docs_url(), "{code}");

            let verb = |value: Value| value["verb"].as_str().unwrap().to_owned();
            let step = serde_json::to_value(problem.recovery.unwrap()).unwrap();
            assert_eq!(verb(step), verb(serde_json::to_value(declared.recovery()).unwrap()), "{code}");

            let started = if declared.effect() == Effect::None { Started::No } else { Started::Yes };
            let advice = [Shape::Query, Shape::Mutation].map(|shape| {
                Retry::advise(declared.retryable(), declared.effect(), shape, started, declared.recovery())
            });
            assert!(advice.contains(&problem.retry), "{code}: {advice:?}");
            assert_eq!(problem.retryable, declared.retryable() && problem.retry.says_yes(), "{code}");
        }
    }
}
