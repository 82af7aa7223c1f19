//! Extensions: a bundle comes as a whole or not at all, and leaves nothing behind.

use std::sync::{Arc, Mutex};

use redress::{
    BuildError, Builder, Caller, DynamicFailure, Extension, Guard, GuardBroken, GuardedCall, Kind, Operation, Recovery,
    Registry, Request, Veto,
    contract::{self, Example, ExampleEnding, FailureDeclaration, Origin},
};
use serde_json::{Value, json};

/// What happened, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

fn failure(code: &str) -> FailureDeclaration {
    FailureDeclaration::new(code, Kind::Conflict)
        .with_when("It cannot be done in this state.")
        .with_recovery(Recovery::stop("There is nothing left to try."))
}

fn operation(name: &str) -> Operation {
    Operation::dynamic(contract::OperationDeclaration::query(name)).with_handler(async |_, _| Ok(json!("done")))
}

/// An extension with one operation that breaks no rule.
fn extension(namespace: &str) -> Extension {
    Extension::new(namespace, "1.0.0").add(operation(&format!("{namespace}.run")))
}

/// The same, noting when it comes and goes.
fn noted(namespace: &'static str, log: &Log) -> Extension {
    let (up, down) = (log.clone(), log.clone());
    extension(namespace)
        .on_set_up(move |_| {
            up.note(format!("{namespace} up"));
            async { Ok::<(), std::io::Error>(()) }
        })
        .on_tear_down(move || {
            down.note(format!("{namespace} down"));
            async {}
        })
}

fn with(extension: Extension) -> Builder {
    Registry::builder().extension(extension, Value::Null)
}

async fn refusal(builder: Builder) -> BuildError {
    builder.start().await.expect_err("the registry has a mistake in it")
}

fn told(error: &BuildError) -> Vec<(&str, &str)> {
    error.findings().iter().map(|finding| (finding.rule(), finding.subject())).collect()
}

/// Makes one test of each refusal, as in `registration`: exactly this finding, and what to do.
macro_rules! refusals {
    ($($name:ident: $rule:literal on $subject:literal, $help:literal => $builder:expr;)*) => {
        $(
            #[tokio::test]
            async fn $name() {
                let error = refusal($builder).await;
                assert_eq!(told(&error), [($rule, $subject)], "{error}");
                assert!(error.to_string().contains($help), "{error}");
            }
        )*

        /// Every refusal of this file, for the tests that walk all rules.
        pub(crate) async fn refusals() -> Vec<BuildError> {
            let mut refusals = vec![unstarted()];
            $(refusals.push(refusal($builder).await);)*
            refusals
        }
    };
}

