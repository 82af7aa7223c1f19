//! Operations that end in every way that a call can end.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt as _, stream};
use redress_core::{
    Blocked, ContentGuard, DynamicFailure, Events, Exhausted, Fail, Guard, GuardBroken, GuardedCall, Limit, Limited,
    LimitedCall, Operation, Permit, QuotaHold, QuotaRefused, QuotaShare, QuotaStore, QuotaWindow, Registry, Veto,
    consent_grant, consent_revoke,
    contract::{self, Access, Effect, FailureDeclaration, Kind, Overflow, Recovery, Streaming, Verification},
    testing::Canary,
};
use serde_json::{Value, json};

use super::{
    contained::{Ended, Secrets, below, broken},
    face::Asking,
    site::{Marks, Told},
};

/// The code of the failure that `table.fail` declares for a kind.
pub(crate) fn code_of(kind: Kind) -> String {
    format!("TABLE_{}", kind.as_str().to_uppercase())
}

pub(super) fn declared(operation: contract::OperationDeclaration) -> contract::OperationDeclaration {
    let streams = operation.shape() == contract::Shape::Subscription;
    let operation = operation.with_summary("End in one way.").with_access(Access::caller());
    if streams { operation } else { operation.with_deadline(Duration::from_secs(60)) }
}

pub(super) fn object(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn stop(code: &str, kind: Kind) -> FailureDeclaration {
    let failure = FailureDeclaration::new(code, kind).with_when("It happens in a test.");
    failure.with_recovery(Recovery::stop("There is nothing left to try here."))
}

/// Everything that a declaration can say about a failure.
pub(super) fn missing() -> FailureDeclaration {
    FailureDeclaration::new("THING_MISSING", Kind::NotFound)
        .with_when("There is no such thing.")
        .with_message("no thing {id}")
        .with_effect(Effect::None)
        .with_http(410)
        .with_details(object(json!({"id": {"type": "integer"}, "name": {"type": "string"}}), &["id", "name"]))
        .with_recovery(
            Recovery::call("table.greet", "Greet somebody who is there instead.").bind("name", "name").why("be polite"),
        )
}

fn no_thing(id: i64) -> Fail<DynamicFailure> {
    Fail::from(DynamicFailure::new("THING_MISSING", json!({"id": id, "name": "Ada"})))
}

/// An operation whose failures name all that a caller could not call, and what it could.
fn stray() -> Operation {
    let gone = Recovery::call("table.gone", "Look at what is there no more.");
    let failure = stop("THING_STRAYED", Kind::Conflict).with_effect(Effect::None).with_recovery(gone);
    let stray = declared(contract::OperationDeclaration::query("table.stray")).fails(failure);
    Operation::dynamic(stray).with_handler(|_, _: Value| async {
        let next = [
            ("table.hidden", json!({})),
            ("table.gone", json!({})),
            ("table.none", json!({})),
            ("table.count", json!({})),
            ("table.vault", json!({})),
            ("table.greet", json!({"name": 7})),
            ("table.hello", json!({"name": "Ada"})),
        ];
        let failed = Fail::from(DynamicFailure::new("THING_STRAYED", json!({})));
        Err(next.iter().fold(failed, |failed, (name, input)| failed.with_next_action(name, input, "it may help")))
    })
}

/// One failure of each kind, with the recoveries and effects in turn.
fn of_kind(kind: Kind) -> FailureDeclaration {
    let failure = FailureDeclaration::new(&code_of(kind), kind).with_when("It happens in a test.");
    let failure = failure.with_message("a failure of kind {kind}");
    let details = object(json!({"kind": {"type": "string"}, "wait_ms": {"type": "integer", "minimum": 0}}), &["kind"]);
    let failure = failure.with_details(details);
    if kind.retryable() {
        let failure = failure.with_effect(Effect::None).with_retry_after("wait_ms");
        return failure.with_recovery(Recovery::wait("Wait a moment and then call it again."));
    }
    let (effect, recovery) = match kind {
        Kind::Validation | Kind::InvalidParams => {
            (Effect::None, Recovery::fix_input("/kind", "Give another kind and then call it again."))
        }
        Kind::Forbidden | Kind::Unauthorized => {
            (Effect::None, Recovery::get_access("vault:open", "Ask for the scope and then call it again."))
        }
        Kind::Conflict => (Effect::Partial, Recovery::ask_user("Ask the person which of the two is meant.")),
        Kind::Parse
        | Kind::InvalidRequest
        | Kind::MethodNotFound
        | Kind::Internal
        | Kind::Unavailable
        | Kind::NotFound
        | Kind::RateLimited
        | Kind::Timeout
        | Kind::Configuration
        | Kind::Initialization
        | Kind::Database
        | Kind::Cancelled
        | Kind::Serialization
        | Kind::Unknown => (Effect::Unknown, Recovery::stop("There is nothing left to try here.")),
    };
    failure.with_effect(effect).with_recovery(recovery)
}

/// How a call of `table.store` that was cut off is verified.
fn stored() -> Verification {
    Verification::new("table.check", "/stored", "Look whether it is stored, and store it again if not.")
        .is(true)
        .bind("n", "n")
        .why("see whether it is stored")
}

/// What `table.store` itself says where it does not know whether it did it.
fn unsure() -> FailureDeclaration {
    FailureDeclaration::new("STORE_UNSURE", Kind::Unavailable)
        .with_when("The store did not say whether it took it.")
        .with_effect(Effect::Unknown)
        .with_details(object(json!({"n": {"type": "integer"}}), &["n"]))
        .with_recovery(stored().into())
}

struct Limits;

impl Limit for Limits {
    fn admit(&self, call: &LimitedCall<'_>) -> Result<Option<Permit>, Limited> {
        match call.operation.name().as_str() {
            "table.limited" => Err(Limited::rate(1500)),
            "table.full" => Err(Limited::capacity(1500).named("in_flight", "all")),
            _ => Ok(None),
        }
    }

    fn has_quotas(&self) -> bool {
        true
    }

    fn quotas(&self, call: &LimitedCall<'_>) -> Vec<QuotaShare> {
        let spent = ["table.spent", "table.spent_stream"].contains(&call.operation.name().as_str());
        let day = QuotaShare { policy: "day".into(), rule: "*".into(), window: QuotaWindow::Day, limit: 7 };
        spent.then_some(day).into_iter().collect()
    }
}

/// An allowance that is used up, at a time that stands still.
struct UsedUp;

impl QuotaStore for UsedUp {
    fn reserve<'a>(&'a self, _: &'a str, _: &'a [QuotaShare]) -> Asking<'a, Result<Box<dyn QuotaHold>, QuotaRefused>> {
        let exhausted = Exhausted {
            window: QuotaWindow::Day,
            limit: 7,
            used: 7,
            renews: 1_709_251_200,
            renews_in: Duration::from_secs(60),
            allowances: Vec::new(),
        };
        Box::pin(async { Err(QuotaRefused::Exhausted(Box::new(exhausted))) })
    }
}

