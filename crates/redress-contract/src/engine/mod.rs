//! What the call path itself may answer: one closed list, one page each.

use std::fmt;

use crate::{
    Category, Code, FailureDeclaration, Kind, Recovery,
    engine_rows::{Advice, row},
};

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
    /// The operation needs a person's consent, and it has not been given.
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
    /// An allowance of calls for an hour, a day or a month is used up.
    QuotaExhausted,
    /// The same idempotency key came with another input.
    IdempotencyConflict,
    /// An earlier call with this idempotency key was cut off, and nobody knows what it did.
    OutcomeUnknown,
    /// The deadline passed before the operation ended.
    Timeout,
    /// The caller went away or cancelled before the operation ended.
    Cancelled,
    /// A fault was contained: a bug, broken surroundings, or a failure that was not declared.
    Internal,
    /// The handler's own result broke the contract.
    InvalidOutput,
    /// The answer is larger than the operation may give.
    ResultTooLarge,
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
    /// The service behind the gateway asks for credentials that nobody has given.
    CredentialsRequired,
    /// The operation of another service is no longer what was pinned, and is held back.
    ContractChanged,
}

impl EngineCode {
    /// Every engine code, in the order of the design's table.
    pub const ALL: [EngineCode; 28] = [
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
        EngineCode::QuotaExhausted,
        EngineCode::IdempotencyConflict,
        EngineCode::OutcomeUnknown,
        EngineCode::Timeout,
        EngineCode::Cancelled,
        EngineCode::Internal,
        EngineCode::InvalidOutput,
        EngineCode::ResultTooLarge,
        EngineCode::HandlerNotBound,
        EngineCode::StreamOverflow,
        EngineCode::ParseError,
        EngineCode::InvalidRequest,
        EngineCode::UpstreamUnreachable,
        EngineCode::UpstreamUndeclared,
        EngineCode::CredentialsRequired,
        EngineCode::ContractChanged,
    ];

    /// The code as text.
    pub const fn as_str(self) -> &'static str {
        row(self).code
    }

    /// The engine code spelled `text`.
    pub fn parse(text: &str) -> Option<EngineCode> {
        EngineCode::ALL.into_iter().find(|code| code.as_str() == text)
    }

    /// What sort of bad ending it is.
    pub const fn kind(self) -> Kind {
        row(self).kind
    }

    /// Whose side it is on: that of its kind, but what this service refuses for its own sake is no upstream's
    /// failing. Who calls too often or reads too slowly is the caller; who has no room is the service.
    pub const fn category(self) -> Category {
        if matches!(self, EngineCode::RateLimited | EngineCode::QuotaExhausted | EngineCode::StreamOverflow) {
            Category::Client
        } else if matches!(self, EngineCode::Overloaded) {
            Category::Server
        } else {
            self.kind().category()
        }
    }

    /// Whether time alone heals it, soon enough for a program to wait: what its kind says, but an allowance that is used
    /// up may take a month to be whole again, and what changed waits for a person.
    const fn retryable(self) -> bool {
        self.kind().retryable() && !matches!(self, EngineCode::QuotaExhausted | EngineCode::ContractChanged)
    }

    /// Its status.
    pub const fn http(self) -> u16 {
        row(self).http
    }

    /// What happened, for a person.
    pub const fn message(self) -> &'static str {
        row(self).message
    }

    /// What to do, for a person or a model.
    pub const fn hint(self) -> &'static str {
        row(self).hint
    }

    /// The page about it, in Markdown.
    pub const fn page(self) -> &'static str {
        row(self).page
    }

    /// The code as a declared failure would be written, so that documents and clients
    /// treat both alike.
    pub fn declaration(self) -> FailureDeclaration {
        let row = row(self);
        let recovery = match row.verb {
            Advice::FixInput => Recovery::fix_input("", row.hint),
            Advice::Wait => Recovery::wait(row.hint),
            Advice::AskUser => Recovery::ask_user(row.hint),
            Advice::GetAccess => Recovery::get_access("", row.hint),
            Advice::Stop => Recovery::stop(row.hint),
        };
        FailureDeclaration::new(row.code, row.kind)
            .with_when(row.when)
            .with_message(row.message)
            .with_http(row.http)
            .with_retryable(self.retryable())
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
    use crate::{Effect, Envelope, Meta, Problem, Retry, Shape, Started};

    const HEADINGS: [&str; 4] = ["## What it means", "## Why it matters", "## Example", "## What to do"];

    #[test]
    fn every_engine_code_has_a_page_with_its_headings_in_order() {
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
            if let Some(code) = file.strip_suffix(".md") {
                assert!(EngineCode::parse(code).is_some(), "{file} is about no code");
            }
        }
    }

    #[test]
    fn every_engine_code_obeys_the_rules_for_declared_ones() {
        // The grammar of codes, a status from 400 to 599, and a hint of five words or more.
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
        for code in EngineCode::ALL {
            let shown: Value = serde_json::from_str(example(code)).unwrap();
            // Without its line breaks and spaces, as the estimate of tokens counts it.
            let problem: Problem = serde_json::from_str(&shown.to_string()).unwrap();
            let meta: Meta = serde_json::from_value(shown["_meta"].clone()).unwrap();
            let written = Envelope::failure(problem, None, meta).into_bytes();
            assert_eq!(serde_json::from_slice::<Value>(&written).unwrap(), shown, "{code}");
        }
    }

    #[test]
    fn every_page_shows_what_the_table_says() {
        for code in EngineCode::ALL {
            let problem: Problem = serde_json::from_str(example(code)).unwrap();
            let declared = code.declaration();
            assert_eq!(problem.code, code.code(), "{code}");
            assert_eq!(problem.kind, code.kind(), "{code}");
            assert_eq!(problem.http, code.http(), "{code}");
            assert_eq!(problem.error, code.message(), "{code}");
            // One hint is told with the command that a person can type.
            let typed = " files.remove --caller ada --state DIR`, where DIR is the state folder of this service.";
            let hint = problem.hint.replace(typed, "`.");
            assert_eq!(hint, code.hint(), "{code}");
            // What only reads, as this example does, has changed nothing whatever the service behind it did.
            let effect = if code == EngineCode::UpstreamUndeclared { Effect::None } else { declared.effect() };
            assert_eq!(problem.effect, effect, "{code}");
            assert_eq!(&*problem.docs_url, code.code().docs_url(), "{code}");

            let verb = |value: Value| value["verb"].as_str().unwrap().to_owned();
            let step = serde_json::to_value(problem.recovery.unwrap()).unwrap();
            // To wait is to come again, which nobody is told where that is not safe.
            let said = match problem.retry {
                Retry::Unsafe => "ask_user".to_owned(),
                Retry::Safe | Retry::SafeWithKey | Retry::AfterVerify | Retry::AfterFix | Retry::Never => {
                    verb(serde_json::to_value(declared.recovery()).unwrap())
                }
            };
            assert_eq!(verb(step), said, "{code}");

            let started = if declared.effect() == Effect::None { Started::No } else { Started::Yes };
            let advice = [Shape::Query, Shape::Mutation].map(|shape| {
                Retry::advise(declared.retryable(), declared.effect(), shape, started, declared.recovery())
            });
            assert!(advice.contains(&problem.retry), "{code}: {advice:?}");
            assert_eq!(problem.retryable, declared.retryable() && problem.retry.says_yes(), "{code}");
        }
    }
}