refusals! {
    a_namespace_of_the_engine_is_refused:
        "extension-namespace" on "errors", "none of the engine's own namespaces" => with(extension("errors"));
    a_namespace_with_an_underscore_is_refused:
        "extension-namespace" on "my_trace", "use lower-case letters and digits" => with(extension("my_trace"));
    an_operation_in_another_namespace_is_refused:
        "extension-namespace" on "trace", "begin the name with the extension's own namespace"
        => with(extension("trace").add(operation("files.trace")));
    two_extensions_of_one_namespace_are_refused:
        "namespace-owner" on "trace", "load one of them only"
        => with(extension("trace")).extension(Extension::new("trace", "2.0.0"), Value::Null);
    an_extension_in_the_namespace_of_the_service_is_refused:
        "namespace-owner" on "trace", "extension trace, this service"
        => with(extension("trace")).add(operation("trace.show"));
    an_extension_of_codes_alone_in_the_namespace_of_the_service_is_refused:
        "namespace-owner" on "trace", "extension trace, this service"
        => with(Extension::new("trace", "1.0.0").code(failure("NOT_RECORDING"))).add(operation("trace.show"));
    a_version_that_is_none_is_refused:
        "extension-manifest" on "trace", "write a semantic version, such as `1.0.0`"
        => with(Extension::new("trace", "one"));
    a_range_that_cannot_be_read_is_refused_as_the_extensions_own_mistake:
        "extension-manifest" on "trace", "write a range such as `^0.1` or `>=0.1, <0.3`"
        => with(extension("trace").requires("about 0.1"));
    a_range_without_this_version_is_refused:
        "extension-version" on "trace", "use a version of the extension that fits"
        => with(extension("trace").requires(">=99"));
    a_configuration_that_breaks_its_schema_is_refused:
        "extension-config" on "trace", "the configuration breaks `minimum` at `/limit`"
        => Registry::builder().extension(configurable(), json!({"limit": 0}));
    a_configuration_without_a_required_member_is_refused:
        "extension-config" on "trace", "the configuration breaks `required` at `/folder`"
        => Registry::builder().extension(
            extension("trace").config(json!({"type": "object", "required": ["folder"]})),
            Value::Null,
        );
    a_configuration_that_is_no_object_is_refused:
        "extension-config" on "trace", "give it the configuration that its schema describes"
        => Registry::builder().extension(configurable(), json!("fast"));
    a_configuration_that_nobody_asked_for_is_refused:
        "extension-config" on "trace", "it takes no configuration, and is given one"
        => Registry::builder().extension(extension("trace"), json!({"limit": 1}));
    a_configuration_schema_that_does_not_compile_is_refused:
        "extension-config" on "trace", "its configuration schema does not compile"
        => with(extension("trace").config(json!({"type": 12})));
    a_set_up_that_fails_is_told_with_its_reason:
        "extension-set-up" on "trace", "its set-up failed: the disk is full"
        => with(extension("trace").on_set_up(async |_| Err("the disk is full")));
    a_set_up_that_panics_is_told_without_the_panics_text:
        "extension-set-up" on "trace", "its set-up failed: it panicked"
        => with(extension("trace").on_set_up(async |_| -> Result<(), String> { panic!("a secret of the author's") }));
    a_set_up_that_panics_before_it_waits_is_told_too:
        "extension-set-up" on "trace", "its set-up failed: it panicked"
        => with(extension("trace").on_set_up(|config: Value| {
            assert!(config.is_array(), "this cannot be");
            async { Ok::<(), String>(()) }
        }));
    a_code_of_an_extension_is_judged_like_any_other:
        "short-hint" on "trace.run/trace.NOT_RECORDING", "in five words or more"
        => with(extension("trace").code(failure("NOT_RECORDING").with_recovery(Recovery::stop("Stop."))));
    a_code_of_an_extension_without_operations_is_judged_too:
        "bad-code" on "trace.not recording", "write `TRACE_NOT_RECORDING`"
        => with(Extension::new("trace", "1.0.0").code(failure("not recording")));
    a_code_that_an_extension_declares_twice_is_refused:
        "duplicate-code" on "trace.NOT_RECORDING", "remove one of the two"
        => with(Extension::new("trace", "1.0.0").code(failure("NOT_RECORDING")).code(failure("NOT_RECORDING")));
    state_that_the_service_brings_already_is_refused:
        "duplicate-state" on "trace", "wrap the state in a type of the extension's own"
        => with(extension("trace").state(7_u8)).state(8_u8);
    state_that_another_extension_brings_already_is_refused:
        "duplicate-state" on "clock", "which extension trace brings already"
        => with(extension("trace").state(7_u8)).extension(extension("clock").state(8_u8), Value::Null);
}

fn configurable() -> Extension {
    extension("trace").config(json!({
        "type": "object",
        "properties": {
            "limit": {"type": "integer", "minimum": 1, "default": 100},
            "folder": {"type": "string", "default": "traces"},
        },
        "additionalProperties": false,
    }))
}

fn unstarted() -> BuildError {
    with(extension("trace")).build().unwrap_err()
}

