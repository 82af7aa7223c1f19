//! Mapping: how what a handler ends with becomes what a caller sees.

use std::{fmt, io};

use redress::{
    Caller, Classifier, DynamicFailure, Effect, Fail, Failure, Kind, Operation, Outcome, Registry, Retry, data,
    operation,
    testing::{Answer, Harness, assert_failure, assert_ok},
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::service::{self, built, ends, fails, failure, mutation, query, with};

fn declared() -> redress::contract::Operation {
    query("files.read").fails(failure("FILE_NOT_FOUND", Kind::NotFound).with_message("no file at {path}").with_details(
        json!({
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"],
            "additionalProperties": false,
        }),
    ))
}

async fn ended_with(code: &'static str, details: Value) -> Answer {
    with(fails(declared(), code, details)).call("files.read", json!({})).await
}

#[tokio::test]
async fn a_declared_code_passes_with_its_details_and_message() {
    // K-37, mapping 1.
    let problem = assert_failure!(ended_with("FILE_NOT_FOUND", json!({"path": "a.md"})).await, FILE_NOT_FOUND);
    assert_eq!(problem.error, "no file at a.md");
    assert_eq!((problem.kind, problem.http), (Kind::NotFound, 404));
    assert_eq!(problem.details.unwrap().get(), r#"{"path":"a.md"}"#);
}

#[tokio::test]
async fn details_that_break_their_schema_become_internal_and_stay_inside() {
    // K-37.
    for details in [json!({"path": 7}), json!({}), json!({"path": "a", "inode": "secret"}), json!("secret")] {
        let answer = ended_with("FILE_NOT_FOUND", details.clone()).await;
        let problem = assert_failure!(answer, INTERNAL);
        assert!(problem.details.is_none(), "{details}");
        assert!(!answer.json().to_string().contains("secret"));
    }
}

#[tokio::test]
async fn an_undeclared_code_becomes_internal_with_only_its_code_in_the_details() {
    // K-38, mapping 2.
    let answer = ended_with("DISK_ON_FIRE", json!({"serial": "secret"})).await;
    let problem = assert_failure!(answer, INTERNAL);
    assert_eq!(answer.details(), json!({"undeclared_code": "DISK_ON_FIRE"}));
    assert_eq!((problem.retryable, problem.retry, problem.http), (false, Retry::Never, 500));
    assert!(!answer.json().to_string().contains("secret"));
}

#[tokio::test]
async fn an_undeclared_code_that_is_no_code_does_not_leave() {
    // K-38: a text in the place of a code may hold anything.
    for text in ["password=hunter2", "disk on fire", "", "A__B", "no.such.CODE"] {
        let text: &'static str = text;
        let answer = ended_with(text, json!({})).await;
        assert_failure!(answer, INTERNAL);
        assert_eq!(answer.details(), Value::Null, "{text}");
    }
}

#[tokio::test]
async fn an_engine_code_thrown_by_a_handler_is_undeclared_like_any_other() {
    // K-42.
    let answer = ended_with("FORBIDDEN", json!({})).await;
    assert_failure!(answer, INTERNAL);
    assert_eq!(answer.details(), json!({"undeclared_code": "FORBIDDEN"}));
}

/// An error of some library's own.
#[derive(Debug)]
struct Foreign(&'static str);

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Foreign {}

#[tokio::test]
#[cfg(unix)]
async fn a_call_that_finds_no_descriptor_left_may_come_again_unless_it_may_have_acted() {
    for number in [23, 24] {
        let ended = move || Err(io::Error::from_raw_os_error(number).into());
        let answer = with(ends(declared(), ended)).call("files.read", json!({})).await;
        let problem = assert_failure!(answer, OVERLOADED);
        assert_eq!((problem.kind, problem.http, problem.retry), (Kind::Unavailable, 503, Retry::Safe));
        assert_eq!((problem.retryable, problem.retry_after_ms), (true, Some(1000)));
        let answer = with(ends(mutation("files.write"), ended)).call("files.write", json!({})).await;
        let problem = assert_failure!(answer, OVERLOADED);
        assert_eq!((problem.effect, problem.retry, problem.retryable), (Effect::Unknown, Retry::Unsafe, false));
        assert_eq!(problem.retry_after_ms, None);
        assert!(problem.hint.contains("Find out"), "{}", problem.hint);
    }
}

#[tokio::test]
async fn a_foreign_error_is_classified_and_none_of_its_text_leaves() {
    // K-39 and M-52, mapping 3: the engine's own code where it has one, else INTERNAL and the kind.
    type Make = fn() -> Fail<DynamicFailure>;
    let cases: [(&str, Make, &str, Kind); 6] = [
        ("io", || io::Error::new(io::ErrorKind::ConnectionRefused, "hunter2").into(), "INTERNAL", Kind::Unavailable),
        ("timeout", || io::Error::new(io::ErrorKind::TimedOut, "hunter2").into(), "TIMEOUT", Kind::Timeout),
        ("rate", || Foreign("hunter2: rate limit exceeded").into(), "RATE_LIMITED", Kind::RateLimited),
        ("json", || serde_json::from_str::<u8>("\"hunter2\"").unwrap_err().into(), "INTERNAL", Kind::Serialization),
        ("unknown", || Foreign("hunter2").into(), "INTERNAL", Kind::Internal),
        ("text", || Fail::contain("hunter2"), "INTERNAL", Kind::Internal),
    ];
    for (name, make, code, kind) in cases {
        let answer = with(ends(declared(), move || Err(make()))).call("files.read", json!({})).await;
        assert_eq!((answer.code(), answer.problem().kind), (Some(code), kind), "{name}");
        assert!(!answer.json().to_string().contains("hunter2"), "{name}");
        assert_eq!(answer.details(), Value::Null, "{name}");
    }
}

#[tokio::test]
async fn the_registrys_own_classifier_decides() {
    let classifier = Classifier::standard().with_row_first("ours", "flux capacitor", Kind::Unavailable).unwrap();
    let operation = ends(declared(), || Err(Foreign("the flux capacitor is empty"))?);
    let answer = built(Registry::builder().add(operation).classifier(classifier)).call("files.read", json!({})).await;
    assert_eq!(answer.problem().kind, Kind::Unavailable);
}

#[tokio::test]
async fn a_foreign_error_of_a_mutation_is_never_said_to_be_safe() {
    let operation = || ends(mutation("files.write"), || Err(io::Error::from(io::ErrorKind::TimedOut))?);
    let problem = assert_failure!(with(operation()).call("files.write", json!({})).await, TIMEOUT);
    assert_eq!((problem.retryable, problem.retry), (false, Retry::Unsafe));
}

#[tokio::test]
async fn whatever_a_cancelled_handler_throws_the_reason_is_the_cancellation() {
    // M-23.
    let operation = Operation::dynamic(declared()).with_handler(|ctx, _| async move {
        ctx.cancellation().cancel();
        Err(Foreign("connection reset"))?
    });
    assert_failure!(with(operation).call("files.read", json!({})).await, CANCELLED);
}

#[tokio::test]
async fn a_declared_failure_of_a_cancelled_handler_is_still_that_failure() {
    let operation = Operation::dynamic(declared()).with_handler(|ctx, _| async move {
        ctx.cancellation().cancel();
        Err(DynamicFailure::new("FILE_NOT_FOUND", json!({"path": "a"})))?
    });
    assert_failure!(with(operation).call("files.read", json!({})).await, FILE_NOT_FOUND);
}

#[tokio::test]
async fn a_handler_that_was_cancelled_before_it_started_does_not_start() {
    let token = CancellationToken::new();
    token.cancel();
    let operation = ends(declared(), || panic!("it started"));
    let request = redress::Request::new(b"{}").with_cancellation(token);
    let problem = assert_failure!(with(operation).send("files.read", request).await, CANCELLED);
    assert_eq!(problem.effect, redress::Effect::None);
}

async fn contained(handler: impl Fn() -> Outcome<Value, DynamicFailure> + Send + Sync + 'static) {
    let harness = with(ends(declared(), handler));
    let answer = harness.call("files.read", json!({})).await;
    let problem = assert_failure!(answer, INTERNAL);
    assert_eq!((problem.retryable, problem.retry), (false, Retry::Never));
    assert!(!answer.json().to_string().contains("hunter2"));
}

#[tokio::test]
async fn a_panic_in_a_handler_is_contained_whatever_it_carries() {
    // K-39.
    contained(|| panic!("hunter2")).await;
    contained(|| panic!("{}", String::from("hunter2"))).await;
    contained(|| std::panic::panic_any(vec!["hunter2"])).await;
}

#[tokio::test]
async fn a_panic_after_an_await_is_contained() {
    let operation = Operation::dynamic(declared()).with_handler(|_, _| async {
        tokio::task::yield_now().await;
        panic!("hunter2")
    });
    assert_failure!(with(operation).call("files.read", json!({})).await, INTERNAL);
}

#[tokio::test]
async fn a_panic_in_a_dynamic_handler_before_its_future_is_contained() {
    let operation = Operation::dynamic(declared())
        .with_handler(|_, input| if input.is_object() { panic!("hunter2") } else { std::future::ready(Ok(input)) });
    assert_failure!(with(operation).call("files.read", json!({})).await, INTERNAL);
}

#[tokio::test]
async fn a_panic_in_display_of_a_foreign_error_is_contained() {
    #[derive(Debug)]
    struct Loud;
    impl fmt::Display for Loud {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            panic!("hunter2")
        }
    }
    impl std::error::Error for Loud {}
    contained(|| Err(Loud)?).await;
}

/// A value that panics when it is dropped.
#[derive(Debug)]
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("hunter2");
        }
    }
}