struct Hours;

impl Guard for Hours {
    fn name(&self) -> &str {
        "hours"
    }

    fn failures(&self) -> Vec<FailureDeclaration> {
        vec![stop("CLOSED_TODAY", Kind::Conflict).with_details(object(json!({"day": {"type": "string"}}), &["day"]))]
    }

    fn covers(&self, operation: &contract::OperationDeclaration) -> bool {
        operation.name().as_str() == "table.guarded"
    }

    fn check<'a>(&'a self, _: &'a GuardedCall<'a>) -> Asking<'a, Result<Option<Veto>, GuardBroken>> {
        Box::pin(async { Ok(Some(Veto::new("CLOSED_TODAY", json!({"day": "Sunday"})))) })
    }
}

struct NoGoto;

impl ContentGuard for NoGoto {
    fn language(&self) -> &str {
        "basic"
    }

    fn check(&self, source: &str) -> Result<(), Blocked> {
        match source.split(' ').next() {
            Some("goto") => Err(Blocked::Keyword("goto".to_owned())),
            Some("poke") => Err(Blocked::Construct("poke".to_owned())),
            Some("run") => Ok(()),
            Some(_) | None => Err(Blocked::Unparsable),
        }
    }
}

fn count(secrets: Secrets) -> Operation {
    let streaming =
        Streaming { resumable: true, idle_ms: Some(100), overflow: Overflow::Wait(1000), ..Streaming::default() };
    let input = object(json!({"to": {"type": "integer"}, "then": {"type": "string"}}), &[]);
    let count = declared(contract::OperationDeclaration::subscription("table.count").with_streaming(streaming));
    Operation::dynamic(count.fails(missing()).with_input(input)).with_stream_handler(move |_, input: Value| {
        let secrets = secrets.clone();
        async move {
            let to = input["to"].as_i64().unwrap_or(3);
            if to < 0 {
                return Err(no_thing(to));
            }
            let items = stream::iter((1..=to).map(|n| Ok(json!({"n": n}))));
            Ok(match input["then"].as_str().unwrap_or_default().to_owned() {
                then if then == "fail" => Events::new(items.chain(stream::once(async { Err(no_thing(7)) }))),
                then if then == "hang" => Events::new(items.chain(stream::pending())),
                then if then.is_empty() => Events::new(items),
                then => Events::new(items.chain(stream::once(async move { broken(&then, &secrets) }))),
            })
        }
    })
}