#[test]
fn an_extension_needs_start_and_build_says_so() {
    insta::assert_snapshot!(unstarted(), @r"
    the registry has 1 problem(s)
    extension-needs-start: trace: an extension has to be set up, and `build` cannot wait for that
      help: write `.start().await?` instead of `.build()?`
    ");
}

#[tokio::test]
async fn every_malformed_namespace_is_refused() {
    for namespace in ["", "Trace", "1trace", "tra-ce", "tracé", "redress", "services", "errors", "consent"] {
        let error = refusal(with(Extension::new(namespace, "1.0.0"))).await;
        assert_eq!(told(&error), [("extension-namespace", namespace)]);
    }
}

#[tokio::test]
async fn every_range_that_holds_this_version_is_accepted() {
    for range in ["*", "^0.1", "~0.1.0", ">=0.1, <0.3", "0.1.*", "=0.1.0", "^0.3 || ^0.1"] {
        with(extension("trace").requires(range)).start().await.unwrap();
    }
    for range in ["^0.2", "<0.1", "=0.1.1", "^1"] {
        let error = refusal(with(extension("trace").requires(range))).await;
        assert_eq!(told(&error), [("extension-version", "trace")], "{range}");
    }
}

/// An extension whose operation ends with one of its codes, written as `written`.
fn failing(written: &'static str) -> Extension {
    let declaration = contract::OperationDeclaration::query("trace.stop")
        .fails(failure("NOT_RECORDING").extending("TRACE_STATE").extending("STATE_REFUSED"))
        .with_example(Example { input: json!({}), ending: ExampleEnding::Failure("NOT_RECORDING".into()) });
    let stop =
        Operation::dynamic(declaration).with_handler(async move |_, _| Err(DynamicFailure::new(written, json!({})))?);
    Extension::new("trace", "1.0.0").add(stop).code(failure("TRACE_STATE"))
}

#[tokio::test]
async fn codes_are_written_bare_and_leave_with_the_namespace() {
    for written in ["NOT_RECORDING", "trace.NOT_RECORDING"] {
        let registry = with(failing(written)).start().await.unwrap();
        let envelope = registry.call("trace.stop", Request::new(b"{}".as_slice()).with_caller(Caller::local())).await;
        let wire: Value = serde_json::from_slice(&envelope.into_bytes()).unwrap();
        assert_eq!(wire["code"], "trace.NOT_RECORDING");
        assert_eq!(wire["docs_url"], "/errors/trace.NOT_RECORDING");
        assert_eq!(wire["http"], 409);
    }
}

#[tokio::test]
async fn the_parents_of_a_code_follow_it_into_the_namespace_where_they_are_the_extensions_own() {
    let registry = with(failing("NOT_RECORDING")).start().await.unwrap();
    let code = registry.failure("trace.NOT_RECORDING").unwrap();
    assert_eq!(code.extends(), ["trace.TRACE_STATE", "STATE_REFUSED"]);
    assert!(registry.failure("NOT_RECORDING").is_none());
}

#[tokio::test]
async fn an_example_may_name_a_code_of_the_extension_bare() {
    let registry = with(failing("NOT_RECORDING")).start().await.unwrap();
    let [example] = registry.operation("trace.stop").unwrap().examples() else { panic!("there is one example") };
    assert_eq!(example.ending, ExampleEnding::Failure("trace.NOT_RECORDING".into()));
}

#[tokio::test]
async fn two_extensions_may_use_the_same_key() {
    let registry = with(extension("trace").code(failure("UNSUPPORTED")))
        .extension(extension("clock").code(failure("UNSUPPORTED").with_http(501)), Value::Null)
        .start()
        .await
        .unwrap();
    let http = |code| registry.failure(code).map(|failure| failure.http());
    assert_eq!((http("trace.UNSUPPORTED"), http("clock.UNSUPPORTED")), (Some(409), Some(501)));
    assert_eq!(http("UNSUPPORTED"), None);
}

#[tokio::test]
async fn a_code_of_the_extension_belongs_to_each_of_its_operations_and_to_no_other() {
    let registry =
        with(extension("trace").code(failure("UNSUPPORTED"))).add(operation("files.read")).start().await.unwrap();
    assert!(registry.operation("trace.run").unwrap().failure("trace.UNSUPPORTED").is_some());
    assert!(registry.operation("files.read").unwrap().failures().is_empty());
}

#[tokio::test]
async fn the_operations_of_an_extension_say_where_they_come_from_and_run() {
    let registry = with(extension("trace")).add(operation("files.read")).start().await.unwrap();
    assert_eq!(registry.operation("trace.run").unwrap().origin(), Origin::Extension);
    assert_eq!(registry.operation("files.read").unwrap().origin(), Origin::Local);
    let envelope = registry.call("trace.run", Request::default().with_caller(Caller::local())).await;
    assert_eq!(envelope.output(), Some(br#""done""#.as_slice()));
}

/// What the set-up is given when the registry is given `config`.
async fn set_up_with(extension: Extension, config: Value) -> Vec<String> {
    let log = Log::default();
    let noting = log.clone();
    let extension = extension.on_set_up(move |config| {
        noting.note(config.to_string());
        async { Ok::<(), String>(()) }
    });
    Registry::builder().extension(extension, config).start().await.unwrap();
    log.lines()
}

#[tokio::test]
async fn a_set_up_gets_the_configuration_with_its_defaults_filled_in() {
    let defaults = json!({"folder": "traces", "limit": 100}).to_string();
    assert_eq!(set_up_with(configurable(), Value::Null).await, [&*defaults]);
    assert_eq!(set_up_with(configurable(), json!({})).await, [&*defaults]);
    let given = json!({"folder": "traces", "limit": 7}).to_string();
    assert_eq!(set_up_with(configurable(), json!({"limit": 7})).await, [&*given]);
    assert_eq!(set_up_with(extension("trace"), Value::Null).await, ["{}"]);
    assert_eq!(set_up_with(extension("trace"), json!({})).await, ["{}"]);
}

#[tokio::test]
async fn extensions_come_in_order_and_go_in_reverse_once() {
    let log = Log::default();
    let registry = with(noted("one", &log))
        .extension(noted("two", &log), Value::Null)
        .extension(noted("three", &log), Value::Null)
        .start()
        .await
        .unwrap();
    assert_eq!(log.lines(), ["one up", "two up", "three up"]);
    registry.clone().shut_down().await;
    registry.shut_down().await;
    assert_eq!(log.lines()[3..], ["three down", "two down", "one down"]);
}

#[tokio::test]
async fn a_failed_set_up_tears_down_what_came_before_and_nothing_else() {
    let log = Log::default();
    let (failed, gone) = (log.clone(), log.clone());
    let broken = extension("broken")
        .on_set_up(move |_| {
            failed.note("broken up?");
            async { Err("no") }
        })
        .on_tear_down(move || {
            gone.note("broken down");
            async {}
        });
    let error = refusal(
        with(noted("one", &log))
            .extension(noted("two", &log), Value::Null)
            .extension(broken, Value::Null)
            .extension(noted("four", &log), Value::Null),
    )
    .await;
    assert_eq!(told(&error), [("extension-set-up", "broken")]);
    assert_eq!(log.lines(), ["one up", "two up", "broken up?", "two down", "one down"]);
}

/// A guard of an extension, which looks at everything but what tells of extensions.
struct Budget(Log);

impl Guard for Budget {
    fn name(&self) -> &str {
        "budget"
    }

    fn failures(&self) -> Vec<FailureDeclaration> {
        vec![failure("BUDGET_SPENT").extending("BUDGET"), failure("BUDGET")]
    }

    fn covers(&self, operation: &contract::OperationDeclaration) -> bool {
        operation.name().namespace() != "services"
    }

    fn check<'a>(
        &'a self,
        call: &'a GuardedCall<'a>,
    ) -> futures_util::future::BoxFuture<'a, Result<Option<Veto>, GuardBroken>> {
        self.0.note(format!("guard {}", call.operation.name()));
        Box::pin(async { Ok(Some(Veto::new("BUDGET_SPENT", json!({})))) })
    }
}

/// Admits one call at most, of what it looks at.
struct Never;

impl redress::Limit for Never {
    fn admit(&self, call: &redress::LimitedCall<'_>) -> Result<Option<redress::Permit>, redress::Limited> {
        if call.operation.name().as_str() == "files.read" { Err(redress::Limited::rate(5)) } else { Ok(None) }
    }
}

struct Watching(Log);

impl redress::Observer for Watching {
    fn ended(&self, call: &redress::EndedCall<'_>) {
        let code = call.problem.map_or("ok", |problem| problem.code.as_str());
        self.0.note(format!("{} {code}", call.operation.map_or("nothing", |operation| operation.name().as_str())));
    }
}

async fn called(registry: &Registry, name: &str) -> Value {
    let envelope = registry.call(name, Request::default().with_caller(Caller::local())).await;
    serde_json::from_slice(&envelope.into_bytes()).unwrap()
}

#[tokio::test]
async fn a_guard_of_an_extension_takes_its_codes_along_to_what_it_covers() {
    let log = Log::default();
    let registry =
        with(extension("trace").guard(Budget(log.clone()))).add(operation("files.read")).start().await.unwrap();
    for name in ["trace.run", "files.read"] {
        let refused = called(&registry, name).await;
        assert_eq!((&refused["code"], &refused["extends"]), (&json!("trace.BUDGET_SPENT"), &json!(["trace.BUDGET"])));
        let declared = registry.operation(name).unwrap().failure("trace.BUDGET_SPENT").unwrap();
        assert_eq!(declared.layer(), Some("budget"));
    }
    assert_eq!(log.lines(), ["guard trace.run", "guard files.read"]);
}

/// A guard whose failure extends a code of its extension.
struct Quiet;

impl Guard for Quiet {
    fn name(&self) -> &str {
        "quiet"
    }

    fn failures(&self) -> Vec<FailureDeclaration> {
        vec![failure("QUIET_HOURS").extending("CLOSED")]
    }

    fn check<'a>(
        &'a self,
        _: &'a GuardedCall<'a>,
    ) -> futures_util::future::BoxFuture<'a, Result<Option<Veto>, GuardBroken>> {
        Box::pin(async { Ok(None) })
    }
}