#[tokio::test]
async fn a_panic_while_a_contained_error_is_dropped_changes_nothing_for_the_caller() {
    #[derive(Debug)]
    struct Armed {
        _bomb: Bomb,
    }
    impl fmt::Display for Armed {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("armed")
        }
    }
    impl std::error::Error for Armed {}
    contained(|| Err(Armed { _bomb: Bomb })?).await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_while_a_timed_out_handler_is_dropped_changes_nothing_for_the_caller() {
    let declaration = declared().with_deadline(std::time::Duration::from_secs(1));
    let operation = Operation::dynamic(declaration).with_handler(|_, _| async {
        let _bomb = Bomb;
        std::future::pending().await
    });
    assert_failure!(with(operation).call("files.read", json!({})).await, TIMEOUT);
}

/// What the typed operations below fail with.
#[derive(Debug, Failure)]
enum TypedFailure {
    /// The thing broke.
    #[failure(kind = conflict, message = "broken at {place}", recover(stop, hint = "There is nothing left to try here."))]
    Broken {
        place: String,
        #[failure(private)]
        bomb: Option<Bomb>,
    },
    /// The details cannot be written.
    #[failure(kind = conflict, recover(stop, hint = "There is nothing left to try here."))]
    Unwritable { details: Unwritable },
}

