//! Mapping: how what a handler ends with becomes what a caller sees.

use std::{fmt, io};

use redress::{
    Caller, Classifier, DynamicFailure, Effect, Fail, Failure, Kind, Operation, Outcome, Registry, Retry, data,
    operation,
    testing::{CallAnswer, Harness, assert_failure, assert_ok},
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::service::{self, built, ends, fails, failure, mutation, query, with};

fn declared() -> redress::contract::OperationDeclaration {
    query("files.read").fails(failure("FILE_NOT_FOUND", Kind::NotFound).with_message("no file at {path}").with_details(
        json!({
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"],
            "additionalProperties": false,
        }),
    ))
}

async fn ended_with(code: &'static str, details: Value) -> CallAnswer {
    with(fails(declared(), code, details)).call("files.read", json!({})).await
}

#[tokio::test]
async fn a_declared_code_passes_with_its_details_and_message() {
    // The first of the three ways to map an ending: the code is declared.
    let problem = assert_failure!(ended_with("FILE_NOT_FOUND", json!({"path": "a.md"})).await, FILE_NOT_FOUND);
    assert_eq!(problem.error, "no file at a.md");
    assert_eq!((problem.kind, problem.http), (Kind::NotFound, 404));
    assert_eq!(problem.details.unwrap().get(), r#"{"path":"a.md"}"#);
}

#[tokio::test]
async fn details_that_break_their_schema_become_internal_and_stay_inside() {
    // Details are held against the declared schema.
    for details in [json!({"path": 7}), json!({}), json!({"path": "a", "inode": "secret"}), json!("secret")] {
        let answer = ended_with("FILE_NOT_FOUND", details.clone()).await;
        let problem = assert_failure!(answer, INTERNAL);
        assert!(problem.details.is_none(), "{details}");
        assert!(!answer.json().to_string().contains("secret"));
    }
}

#[tokio::test]
async fn an_undeclared_code_becomes_internal_with_only_its_code_in_the_details() {
    // The second way: the code is not declared.
    let answer = ended_with("DISK_ON_FIRE", json!({"serial": "secret"})).await;
    let problem = assert_failure!(answer, INTERNAL);
    assert_eq!(answer.details(), json!({"undeclared_code": "DISK_ON_FIRE"}));
    assert_eq!((problem.retryable, problem.retry, problem.http), (false, Retry::Never, 500));
    assert!(!answer.json().to_string().contains("secret"));
}

#[tokio::test]
async fn an_undeclared_code_that_is_no_code_does_not_leave() {
    // A text in the place of a code may hold anything.
    for text in ["password=hunter2", "disk on fire", "", "A__B", "no.such.CODE"] {
        let text: &'static str = text;
        let answer = ended_with(text, json!({})).await;
        assert_failure!(answer, INTERNAL);
        assert_eq!(answer.details(), Value::Null, "{text}");
    }
}

#[tokio::test]
async fn an_engine_code_thrown_by_a_handler_is_undeclared_like_any_other() {
    // An engine code means that the engine said it.
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

/// An error of every class that is told apart: what it is called, how it is made, the code that its caller sees and the
/// kind that the log and the observers are told.
type Class = (&'static str, fn() -> Fail<DynamicFailure>, &'static str, Kind);

const CLASSES: [Class; 15] = [
    (
        "down",
        || io::Error::new(io::ErrorKind::ConnectionRefused, "hunter2").into(),
        "UPSTREAM_UNREACHABLE",
        Kind::Unavailable,
    ),
    ("over its limit", || Foreign("hunter2: rate limit exceeded").into(), "UPSTREAM_UNREACHABLE", Kind::RateLimited),
    ("busy", || Foreign("hunter2: database is locked").into(), "UPSTREAM_UNREACHABLE", Kind::Unavailable),
    ("full", || Foreign("hunter2: pool timed out").into(), "UPSTREAM_UNREACHABLE", Kind::Unavailable),
    ("slow", || io::Error::new(io::ErrorKind::TimedOut, "hunter2").into(), "TIMEOUT", Kind::Timeout),
    ("absent", || io::Error::new(io::ErrorKind::NotFound, "hunter2").into(), "INTERNAL", Kind::NotFound),
    ("closed", || io::Error::new(io::ErrorKind::PermissionDenied, "hunter2").into(), "INTERNAL", Kind::Forbidden),
    ("unknown to it", || Foreign("hunter2: unauthorized").into(), "INTERNAL", Kind::Unauthorized),
    ("taken", || Foreign("hunter2: duplicate key").into(), "INTERNAL", Kind::Conflict),
    ("wrong", || Foreign("hunter2: malformed").into(), "INTERNAL", Kind::Validation),
    ("unread", || serde_json::from_str::<u8>("\"hunter2\"").unwrap_err().into(), "INTERNAL", Kind::Serialization),
    ("given up", || Foreign("hunter2: current transaction is aborted").into(), "INTERNAL", Kind::Cancelled),
    ("called off", || Foreign("hunter2: operation was canceled").into(), "INTERNAL", Kind::Cancelled),
    ("anything", || Foreign("hunter2").into(), "INTERNAL", Kind::Internal),
    ("a text", || Fail::contain("hunter2"), "INTERNAL", Kind::Internal),
];

#[tokio::test]
async fn a_foreign_error_is_internal_or_a_code_that_its_caller_can_act_on_and_none_of_its_text_leaves() {
    // The third way: it is no failure at all.
    for (name, make, code, _) in CLASSES {
        for declaration in [declared(), mutation("files.read"), mutation("files.read").with_idempotency_key()] {
            let shape = declaration.shape();
            let keyed = declaration.takes_idempotency_key();
            let harness = with(ends(declaration, move || Err(make())));
            let request = redress::Request::new(b"{}");
            let answer =
                harness.send("files.read", if keyed { request.with_idempotency_key("k") } else { request }).await;
            let problem = answer.problem();
            let engine = redress::EngineCode::parse(code).unwrap();
            assert_eq!(answer.code(), Some(code), "{name}");
            // What a client falls back to, its status and its number are those of the code.
            assert_eq!((problem.kind, problem.http), (engine.kind(), engine.http()), "{name}");
            assert_eq!(problem.effect, Effect::Unknown, "{name}");
            // Advice and verb say the same.
            let expected = match (engine.kind().retryable(), shape, keyed) {
                (false, ..) => Retry::Never,
                (true, redress::Shape::Mutation, false) => Retry::Unsafe,
                (true, redress::Shape::Mutation, true) => Retry::SafeWithKey,
                (true, ..) => Retry::Safe,
            };
            assert_eq!((problem.retry, problem.retryable), (expected, expected.says_yes()), "{name} {shape:?}");
            let verb = problem.recovery.as_ref().map(|step| serde_json::to_value(step).unwrap()["verb"].clone());
            let stops = verb == Some(json!("stop"));
            assert_eq!(stops, expected == Retry::Never, "{name}: {verb:?} and {expected:?}");
            assert_eq!(problem.retry_after_ms.is_some(), problem.retryable, "{name}");
            assert!(!answer.json().to_string().contains("hunter2"), "{name}");
            assert_eq!(answer.details(), Value::Null, "{name}");
        }
    }
}

#[tokio::test]
async fn what_the_author_says_an_error_is_goes_before_its_type_and_its_text() {
    // 1.9: `errorCode` of the wrapper.
    for kind in Kind::ALL {
        let watch = service::Watch::default();
        let operation = ends(declared(), move || {
            Err(Fail::contain_as(kind, io::Error::new(io::ErrorKind::TimedOut, "hunter2 does not exist")))
        });
        let harness = built(Registry::builder().add(operation).observer(watch.clone()));
        let answer = harness.call("files.read", json!({})).await;
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
        assert_eq!(answer.code(), Some(code), "{kind}");
        assert!(!answer.json().to_string().contains("hunter2"), "{kind}");
        let seen = watch.seen();
        assert_eq!((seen[0].fault.as_deref(), seen[0].cause), (Some("contained"), Some(kind)));
    }
}

#[tokio::test]
async fn what_the_author_says_of_a_composed_calls_ending_goes_before_that_ending() {
    let outer = Operation::dynamic(query("files.outer").with_call("files.read")).with_handler(|ctx, _| async move {
        let called = ctx.call_dynamic("files.read", json!({})).await;
        called.map_err(|error| Fail::contain_as(Kind::Unavailable, error))
    });
    let inner = ends(declared(), || Err(Fail::contain("a bug")));
    let harness = built(Registry::builder().add(outer).add(inner));
    assert_failure!(harness.call("files.outer", json!({})).await, UPSTREAM_UNREACHABLE);
}

#[test]
fn an_error_is_the_same_to_its_author_whether_its_kind_was_said_or_not() {
    let error = || io::Error::new(io::ErrorKind::NotFound, "no such thing");
    for fail in [Fail::<redress::NoFailure>::contain(error()), Fail::contain_as(Kind::Unavailable, error())] {
        let cause = fail.cause().and_then(|cause| cause.downcast_ref::<io::Error>());
        assert_eq!(cause.map(io::Error::kind), Some(io::ErrorKind::NotFound), "{fail:?}");
    }
}

#[tokio::test]
async fn every_contained_error_is_a_fault_and_the_observers_are_told_its_kind() {
    for (name, make, _, kind) in CLASSES {
        let watch = service::Watch::default();
        let operation = ends(declared(), move || Err(make()));
        built(Registry::builder().add(operation).observer(watch.clone())).call("files.read", json!({})).await;
        let seen = watch.seen();
        assert_eq!(seen.len(), 1, "{name}");
        assert_eq!((seen[0].fault.as_deref(), seen[0].cause), (Some("contained"), Some(kind)), "{name}");
    }
}

#[tokio::test]
async fn a_task_that_was_given_up_inside_a_handler_cancels_no_call() {
    let operation = Operation::dynamic(declared()).with_handler(|_, _| async {
        let task = tokio::spawn(std::future::pending::<()>());
        task.abort();
        task.await?;
        Ok(Value::Null)
    });
    assert_failure!(with(operation).call("files.read", json!({})).await, INTERNAL);
}

#[tokio::test]
async fn our_own_limit_below_an_operation_is_no_upstreams() {
    struct Full;
    impl redress::Limit for Full {
        fn admit(&self, call: &redress::LimitedCall<'_>) -> Result<Option<redress::Permit>, redress::Limited> {
            if call.composed { Err(redress::Limited::rate(700)) } else { Ok(None) }
        }
    }
    let outer = Operation::dynamic(query("files.outer").with_call("files.read"))
        .with_handler(|ctx, _| async move { Ok(ctx.call_dynamic("files.read", json!({})).await?) });
    let watch = service::Watch::default();
    let inner = ends(declared(), || Ok(Value::Null));
    let harness = built(Registry::builder().add(outer).add(inner).limit(Full).observer(watch.clone()));
    let problem = assert_failure!(harness.call("files.outer", json!({})).await, RATE_LIMITED);
    assert_eq!((problem.retry, problem.retry_after_ms), (Retry::Safe, Some(700)));
    // The inner call was refused; the outer one has contained that.
    let faults: Vec<_> = watch.seen().into_iter().map(|seen| seen.fault).collect();
    assert_eq!(faults, [None, Some("contained".to_owned())]);
}

#[tokio::test]
async fn the_registrys_own_classifier_decides() {
    let classifier = Classifier::standard().with_row_first("ours", "flux capacitor", Kind::Unavailable).unwrap();
    let operation = ends(declared(), || Err(Foreign("the flux capacitor is empty"))?);
    let answer = built(Registry::builder().add(operation).classifier(classifier)).call("files.read", json!({})).await;
    assert_failure!(answer, UPSTREAM_UNREACHABLE);
}

#[tokio::test]
async fn a_foreign_error_of_a_mutation_is_never_said_to_be_safe() {
    let operation = || ends(mutation("files.write"), || Err(io::Error::from(io::ErrorKind::TimedOut))?);
    let problem = assert_failure!(with(operation()).call("files.write", json!({})).await, TIMEOUT);
    assert_eq!((problem.retryable, problem.retry), (false, Retry::Unsafe));
}

#[tokio::test]
async fn whatever_a_cancelled_handler_throws_the_reason_is_the_cancellation() {
    // A fallback must not hide that the call was cancelled.
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
    // A hint at the throw site replaces the static one.
    let added = |code: &'static str| {
        ends(declared(), move || {
            Err(DynamicFailure::new(code, json!({"path": "a"}))
                .with_hint("hunter2 is the way to go")
                .with_similar("notes/a.md", ["notes/b.md"])
                .with_next_action("files.list", &json!({"path": "hunter2"}), "see what is there"))
        })
    };
    let list = ends(query("files.list"), || Ok(json!([])));
    let harness = built(Registry::builder().add(list).add(added("FILE_NOT_FOUND")));
    let problem = assert_failure!(harness.call("files.read", json!({})).await, FILE_NOT_FOUND);
    assert_eq!(&*problem.hint, "hunter2 is the way to go");
    assert_eq!((problem.similar.len(), problem.next_actions.len()), (1, 1));
    let answer = with(added("NOT_DECLARED")).call("files.read", json!({})).await;
    assert_failure!(answer, INTERNAL);
    assert!(!answer.json().to_string().contains("hunter2"));
}

#[tokio::test]
async fn a_hint_of_the_call_site_that_is_too_short_to_act_on_does_not_replace_the_declared_one() {
    let short = |hint: &'static str| {
        ends(declared(), move || Err(DynamicFailure::new("FILE_NOT_FOUND", json!({"path": "a"})).with_hint(hint)))
    };
    for hint in ["", "no", "Try it again soon"] {
        let problem = assert_failure!(with(short(hint)).call("files.read", json!({})).await, FILE_NOT_FOUND);
        assert_eq!(&*problem.hint, "There is nothing left to try here.", "{hint}");
    }
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

/// A failure of a helper, whose code the operation below has too, with another meaning.
#[derive(Debug, Failure)]
enum HelperFailure {
    /// It is broken elsewhere.
    #[failure(kind = unavailable, message = "broken for {token}", recover(wait, hint = "Wait a moment and call again."))]
    Broken { token: String },
}

/// What the operation below declares.
#[derive(Debug, Failure)]
#[failure(include(IncludedFailure))]
enum WidenedFailure {
    /// The thing is broken.
    #[failure(kind = conflict, message = "broken at {place}", recover(stop, hint = "There is nothing left to try here."))]
    Broken { place: String },
}

/// What it includes.
#[derive(Debug, Failure)]
enum IncludedFailure {
    /// The thing is gone.
    #[failure(kind = not_found, message = "no {thing}", recover(stop, hint = "There is nothing left to try here."))]
    Gone { thing: String },
}

/// Hand on what a helper said.
#[operation(query, name = "typed.widen", access(anyone))]
async fn widen(input: Which) -> Outcome<u8, WidenedFailure> {
    let other = || -> Outcome<u8, HelperFailure> { Err(HelperFailure::Broken { token: "hunter2".into() })? };
    let own = || -> Outcome<u8, WidenedFailure> { Err(WidenedFailure::Broken { place: "here".into() })? };
    let included = || -> Outcome<u8, IncludedFailure> { Err(IncludedFailure::Gone { thing: "cup".into() })? };
    match input.which.as_str() {
        "other" => other().map_err(|failed| failed.with_hint("Ask hunter2 about it in person.").widen()),
        "twice" => other().map_err(Fail::widen::<IncludedFailure>).map_err(Fail::widen),
        "own" => own().map_err(Fail::widen),
        _ => included().map_err(Fail::widen),
    }
}

#[tokio::test]
async fn what_passes_is_decided_by_the_declared_type_and_not_by_a_code_of_the_same_name() {
    // As it is in a release build: nothing checks the details of a type there.
    for checked in [false, true] {
        let harness = built(Registry::builder().add(widen).check_outputs(checked));
        let call = async |which: &str| harness.call("typed.widen", json!({"which": which})).await;
        assert_eq!(assert_failure!(call("own").await, BROKEN).error, "broken at here");
        assert_eq!(assert_failure!(call("included").await, GONE).error, "no cup");
        for which in ["other", "twice"] {
            let answer = call(which).await;
            assert_failure!(answer, INTERNAL);
            assert_eq!(answer.details(), json!({"undeclared_code": "BROKEN"}), "{which}");
            assert!(!answer.json().to_string().contains("hunter2"), "{}", answer.json());
        }
    }
}

/// A number that writes itself as something else than its schema says.
#[derive(Debug, Clone, Copy, redress::__private::schemars::JsonSchema)]
#[schemars(crate = "redress::__private::schemars")]
struct Liar(#[expect(dead_code, reason = "only its schema is read")] u8);

impl redress::__private::serde::Serialize for Liar {
    fn serialize<S: redress::__private::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str("hunter2")
    }
}

/// Give what is not what its schema says.
#[operation(query, name = "typed.lie", access(anyone))]
async fn lie() -> Outcome<Liar> {
    Ok(Liar(1))
}

#[tokio::test]
async fn the_outputs_of_types_are_checked_where_that_is_switched_on_and_a_fitting_switches_it() {
    for (built_with, fitted, caught) in
        [(true, None, true), (false, None, false), (false, Some(true), true), (true, Some(false), false)]
    {
        let registry = service::registry(Registry::builder().add(lie).check_outputs(built_with));
        let registry = match fitted {
            Some(yes) => registry.with_layers(redress::Layers::new().check_outputs(yes)),
            None => registry,
        };
        let answer = Harness::new(registry).call("typed.lie", json!({})).await;
        assert_eq!(answer.code(), caught.then_some("INVALID_OUTPUT"), "{built_with} {fitted:?}");
    }
    // What is declared as data has no type to vouch for it.
    let registry = Registry::builder().add(ends(declared().with_output(json!({"type": "string"})), || Ok(json!(7))));
    assert_failure!(built(registry.check_outputs(false)).call("files.read", json!({})).await, INVALID_OUTPUT);
}