#[tokio::test]
async fn a_parent_is_the_extensions_own_whoever_of_it_declares_the_two() {
    let extended = extension("trace")
        .code(failure("CLOSED"))
        .code(failure("NIGHT").extending("QUIET_HOURS"))
        .code(failure("OVER_BUDGET").extending("BUDGET"))
        .guard(Quiet)
        .guard(Budget(Log::default()));
    let registry = with(extended).start().await.unwrap();
    let operation = registry.operation("trace.run").unwrap();
    for (code, parent) in [
        ("trace.QUIET_HOURS", "trace.CLOSED"),
        ("trace.NIGHT", "trace.QUIET_HOURS"),
        ("trace.OVER_BUDGET", "trace.BUDGET"),
        ("trace.BUDGET_SPENT", "trace.BUDGET"),
    ] {
        let extends: Vec<&str> = operation.failure(code).unwrap().extends().iter().map(|code| code.as_str()).collect();
        assert_eq!(extends.first(), Some(&parent), "{code}");
    }
}

#[tokio::test]
async fn an_extension_brings_state_limits_and_observers() {
    let log = Log::default();
    let declaration = contract::OperationDeclaration::query("trace.kept");
    let kept = Operation::dynamic(declaration).with_handler(|ctx, _| async move { Ok(json!(*ctx.state::<u64>()?)) });
    let trace = Extension::new("trace", "1.0.0").add(kept).state(42_u64).limit(Never).observer(Watching(log.clone()));
    let registry = with(trace).add(operation("files.read")).start().await.unwrap();
    assert_eq!(called(&registry, "trace.kept").await["result"], 42);
    assert_eq!(called(&registry, "files.read").await["code"], "RATE_LIMITED");
    assert_eq!(log.lines(), ["trace.kept ok", "files.read RATE_LIMITED"]);
}