/// Operations with a check, which ends as the input says.
fn checked(secrets: &Secrets) -> [Operation; 2] {
    let input = || object(json!({"of": {"type": "string"}}), &["of"]);
    let decides = |operation: Operation| {
        let secrets = secrets.clone();
        operation.with_check(&["THING_MISSING"], move |_, input: Value| {
            let secrets = secrets.clone();
            async move {
                match input["of"].as_str().unwrap_or_default() {
                    "mine" => Ok(true),
                    "hidden" => Err(no_thing(7)),
                    "theirs" => Ok(false),
                    how => broken(how, &secrets).map(|_| false),
                }
            }
        })
    };
    let owned = declared(contract::OperationDeclaration::query("table.owned")).fails(missing()).with_input(input());
    let owned = Operation::dynamic(owned).with_handler(|_, _: Value| async { Ok(json!("mine")) });
    let feed =
        declared(contract::OperationDeclaration::subscription("table.feed")).fails(missing()).with_input(input());
    let feed = Operation::dynamic(feed)
        .with_stream_handler(|_, _: Value| async { Ok(Events::new(stream::iter([Ok(json!(1))]))) });
    [decides(owned), decides(feed)]
}

/// The operations that never end by themselves, and say when they run and when they are dropped.
fn waiting(marks: &Arc<Marks>) -> [Operation; 3] {
    let wait = |name: &str, marks: &Arc<Marks>| {
        let marks = Arc::clone(marks);
        Operation::dynamic(declared(contract::OperationDeclaration::query(name))).with_handler(move |_, _: Value| {
            let marks = Arc::clone(&marks);
            async move {
                let _runs = marks.begin();
                std::future::pending::<Ended>().await
            }
        })
    };
    let seen = Arc::clone(marks);
    let hang = declared(contract::OperationDeclaration::subscription("table.hang"));
    let hang = Operation::dynamic(hang).with_stream_handler(move |_, _: Value| {
        let runs = seen.begin();
        let rest = stream::once(async move {
            let _runs = runs;
            std::future::pending::<Ended>().await
        });
        async move { Ok(Events::new(stream::iter([Ok(json!(1))]).chain(rest))) }
    });
    [wait("table.wait", marks), wait("table.patient", marks), hang]
}

