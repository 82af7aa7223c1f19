//! Limits and quotas around what is not a plain call: completions, questions for consent, checks, and what is only
//! asked about.

use std::{
    collections::BTreeMap,
    future::ready,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use redress::{
    Access, Answer, AskError, Asker, Caller, Conversation, DynamicFailure, Field, Form, Hold, Kind, Limit, Limited,
    LimitedCall, Operation, Permit, Question, QuestionKind, QuotaHold, QuotaRefused, QuotaShare, QuotaStore,
    QuotaWindow, Registry, Request, StoreError, Turn,
    contract::{self, Allowance},
};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::service::{failure, mutation, query, registry};

/// A limit that admits so many calls, and keeps what it was told of them.
#[derive(Clone)]
struct Gate {
    left: Arc<AtomicUsize>,
    held: Arc<AtomicUsize>,
    ran: Arc<Mutex<Vec<Option<Instant>>>>,
}

impl Gate {
    fn of(calls: usize) -> Gate {
        Gate { left: Arc::new(AtomicUsize::new(calls)), held: Arc::default(), ran: Arc::default() }
    }

    fn left(&self) -> usize {
        self.left.load(Ordering::SeqCst)
    }

    fn held(&self) -> usize {
        self.held.load(Ordering::SeqCst)
    }
}

impl Limit for Gate {
    fn admit(&self, call: &LimitedCall<'_>) -> Result<Option<Permit>, Limited> {
        if call.composed {
            return Ok(None);
        }
        let taken = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if taken.is_err() {
            return Err(Limited::rate(7).named("rate", "caller"));
        }
        self.held.fetch_add(1, Ordering::SeqCst);
        Ok(Some(Box::new(Through(self.clone()))))
    }
}

struct Through(Gate);

impl Hold for Through {
    fn ran(&mut self, since: Option<Instant>) {
        self.0.ran.lock().unwrap().push(since);
    }
}

impl Drop for Through {
    fn drop(&mut self) {
        self.0.held.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A quota of a hundred calls for everybody together, whose file may be slow.
#[derive(Clone, Default)]
pub(crate) struct Count {
    spent: Arc<AtomicU64>,
    slow: Option<Duration>,
    /// What it calls off once it has counted.
    calls_off: Option<CancellationToken>,
}

impl Count {
    pub(crate) fn spent(&self) -> u64 {
        self.spent.load(Ordering::SeqCst)
    }
}

impl Limit for Count {
    fn admit(&self, _: &LimitedCall<'_>) -> Result<Option<Permit>, Limited> {
        Ok(None)
    }

    fn has_quotas(&self) -> bool {
        true
    }

    fn quotas(&self, _: &LimitedCall<'_>) -> Vec<QuotaShare> {
        vec![QuotaShare { policy: "day".into(), rule: "*".into(), window: QuotaWindow::Day, limit: 100 }]
    }
}

impl QuotaStore for Count {
    fn reserve<'a>(
        &'a self,
        _: &'a str,
        _: &'a [QuotaShare],
    ) -> BoxFuture<'a, Result<Box<dyn QuotaHold>, QuotaRefused>> {
        let hold: Box<dyn QuotaHold> = Box::new(self.clone());
        Box::pin(ready(Ok(hold)))
    }
}

impl QuotaHold for Count {
    fn count(&mut self) -> BoxFuture<'_, Result<Vec<Allowance>, StoreError>> {
        let remaining = 99 - self.spent();
        let left =
            Allowance { policy: "day".into(), limit: 100, remaining, window_seconds: 86_400, renews_seconds: 60 };
        Box::pin(async move {
            if let Some(slow) = self.slow {
                tokio::time::sleep(slow).await;
            }
            if let Some(call) = &self.calls_off {
                call.cancel();
            }
            Ok(vec![left])
        })
    }

    fn spend(self: Box<Self>) {
        self.spent.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn a_call_that_is_called_off_between_its_count_and_its_handler_counts_for_nothing() {
    let token = CancellationToken::new();
    let count = Count { calls_off: Some(token.clone()), ..Count::default() };
    let read = Operation::dynamic(query("tickets.read")).with_handler(|_, _: Value| async { Ok(Value::Null) });
    let registry = registry(Registry::builder().add(read).limit(count.clone()).quotas(count.clone()));
    let request = || Request::default().with_caller(Caller::new("ada"));
    let ended = registry.call("tickets.read", request().with_cancellation(token)).await;
    assert_eq!((ended.code(), count.spent()), (Some("CANCELLED"), 0));
    assert_eq!((registry.call("tickets.read", request()).await.code(), count.spent()), (None, 1));
}

fn completed(gate: &Gate) -> (Registry, Arc<AtomicUsize>) {
    let strings = json!({"type": "array", "items": {"type": "string"}});
    let runs = Arc::new(AtomicUsize::new(0));
    let (counted, held) = (Arc::clone(&runs), gate.clone());
    let like =
        Operation::dynamic(query("tickets.like").with_output(strings).internal()).with_handler(move |_, _: Value| {
            counted.fetch_add(1, Ordering::SeqCst);
            let held = held.held();
            async move { Ok(json!([format!("{held} held")])) }
        });
    let input = json!({"type": "object", "properties": {"ticket": {"type": "string"}, "tone": {"enum": ["plain"]}}});
    let read = query("tickets.read").with_input(input).with_completion("ticket", "tickets.like");
    let read = Operation::dynamic(read).with_handler(|_, _: Value| async { Ok(Value::Null) });
    (registry(Registry::builder().add(like).add(read).limit(gate.clone())), runs)
}

#[tokio::test]
async fn a_completion_that_runs_an_operation_is_held_to_the_limits_of_what_it_completes() {
    let gate = Gate::of(2);
    let (registry, runs) = completed(&gate);
    let complete = async |argument: &str| {
        registry.complete("tickets.read", argument, "", &BTreeMap::new(), Request::default()).await
    };
    for _ in 0..2 {
        // What the limits hand out is held while the other operation runs, and given back then.
        assert_eq!(complete("ticket").await.unwrap().values, ["1 held"]);
        assert_eq!(gate.held(), 0);
    }
    let refused = complete("ticket").await.unwrap_err();
    let problem = refused.problem().unwrap();
    assert_eq!((problem.code.as_str(), problem.retry_after_ms), ("RATE_LIMITED", Some(7)));
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    // What a schema lists is only read, and nothing runs for it.
    assert_eq!(complete("tone").await.unwrap().values, ["plain"]);
}

/// Agrees to everything, and counts how often it is asked.
#[derive(Clone, Default)]
struct Agrees(Arc<AtomicUsize>);

impl Asker for Agrees {
    fn can(&self, _: QuestionKind) -> bool {
        true
    }

    fn ask<'a>(&'a self, _: &'a str, _: &'a Question) -> BoxFuture<'a, Result<Answer, AskError>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(ready(Ok(Answer::Accepted(json!({"agree": true})))))
    }
}