#[tokio::test]
async fn what_is_loaded_is_told_to_who_has_the_scope() {
    let budget = Budget(Log::default());
    let hidden = Operation::dynamic(contract::OperationDeclaration::query("trace.hidden").internal())
        .with_handler(async |_, _| Ok(Value::Null));
    let trace = extension("trace").requires("^0.1").add(hidden).code(failure("UNSUPPORTED")).guard(budget);
    let registry = with(trace).extension(extension("clock"), Value::Null).start().await.unwrap();
    let loaded = &called(&registry, "services.extensions").await["result"]["extensions"];
    assert_eq!(
        *loaded,
        json!([
            {
                "name": "trace", "version": "1.0.0", "requires": "^0.1",
                "operations": [{"name": "trace.run", "open": true}, {"name": "trace.hidden", "open": false}],
                "codes": ["trace.BUDGET", "trace.BUDGET_SPENT", "trace.UNSUPPORTED"],
                "guards": ["budget"],
            },
            {
                "name": "clock", "version": "1.0.0",
                "operations": [{"name": "clock.run", "open": true}], "codes": [], "guards": [],
            },
        ])
    );
    let reader = Caller::new("ada").scope("extensions:read");
    for (caller, internals) in [(reader.clone(), false), (reader.scope("internals:read"), true)] {
        let told = registry.call("services.extensions", Request::default().with_caller(caller)).await;
        let told = String::from_utf8(told.into_bytes()).unwrap();
        assert!(told.contains("trace.run"), "{told}");
        assert_eq!(told.contains("trace.hidden"), internals, "{told}");
    }
    let nosy = Request::default().with_caller(Caller::new("eve"));
    assert_eq!(registry.call("services.extensions", nosy).await.code(), Some("FORBIDDEN"));
    assert!(registry.open_to(Some(&Caller::new("eve"))).all(|operation| operation.name().namespace() != "services"));
}