/// A value whose `Serialize` fails, or panics.
#[derive(Debug, Clone, Copy, redress::__private::schemars::JsonSchema)]
#[schemars(crate = "redress::__private::schemars")]
enum Unwritable {
    Fails,
    Panics,
}

impl redress::__private::serde::Serialize for Unwritable {
    fn serialize<S: redress::__private::serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        match self {
            Unwritable::Fails => Err(redress::__private::serde::ser::Error::custom("hunter2")),
            Unwritable::Panics => panic!("hunter2"),
        }
    }
}

#[data]
struct Which {
    which: String,
}

/// Fail in one of several ways.
#[operation(query, name = "typed.fail", access(anyone))]
async fn fail(input: Which) -> Outcome<u8, TypedFailure> {
    match input.which.as_str() {
        "plain" => Err(TypedFailure::Broken { place: "here".into(), bomb: None })?,
        "bomb" => Err(TypedFailure::Broken { place: "here".into(), bomb: Some(Bomb) })?,
        "unwritable" => Err(TypedFailure::Unwritable { details: Unwritable::Fails })?,
        "panics" => Err(TypedFailure::Unwritable { details: Unwritable::Panics })?,
        _ => Ok(1),
    }
}

/// Give what cannot be written.
#[operation(query, name = "typed.give", access(anyone))]
async fn give(input: Which) -> Outcome<Unwritable> {
    Ok(if input.which == "panics" { Unwritable::Panics } else { Unwritable::Fails })
}