/// The operations of the table, with `canary`'s markers wherever nothing may come from.
pub(crate) fn registry(canary: &Canary, marks: &Arc<Marks>) -> Registry {
    let secrets = Secrets::plant(canary);
    let answer = |name: &str, output: Value| {
        Operation::dynamic(declared(contract::OperationDeclaration::query(name))).with_handler(move |_, _: Value| {
            let output = output.clone();
            async move { Ok(output) }
        })
    };
    let times = json!({"name": {"type": "string"}, "times": {"type": "integer", "minimum": 1, "maximum": 9}});
    let greet = declared(contract::OperationDeclaration::query("table.greet")).with_alias("table.hello");
    let greet = Operation::dynamic(greet.with_input(object(times, &["name"])))
        .with_handler(|_, input: Value| async move { Ok(json!({"message": input["name"]})) });
    let fail = Kind::ALL.into_iter().map(of_kind);
    let fail = declared(contract::OperationDeclaration::query("table.fail")).with_failures(fail);
    let fail = fail.with_input(object(json!({"kind": {"type": "string"}}), &["kind"]));
    let fail = Operation::dynamic(fail).with_handler(|_, input: Value| async move {
        let kind = Kind::parse(input["kind"].as_str().unwrap_or_default()).expect("the row names a kind");
        let details = if kind.retryable() { json!({"kind": kind, "wait_ms": 1500}) } else { json!({"kind": kind}) };
        Err(DynamicFailure::new(&code_of(kind), details))?
    });
    let find = declared(contract::OperationDeclaration::query("table.find")).fails(missing());
    let find = Operation::dynamic(find).with_handler(|_, _: Value| async {
        let failed = no_thing(7).with_hint("Look for another thing, which is near.");
        Err(failed.with_similar("Ada", ["Adah", "Bob"]).with_next_action(
            "table.greet",
            &json!({"name": "Adah"}),
            "near",
        ))
    });
    let breaks = declared(contract::OperationDeclaration::query("table.break")).fails(missing());
    let breaks = breaks.with_input(object(json!({"how": {"type": "string"}}), &["how"]));
    let hidden = secrets.clone();
    let breaks =
        Operation::dynamic(breaks.with_output(json!({"type": "string"}))).with_handler(move |_, input: Value| {
            let secrets = hidden.clone();
            async move { broken(input["how"].as_str().unwrap_or_default(), &secrets) }
        });
    let slow =
        contract::OperationDeclaration::query("table.slow").with_summary("End too late.").with_access(Access::caller());
    let slow = Operation::dynamic(slow.with_deadline(Duration::from_millis(30)))
        .with_handler(|_, _: Value| std::future::pending::<Ended>());
    let wipe = declared(contract::OperationDeclaration::mutation("table.wipe")).with_access(Access::caller().consent());
    let wipe = Operation::dynamic(wipe).with_handler(|_, _: Value| async { Ok(json!("wiped")) });
    let once = declared(contract::OperationDeclaration::mutation("table.once")).with_idempotency_key();
    let once = once.with_input(object(json!({"n": {"type": "integer"}}), &["n"]));
    let once = Operation::dynamic(once).with_handler(|_, input: Value| async move { Ok(input) });
    let check = declared(contract::OperationDeclaration::query("table.check"))
        .with_input(object(json!({"n": {"type": "integer"}}), &["n"]));
    let check = check.with_output(object(json!({"stored": {"type": "boolean"}}), &["stored"]));
    let check = Operation::dynamic(check).with_handler(|_, _: Value| async { Ok(json!({"stored": true})) });
    let store = declared(contract::OperationDeclaration::mutation("table.store"))
        .with_idempotency_key()
        .with_deadline(Duration::from_millis(30));
    let store = store.with_verification(stored()).fails(unsure());
    let store = store.with_input(object(json!({"n": {"type": "integer"}, "how": {"type": "string"}}), &["n", "how"]));
    let kept = secrets.clone();
    let store =
        Operation::dynamic(store.with_output(json!({"type": "string"}))).with_handler(move |_, input: Value| {
            let secrets = kept.clone();
            async move {
                match input["how"].as_str().unwrap_or_default() {
                    "late" => std::future::pending::<Ended>().await,
                    "unsure" => Err(DynamicFailure::new("STORE_UNSURE", json!({"n": input["n"]})))?,
                    how => broken(how, &secrets),
                }
            }
        });
    let run = declared(contract::OperationDeclaration::mutation("table.run")).with_eval("source", "basic");
    let run = run.with_input(object(json!({"source": {"type": "string"}}), &["source"]));
    let run = Operation::dynamic(run).with_handler(|_, _: Value| async { Ok(json!("ran")) });
    let vault = declared(contract::OperationDeclaration::query("table.vault"))
        .with_access(Access::caller().scope("vault:open"));
    let vault = Operation::dynamic(vault).with_handler(|_, _: Value| async { Ok(json!("open")) });
    let hides = declared(contract::OperationDeclaration::query("table.hidden")).internal();
    let hides = Operation::dynamic(hides).with_handler(|_, _: Value| async { Ok(json!("hidden")) });
    let compose = declared(contract::OperationDeclaration::query("table.compose")).with_call("table.hidden");
    let compose = Operation::dynamic(compose.with_authority("table:compose"))
        .with_handler(|ctx, _: Value| async move { Ok(ctx.call_dynamic("table.hidden", json!({})).await?) });
    let much = declared(contract::OperationDeclaration::query("table.much")).with_max_output(200);
    let much = Operation::dynamic(much).with_handler(|_, _: Value| async { Ok(json!({"text": "x".repeat(300)})) });
    let [wait, patient, hang] = waiting(marks);
    let [owned, feed] = checked(&secrets);
    let all = [
        greet,
        fail,
        find,
        breaks,
        slow,
        wipe,
        once,
        check,
        store,
        run,
        vault,
        hides,
        wait,
        patient,
        hang,
        owned,
        feed,
        count(secrets.clone()),
    ];
    let plain = [
        answer("table.nothing", Value::Null),
        answer("table.limited", json!(0)),
        answer("table.full", json!(0)),
        answer("table.spent", json!(0)),
        answer("table.guarded", json!(0)),
    ];
    let spent = declared(contract::OperationDeclaration::subscription("table.spent_stream"));
    let spent =
        Operation::dynamic(spent).with_stream_handler(|_, _: Value| async { Ok(Events::new(stream::pending())) });
    let registry = all
        .into_iter()
        .chain(plain)
        .chain([spent, much, stray(), compose, answer("table.gone", json!(0))])
        .chain(below(&secrets))
        .chain(redress_serve::discovery())
        .fold(Registry::builder(), |builder, operation| builder.add(operation))
        .add(consent_grant())
        .add(consent_revoke())
        .limit(Limits)
        .quotas(UsedUp)
        .guard(Hours)
        .content_guard(NoGoto)
        .observer(Told(Arc::clone(marks)))
        .max_input(4096)
        .check_outputs(true)
        .build()
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(registry.changes().hide("table.gone"));
    registry
}