#[tokio::test]
async fn a_registry_without_extensions_does_not_tell_of_any() {
    let registry = Registry::builder().add(operation("files.read")).start().await.unwrap();
    assert!(registry.operation("services.extensions").is_none() && registry.extensions().is_empty());
}

#[tokio::test]
async fn a_service_that_has_taken_the_namespace_for_itself_keeps_it() {
    let registry = with(extension("trace")).add(operation("services.mine")).start().await.unwrap();
    assert!(registry.operation("services.extensions").is_none());
    assert_eq!(registry.extensions()[0].name, "trace");
}

#[tokio::test]
async fn a_check_of_an_extension_writes_its_codes_bare() {
    let owned = contract::OperationDeclaration::query("trace.own").fails(failure("NOT_YOURS"));
    let owned = Operation::dynamic(owned)
        .with_handler(async |_, _| Ok(json!("done")))
        .with_check(&["NOT_YOURS"], async |_, _| Err(DynamicFailure::new("NOT_YOURS", json!({})))?);
    let registry = with(Extension::new("trace", "1.0.0").add(owned)).start().await.unwrap();
    assert_eq!(called(&registry, "trace.own").await["code"], "trace.NOT_YOURS");
}

/// A guard whose failure is a mistake.
struct Meddling;

impl Guard for Meddling {
    fn name(&self) -> &str {
        "meddling"
    }

    fn failures(&self) -> Vec<FailureDeclaration> {
        vec![failure("INTERNAL")]
    }

    fn check<'a>(
        &'a self,
        _: &'a GuardedCall<'a>,
    ) -> futures_util::future::BoxFuture<'a, Result<Option<Veto>, GuardBroken>> {
        Box::pin(async { Ok(None) })
    }
}