fn wiping(gate: &Gate) -> Registry {
    let wipe = mutation("disk.wipe").with_access(Access::caller().consent());
    let held = gate.clone();
    let wipe = Operation::dynamic(wipe).with_handler(move |_, _: Value| {
        let held = held.held();
        async move { Ok(json!(held)) }
    });
    registry(Registry::builder().add(wipe).limit(gate.clone()))
}

#[tokio::test]
async fn nobody_is_asked_to_agree_to_a_call_that_the_limits_refuse() {
    let (gate, agrees) = (Gate::of(2), Agrees::default());
    let registry = wiping(&gate);
    let ada = || Request::default().with_caller(Caller::new("ada"));
    let call = || registry.call("disk.wipe", ada().with_asker(Arc::new(agrees.clone())));
    for asked in 1..=2 {
        // One call takes from the limits once, and holds it to its end.
        assert_eq!(call().await.output(), Some(b"1".as_slice()));
        assert_eq!((agrees.0.load(Ordering::SeqCst), gate.left(), gate.held()), (asked, 2 - asked, 0));
    }
    assert_eq!(call().await.code(), Some("RATE_LIMITED"));
    assert_eq!(agrees.0.load(Ordering::SeqCst), 2, "nobody was asked in vain");
    // In rounds, too.
    let first = Conversation::new(QuestionKind::ALL);
    let Turn::Ended(refused) = registry.converse("disk.wipe", ada(), first).await else { panic!("it asks") };
    assert_eq!(refused.code(), Some("RATE_LIMITED"));
    // Where nobody can be asked, consent comes before the limits.
    assert_eq!(registry.call("disk.wipe", ada()).await.code(), Some("CONSENT_REQUIRED"));
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_handler_begins_after_what_the_call_waited_for_before_it() {
    let second = Duration::from_secs(1);
    let plain = || Operation::dynamic(query("work.run")).with_handler(|_, _: Value| async { Ok(Value::Null) });
    let checked = || {
        plain().with_check(&[], move |_, _| async move {
            tokio::time::sleep(second).await;
            Ok(true)
        })
    };
    let small = || json!({});
    let quota = || Some(Count { slow: Some(second), ..Count::default() });
    for (what, operation, count, input) in [
        ("a check", checked(), None, small()),
        ("a quota", plain(), quota(), small()),
        ("a large input", plain(), None, json!({"pad": "x".repeat(300_000)})),
    ] {
        let gate = Gate::of(1);
        let builder = Registry::builder().add(operation).limit(gate.clone());
        let builder = match count {
            Some(count) => builder.limit(count.clone()).quotas(count),
            None => builder,
        };
        let since = Instant::now();
        let request = Request::new(input.to_string().into_bytes());
        assert!(registry(builder).call("work.run", request).await.is_ok(), "{what}");
        let ran = gate.ran.lock().unwrap().clone();
        let [Some(began)] = ran[..] else { panic!("{what}: {ran:?}") };
        assert!(what == "a large input" || began - since >= second, "{what}");
    }
    // What waits for nothing reads no clock.
    let gate = Gate::of(1);
    let registry = registry(Registry::builder().add(plain()).limit(gate.clone()));
    assert!(registry.call("work.run", Request::default()).await.is_ok());
    assert_eq!(*gate.ran.lock().unwrap(), [None]);
}

#[tokio::test]
async fn a_call_stays_counted_that_ends_by_itself_while_a_question_is_open() {
    let name = || Question::form("Who is there?", Form::new().field("name", Field::text()));
    let impatient = Operation::dynamic(query("door.impatient")).with_handler(move |ctx, _: Value| async move {
        // The question is put, and its answer is not waited for.
        let asked = ctx.ask("name", name());
        futures_util::future::select(Box::pin(asked), ready(())).await;
        Ok(json!("done"))
    });
    let patient = Operation::dynamic(query("door.patient")).with_handler(move |ctx, _: Value| async move {
        ctx.ask("name", name()).await?;
        Ok(json!("done"))
    });
    let count = Count::default();
    let builder = Registry::builder().add(impatient).add(patient).limit(count.clone()).quotas(count.clone());
    let registry = registry(builder);
    let round = |name| registry.converse(name, Request::default(), Conversation::new(QuestionKind::ALL));
    assert!(matches!(round("door.patient").await, Turn::Asks(_)));
    assert_eq!(count.spent(), 0, "it goes on in its next round");
    assert!(matches!(round("door.impatient").await, Turn::Ended(envelope) if envelope.is_ok()));
    assert_eq!(count.spent(), 1, "it has come to its end");
}

fn documents(gate: &Gate, consent: bool, checks: &Arc<AtomicUsize>) -> Registry {
    let declaration = |name| {
        let access = if consent { Access::caller().consent() } else { Access::caller() };
        let failure = failure("DOCUMENT_UNKNOWN", Kind::NotFound);
        contract::OperationDeclaration::query(name)
            .with_summary("Read a document.")
            .with_access(access)
            .with_input(json!({"type": "object"}))
            .fails(failure)
    };
    let checked = |name| {
        let checks = Arc::clone(checks);
        Operation::dynamic(declaration(name)).with_handler(|_, _: Value| async { Ok(Value::Null) }).with_check(
            &["DOCUMENT_UNKNOWN"],
            move |_, input: Value| {
                checks.fetch_add(1, Ordering::SeqCst);
                async move {
                    match input["which"].as_str() {
                        Some("mine") => Ok(true),
                        Some("hidden") => Err(DynamicFailure::new("DOCUMENT_UNKNOWN", json!({})))?,
                        Some("slow") => std::future::pending().await,
                        _ => Ok(false),
                    }
                }
            },
        )
    };
    registry(Registry::builder().add(checked("docs.read")).add(checked("docs.show")).limit(gate.clone()))
}

fn ada<'a>() -> Request<'a> {
    Request::default().with_caller(Caller::new("ada"))
}

#[tokio::test]
async fn however_many_calls_are_asked_about_each_operation_takes_one_from_its_limits() {
    let (gate, checks) = (Gate::of(2), Arc::default());
    let registry = documents(&gate, false, &checks);
    let mine = br#"{"which":"mine"}"#.as_slice();
    let others = [br#"{"which":"hidden"}"#.as_slice(), br#"{"which":"no"}"#.as_slice(), b"no json".as_slice()];
    let mut wanted = vec![("docs.read", mine); 1000];
    wanted.extend(others.map(|other| ("docs.show", other)));
    wanted.extend([("docs.show", mine), ("docs.none", mine)]);
    // A key that came with the message changes nothing.
    let allowed = registry.allows(&wanted, ada().with_idempotency_key("k")).await.unwrap();
    assert_eq!(allowed.iter().filter(|may| **may).count(), 1001);
    assert_eq!(allowed[1000..], [false, false, false, true, false]);
    assert_eq!((gate.left(), gate.held()), (0, 0));
    let asked = checks.load(Ordering::SeqCst);
    let refused = registry.allows(&wanted, ada()).await.unwrap_err();
    assert_eq!(refused.code(), Some("RATE_LIMITED"));
    assert_eq!(checks.load(Ordering::SeqCst), asked, "no check ran");
}

#[tokio::test(start_paused = true)]
async fn what_is_asked_about_together_takes_no_longer_than_one_call() {
    let (gate, checks) = (Gate::of(9), Arc::default());
    let registry = documents(&gate, false, &checks);
    let slow = br#"{"which":"slow"}"#.as_slice();
    let mut wanted: Vec<_> = (0..50).flat_map(|_| [("docs.read", slow), ("docs.show", slow)]).collect();
    wanted.push(("docs.read", br#"{"which":"mine"}"#.as_slice()));
    let since = Instant::now();
    let allowed = registry.allows(&wanted, ada().with_deadline(Duration::from_secs(2))).await.unwrap();
    assert!(allowed.iter().all(|may| !may), "what cannot be told in time is not told");
    assert!(since.elapsed() < Duration::from_secs(3), "{:?}", since.elapsed());
    assert_eq!(checks.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn what_nobody_has_agreed_to_is_not_told_of_either() {
    let (gate, checks) = (Gate::of(9), Arc::default());
    let registry = documents(&gate, true, &checks);
    let mine = [("docs.read", br#"{"which":"mine"}"#.as_slice())];
    assert_eq!(registry.allows(&mine, ada()).await.unwrap(), [false]);
    assert_eq!((checks.load(Ordering::SeqCst), gate.left()), (0, 9));
}

#[tokio::test]
async fn what_each_of_several_limits_hands_out_is_held_until_the_call_ends() {
    let gates = [Gate::of(1), Gate::of(1), Gate::of(1)];
    let seen = gates.clone();
    let operation = Operation::dynamic(query("gate.pass")).with_handler(move |_, _| {
        let held: Vec<usize> = seen.iter().map(Gate::held).collect();
        ready(Ok(json!(held)))
    });
    let builder = gates.iter().fold(Registry::builder().add(operation), |builder, gate| builder.limit(gate.clone()));
    let envelope = registry(builder).call("gate.pass", Request::new(b"{}")).await;
    assert_eq!(envelope.output(), Some(b"[1,1,1]".as_slice()));
    assert!(gates.iter().all(|gate| gate.held() == 0 && gate.ran.lock().unwrap().len() == 1));
}
