//! What nobody declared: an error of each class, and each of the other ways to break a promise.

use std::io;

use redress_core::{
    DynamicFailure, Fail, Operation, Outcome,
    contract::{self, Kind},
    testing::Canary,
};
use serde_json::{Value, json};

use super::service::{declared, missing, object};

pub(super) type Ended = Outcome<Value, DynamicFailure>;

/// What `table.break` and `table.count` must not let out.
#[derive(Clone)]
pub(super) struct Secrets {
    cause: String,
    panic: String,
    undeclared: String,
    details: String,
    output: String,
}

pub(super) fn broken(how: &str, secrets: &Secrets) -> Ended {
    if let Some(kind) = how.strip_prefix("as ").and_then(Kind::parse) {
        return Err(Fail::contain_as(kind, secrets.cause.clone()));
    }
    match how {
        "text" => Err(Fail::contain(format!("cannot log in as {}", secrets.cause))),
        "io" => Err(io::Error::other(format!("/home/{}/.ssh is locked", secrets.cause)))?,
        "down" => Err(io::Error::new(io::ErrorKind::ConnectionRefused, secrets.cause.clone()))?,
        "locked" => Err(Fail::contain(format!("{}: database is locked", secrets.cause))),
        "throttled" => Err(Fail::contain(format!("{}: too many requests", secrets.cause))),
        "slow" => Err(io::Error::new(io::ErrorKind::TimedOut, secrets.cause.clone()))?,
        "absent" => Err(io::Error::new(io::ErrorKind::NotFound, secrets.cause.clone()))?,
        "denied" => Err(io::Error::new(io::ErrorKind::PermissionDenied, secrets.cause.clone()))?,
        "taken" => Err(io::Error::new(io::ErrorKind::AlreadyExists, secrets.cause.clone()))?,
        "unread" => Err(serde_json::from_value::<u8>(json!(secrets.cause)).expect_err("it is a text"))?,
        "aborted" => Err(Fail::contain(format!("{}: current transaction is aborted", secrets.cause))),
        "undeclared" => Err(DynamicFailure::new("NOT_DECLARED", json!({"secret": secrets.undeclared})))?,
        "details" => {
            Err(DynamicFailure::new("THING_MISSING", json!({"id": secrets.details, "name": secrets.details})))?
        }
        "output" => Ok(json!({"secret": secrets.output})),
        "full" => Err(io::Error::from_raw_os_error(24))?,
        "caused" => Err(missing_by(&secrets.cause))?,
        "panic" => panic!("{}", secrets.panic),
        other => Ok(json!(other)),
    }
}

/// A declared failure with a cause, which is not for its caller.
fn missing_by(cause: &str) -> DynamicFailure {
    DynamicFailure::new("THING_MISSING", json!({"id": 7, "name": "Ada"})).caused_by(cause)
}

impl Secrets {
    pub(super) fn plant(canary: &Canary) -> Secrets {
        Secrets {
            cause: canary.plant("the cause of a contained error"),
            panic: canary.plant("a panic"),
            undeclared: canary.plant("the details of an undeclared failure"),
            details: canary.plant("details against their schema"),
            output: canary.plant("an output against its schema"),
        }
    }
}

/// Every class of contained errors, as [`broken`] makes them, with the code that its caller is told: what is known by
/// its type or by its text, and each kind that an author can say it is.
pub(super) fn classes() -> Vec<(String, &'static str)> {
    let known = [
        ("down", "UPSTREAM_UNREACHABLE"),
        ("locked", "UPSTREAM_UNREACHABLE"),
        ("throttled", "UPSTREAM_UNREACHABLE"),
        ("full", "OVERLOADED"),
        ("slow", "TIMEOUT"),
        ("absent", "INTERNAL"),
        ("denied", "INTERNAL"),
        ("taken", "INTERNAL"),
        ("unread", "INTERNAL"),
        ("aborted", "INTERNAL"),
    ];
    let known = known.map(|(how, code)| (how.to_owned(), code));
    let said = Kind::ALL.into_iter().map(|kind| {
        let code = match kind {
            Kind::Timeout => "TIMEOUT",
            Kind::Unavailable | Kind::RateLimited => "UPSTREAM_UNREACHABLE",
            Kind::Parse
            | Kind::InvalidRequest
            | Kind::MethodNotFound
            | Kind::InvalidParams
            | Kind::Internal
            | Kind::NotFound
            | Kind::Conflict
            | Kind::Forbidden
            | Kind::Unauthorized
            | Kind::Validation
            | Kind::Configuration
            | Kind::Initialization
            | Kind::Database
            | Kind::Cancelled
            | Kind::Serialization
            | Kind::Unknown => "INTERNAL",
        };
        (format!("as {kind}"), code)
    });
    known.into_iter().chain(said).collect()
}

/// An operation that calls another, which nobody outside can call and which ends as it is told.
pub(super) fn below(secrets: &Secrets) -> [Operation; 2] {
    let how = || object(json!({"how": {"type": "string"}}), &["how"]);
    let inner =
        declared(contract::OperationDeclaration::query("table.inner")).internal().fails(missing()).with_input(how());
    let hidden = secrets.clone();
    let inner = Operation::dynamic(inner).with_handler(move |_, input: Value| {
        let secrets = hidden.clone();
        async move { broken(input["how"].as_str().unwrap_or_default(), &secrets) }
    });
    let outer =
        declared(contract::OperationDeclaration::query("table.outer")).with_call("table.inner").with_input(how());
    let outer = Operation::dynamic(outer.with_authority("table:outer"))
        .with_handler(|ctx, input: Value| async move { Ok(ctx.call_dynamic("table.inner", input).await?) });
    [inner, outer]
}