#[tokio::test]
async fn nothing_is_set_up_where_anything_is_wrong() {
    let log = Log::default();
    let one = || with(noted("one", &log));
    let mistakes = [
        one().extension(noted("one", &log), Value::Null),
        one().extension(noted("two", &log), json!({"unexpected": true})),
        one().extension(noted("two", &log).requires(">=99"), Value::Null),
        one().add(operation("files.read")).add(operation("files.read")),
        one().add(operation("one.mine")),
        one().add(Operation::dynamic(contract::OperationDeclaration::query("files.read"))),
        one().guard(Meddling),
    ];
    for builder in mistakes {
        refusal(builder).await;
        assert_eq!(log.lines(), [""; 0]);
    }
}

#[tokio::test]
async fn mistakes_of_extensions_and_of_the_service_are_told_together() {
    let error = refusal(
        with(extension("Trace").requires("nonsense"))
            .add(Operation::dynamic(contract::OperationDeclaration::query("read"))),
    )
    .await;
    let rules: Vec<&str> = error.findings().iter().map(|finding| finding.rule()).collect();
    assert_eq!(rules, ["bad-name", "bad-name", "extension-manifest", "extension-namespace", "unbound-handler"]);
}

#[tokio::test]
async fn a_tear_down_that_panics_does_not_keep_the_others_from_theirs() {
    let log = Log::default();
    let panicking = extension("two").on_tear_down(|| -> std::future::Ready<()> { panic!("not today") });
    let waiting = extension("three").on_tear_down(async || panic!("nor tomorrow"));
    let registry = with(noted("one", &log))
        .extension(panicking, Value::Null)
        .extension(waiting, Value::Null)
        .extension(noted("four", &log), Value::Null)
        .start()
        .await
        .unwrap();
    registry.shut_down().await;
    assert_eq!(log.lines(), ["one up", "four up", "four down", "one down"]);
}

#[tokio::test]
async fn an_extension_may_bring_no_hooks_at_all() {
    let registry = with(extension("trace")).start().await.unwrap();
    registry.shut_down().await;
    let envelope = registry.call("trace.run", Request::default().with_caller(Caller::local())).await;
    assert!(envelope.is_ok(), "calls made after the shut-down still run");
}

#[tokio::test]
async fn a_whole_extension_as_the_guide_shows_it() {
    // Mirrors `docs/extensions.md`; change both.
    let log = Log::default();
    let (up, down) = (log.clone(), log.clone());

    let not_recording = FailureDeclaration::new("NOT_RECORDING", Kind::Conflict)
        .with_when("No recording is running.")
        .with_recovery(Recovery::call("trace.start", "Start a recording first, then stop it."));

    let start =
        Operation::dynamic(contract::OperationDeclaration::mutation("trace.start").with_summary("Start a recording."))
            .with_handler(async |_ctx, _input| Ok(json!({"recording": true})));

    let stop = Operation::dynamic(
        contract::OperationDeclaration::mutation("trace.stop").with_summary("Stop the recording.").fails(not_recording),
    )
    .with_handler(async |_ctx, _input| Err(DynamicFailure::new("NOT_RECORDING", json!({})))?);

    let trace = Extension::new("trace", "1.0.0")
        .requires("^0.1")
        .config(json!({
            "type": "object",
            "properties": {"folder": {"type": "string", "default": "traces"}},
            "additionalProperties": false,
        }))
        .add(start)
        .add(stop)
        .on_set_up(move |config| {
            up.note(format!("open {}", config["folder"]));
            async { Ok::<(), std::io::Error>(()) }
        })
        .on_tear_down(move || {
            down.note("close");
            async {}
        });

    let registry = Registry::builder().extension(trace, json!({"folder": "out"})).start().await.unwrap();
    let envelope = registry.call("trace.stop", Request::default().with_caller(Caller::local())).await;
    assert_eq!(envelope.code(), Some("trace.NOT_RECORDING"));
    let problem = envelope.problem().unwrap();
    assert_eq!(problem.next_actions[0].operation, "trace.start");

    registry.shut_down().await;
    assert_eq!(log.lines(), [r#"open "out""#, "close"]);
}