fn typed() -> Harness {
    built(Registry::builder().add(fail).add(give))
}

#[tokio::test]
async fn a_typed_failure_passes_by_its_variant() {
    let problem = assert_failure!(typed().call("typed.fail", json!({"which": "plain"})).await, BROKEN);
    assert_eq!(problem.error, "broken at here");
    assert_ok!(typed().call("typed.fail", json!({"which": "none"})).await);
}

#[tokio::test]
async fn a_panic_while_a_declared_failure_is_dropped_changes_nothing_for_the_caller() {
    assert_failure!(typed().call("typed.fail", json!({"which": "bomb"})).await, BROKEN);
}

#[tokio::test]
async fn details_whose_serialize_fails_or_panics_become_internal() {
    for which in ["unwritable", "panics"] {
        let answer = typed().call("typed.fail", json!({"which": which})).await;
        assert_failure!(answer, INTERNAL);
        assert!(!answer.json().to_string().contains("hunter2"));
    }
}

#[tokio::test]
async fn an_output_whose_serialize_fails_is_invalid_output_and_one_that_panics_is_internal() {
    let fails = typed().call("typed.give", json!({"which": "fails"})).await;
    assert_failure!(fails, INVALID_OUTPUT);
    let panics = typed().call("typed.give", json!({"which": "panics"})).await;
    assert_failure!(panics, INTERNAL);
    assert!(!fails.json().to_string().contains("hunter2") && !panics.json().to_string().contains("hunter2"));
}

#[tokio::test]
async fn an_output_that_breaks_its_schema_is_invalid_output() {
    let operation = ends(declared().with_output(json!({"type": "string"})), || Ok(json!(7)));
    let answer = with(operation).call("files.read", json!({})).await;
    assert_failure!(answer, INVALID_OUTPUT);
    assert_eq!(answer.details(), Value::Null);
}

#[tokio::test]
async fn only_a_declared_failure_keeps_what_the_call_site_added() {
    // M-17, M-18: a hint at the throw site replaces the static one.
    let added = |code: &'static str| {
        ends(declared(), move || {
            Err(DynamicFailure::new(code, json!({"path": "a"}))
                .with_hint("hunter2 is the way")
                .with_similar("notes/a.md", ["notes/b.md"])
                .with_next_action("files.list", &json!({"path": "hunter2"}), "see what is there"))
        })
    };
    let problem = assert_failure!(with(added("FILE_NOT_FOUND")).call("files.read", json!({})).await, FILE_NOT_FOUND);
    assert_eq!(&*problem.hint, "hunter2 is the way");
    assert_eq!((problem.similar.len(), problem.next_actions.len()), (1, 1));
    let answer = with(added("NOT_DECLARED")).call("files.read", json!({})).await;
    assert_failure!(answer, INTERNAL);
    assert!(!answer.json().to_string().contains("hunter2"));
}

#[tokio::test]
async fn an_operation_that_panics_once_answers_the_next_call() {
    let count = service::Count::default();
    let counted = count.clone();
    let operation = ends(declared(), move || if counted.up() == 1 { panic!("hunter2") } else { Ok(json!(1)) });
    let harness = Harness::new(service::registry(Registry::builder().add(operation))).as_caller(Caller::new("ada"));
    assert_failure!(harness.call("files.read", json!({})).await, INTERNAL);
    assert_ok!(harness.call("files.read", json!({})).await);
}
