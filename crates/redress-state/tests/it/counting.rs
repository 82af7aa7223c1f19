//! Quotas: no more calls run than an allowance is for, and each that ran is in the file.

use std::{path::Path, sync::Arc, time::Duration};

use redress_core::{
    Conversation, Field, Form, Layers, Limit, Limited, LimitedCall, Operation, Permit, Question, QuestionKind,
    QuotaShare, QuotaWindow, Registry, Request, Turn,
    contract::{self, Access, Caller, Envelope},
    rfc3339,
};
use redress_state::{Clock as _, QuotaReader, QuotaRecord, StateOptions, StateStore};
use serde_json::{Value, json};

use crate::service::{Hands, Runs, open_state, other, until};

const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Every call from outside is taken from these.
#[derive(Clone)]
struct Allowed(Vec<QuotaShare>);

impl Limit for Allowed {
    fn admit(&self, _: &LimitedCall<'_>) -> Result<Option<Permit>, Limited> {
        Ok(None)
    }

    fn has_quotas(&self) -> bool {
        true
    }

    fn quotas(&self, _: &LimitedCall<'_>) -> Vec<QuotaShare> {
        self.0.clone()
    }
}

fn allowed(limits: &[(u64, QuotaWindow)]) -> Allowed {
    let share = |(limit, window): &(u64, QuotaWindow)| QuotaShare {
        policy: window.as_str().into(),
        rule: "*".into(),
        window: *window,
        limit: *limit,
    };
    Allowed(limits.iter().map(share).collect())
}

fn a_day(limit: u64) -> Allowed {
    allowed(&[(limit, QuotaWindow::Day)])
}

/// The operations `work.once`, which takes a key and an object, `work.twice`, which calls that, `work.break`, which panics,
/// and `work.ask`, which asks for a name.
fn built(runs: &Runs) -> Registry {
    let open = |operation: contract::OperationDeclaration| {
        operation.with_summary("Serve a test.").with_access(Access::anyone()).with_input(json!({"type": "object"}))
    };
    let (once, asked) = (runs.clone(), runs.clone());
    let once = Operation::dynamic(open(contract::OperationDeclaration::mutation("work.once")).with_idempotency_key())
        .with_handler(move |_, _| std::future::ready(Ok(json!(once.up()))));
    let twice = open(contract::OperationDeclaration::mutation("work.twice")).with_call("work.once");
    let twice = Operation::dynamic(twice).with_handler(|ctx, _| async move {
        ctx.call_dynamic("work.once", json!({})).await?;
        Ok(ctx.call_dynamic("work.once", json!({})).await?)
    });
    let breaks = Operation::dynamic(open(contract::OperationDeclaration::mutation("work.break")))
        .with_handler(|_, _| async { panic!("a bug") });
    let ask =
        Operation::dynamic(open(contract::OperationDeclaration::query("work.ask"))).with_handler(move |ctx, _| {
            let runs = asked.clone();
            async move {
                runs.up();
                let form = Form::new().field("name", Field::text());
                Ok(json!(ctx.ask("name", Question::form("Who?", form)).await?.accepted().is_some()))
            }
        });
    Registry::builder().add(once).add(twice).add(breaks).add(ask).build().unwrap()
}

fn service(state: &StateStore, limit: Allowed, runs: &Runs) -> Registry {
    let fittings = Layers::new().limit(limit).quotas(state.quotas()).idempotency(state.keys()).audit(state.audit());
    built(runs).with_layers(fittings)
}

fn as_ada(input: &Value) -> Request<'static> {
    Request::new(input.to_string().into_bytes()).with_caller(Caller::new("ada"))
}

async fn call(registry: &Registry, name: &str) -> Envelope {
    registry.call(name, as_ada(&json!({}))).await
}

fn left(envelope: &Envelope) -> Vec<u64> {
    envelope.allowances().iter().map(|allowance| allowance.remaining).collect()
}

fn details(envelope: &Envelope) -> Value {
    serde_json::from_slice::<Value>(&envelope.to_bytes()).unwrap()["details"].clone()
}

async fn counted(folder: &Path) -> Vec<QuotaRecord> {
    QuotaReader::open(folder).await.unwrap().read(std::time::SystemTime::now(), None).await.unwrap()
}

async fn used(folder: &Path) -> u64 {
    counted(folder).await.iter().map(|record| record.used).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn many_calls_at_once_never_pass_the_limit_and_each_that_ran_is_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let (state, runs) = (open_state(folder.path()).await, Runs::default());
    let registry = service(&state, a_day(10), &runs);
    let calls: Vec<_> = (0..64)
        .map(|_| {
            let registry = registry.clone();
            tokio::spawn(async move { call(&registry, "work.once").await.code().map(str::to_owned) })
        })
        .collect();
    let mut codes = Vec::new();
    for call in calls {
        codes.push(call.await.unwrap());
    }
    assert_eq!(codes.iter().filter(|code| code.is_none()).count(), 10);
    assert!(codes.iter().flatten().all(|code| code == "QUOTA_EXHAUSTED"), "{codes:?}");
    assert_eq!((runs.get(), used(folder.path()).await), (10, 10));
    state.close().await.unwrap();
}

#[tokio::test]
async fn what_was_counted_goes_on_after_a_restart_and_for_each_caller_on_its_own() {
    let folder = tempfile::tempdir().unwrap();
    for round in 1..=3 {
        let (state, runs) = (open_state(folder.path()).await, Runs::default());
        let registry = service(&state, a_day(4), &runs);
        let answer = call(&registry, "work.once").await;
        assert_eq!(left(&answer), [4 - round]);
        state.close().await.unwrap();
    }
    let state = open_state(folder.path()).await;
    let registry = service(&state, a_day(4), &Runs::default());
    assert!(call(&registry, "work.once").await.is_ok());
    let refused = call(&registry, "work.once").await;
    assert_eq!((refused.code(), left(&refused)), (Some("QUOTA_EXHAUSTED"), vec![0]));
    let ben = Request::new(b"{}".as_slice()).with_caller(Caller::new("ben"));
    assert_eq!(left(&registry.call("work.once", ben).await), [3]);
    for (peer, left_of_it) in [("192.0.2.1", 3), ("192.0.2.2", 3), ("192.0.2.1", 2)] {
        let nobody = Request::new(b"{}".as_slice()).with_peer(peer.parse().unwrap());
        assert_eq!(left(&registry.call("work.once", nobody).await), [left_of_it], "{peer}");
    }
    let shown = |record: &QuotaRecord| (record.caller.clone(), record.address.clone(), record.used, record.limit);
    let name = |name: &str| Some(name.to_owned());
    assert_eq!(
        counted(folder.path()).await.iter().map(shown).collect::<Vec<_>>(),
        [
            (None, name("192.0.2.1"), 2, 4),
            (None, name("192.0.2.2"), 1, 4),
            (name("ada"), None, 4, 4),
            (name("ben"), None, 1, 4)
        ]
    );
    state.close().await.unwrap();
}

#[tokio::test]
async fn a_call_whose_handler_ran_counts_and_one_that_was_refused_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let (state, runs) = (open_state(folder.path()).await, Runs::default());
    let registry = service(&state, a_day(9), &runs);
    for (input, code) in [("[]", "INVALID_INPUT"), ("{", "PARSE_ERROR")] {
        let request = Request::new(input.as_bytes()).with_caller(Caller::new("ada"));
        assert_eq!(registry.call("work.once", request).await.code(), Some(code));
    }
    let late = registry.call("work.once", as_ada(&json!({})).with_deadline(Duration::ZERO)).await;
    assert_eq!(late.code(), Some("TIMEOUT"));
    assert_eq!(runs.get(), 0);
    // What was late while it was counted is taken back by the writer, in its time.
    let taken_back = async { while used(folder.path()).await > 0 {} };
    tokio::time::timeout(Duration::from_secs(30), taken_back)
        .await
        .expect("a call that never ran does not stay counted");
    // However it ends.
    let broken = call(&registry, "work.break").await;
    assert_eq!((broken.code(), left(&broken)), (Some("INTERNAL"), vec![8]));
    // What it calls has been counted with it.
    assert_eq!(left(&call(&registry, "work.twice").await), [7]);
    assert_eq!((runs.get(), used(folder.path()).await), (2, 2));
    state.close().await.unwrap();
}

#[tokio::test]
async fn a_key_gets_its_outcome_again_though_nothing_is_left_and_that_counts_for_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (state, runs) = (open_state(folder.path()).await, Runs::default());
    let registry = service(&state, a_day(2), &runs);
    let keyed = |key: &'static str| registry.call("work.once", as_ada(&json!({})).with_idempotency_key(key));
    assert_eq!(left(&keyed("a").await), [1]);
    assert!(keyed("a").await.allowances().is_empty(), "it was taken from none");
    assert_eq!(left(&keyed("b").await), [0]);
    for key in ["a", "b"] {
        assert!(keyed(key).await.is_ok());
    }
    for _ in 0..2 {
        assert_eq!(keyed("c").await.code(), Some("QUOTA_EXHAUSTED"));
    }
    let bad = registry.call("work.once", as_ada(&json!([])).with_idempotency_key("c")).await;
    assert_eq!(bad.code(), Some("INVALID_INPUT"), "whether it is the call of before is not known yet");
    assert_eq!((runs.get(), used(folder.path()).await), (2, 2));
    // The key that was refused is free: with more to use, it works.
    let registry = service(&state, a_day(3), &runs);
    let again = registry.call("work.once", as_ada(&json!({})).with_idempotency_key("c")).await;
    assert_eq!(left(&again), [0]);
    state.close().await.unwrap();
}

#[tokio::test]
async fn a_call_with_a_key_that_has_nothing_left_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (state, runs) = (open_state(folder.path()).await, Runs::default());
    // Without the audit, which is written to.
    let fittings = Layers::new().limit(a_day(1)).quotas(state.quotas()).idempotency(state.keys());
    let registry = built(&runs).with_layers(fittings);
    let keyed = async |key: &str| {
        let request = as_ada(&json!({})).with_idempotency_key(key);
        registry.call("work.once", request).await
    };
    assert!(keyed("first").await.is_ok());
    state.upkeep().await.unwrap();
    let mut other = other(folder.path()).await;
    let changes = async |other: &mut sqlx::SqliteConnection| -> i64 {
        sqlx::query_scalar("PRAGMA data_version").fetch_one(other).await.unwrap()
    };
    let before = changes(&mut other).await;
    for number in 0..20 {
        assert_eq!(keyed(&format!("random-{number}")).await.code(), Some("QUOTA_EXHAUSTED"));
    }
    assert!(keyed("first").await.is_ok(), "what it had before it gets again");
    let conflict = registry.call("work.once", as_ada(&json!({"a": 1})).with_idempotency_key("first")).await;
    assert_eq!(conflict.code(), Some("IDEMPOTENCY_CONFLICT"));
    assert_eq!(changes(&mut other).await, before);
    let keys: i64 = sqlx::query_scalar("SELECT count(*) FROM keys").fetch_one(&mut other).await.unwrap();
    assert_eq!((keys, runs.get()), (1, 1));
    state.close().await.unwrap();
}

#[tokio::test]
async fn a_call_in_rounds_counts_once_when_it_has_its_answers() {
    let folder = tempfile::tempdir().unwrap();
    let (state, runs) = (open_state(folder.path()).await, Runs::default());
    let registry = service(&state, a_day(1), &runs);
    let first = Conversation::new([QuestionKind::Form]);
    let Turn::Asks(asks) = registry.converse("work.ask", as_ada(&json!({})), first).await else { panic!("it asks") };
    let second = Conversation::resumed([QuestionKind::Form], &asks.state).unwrap();
    let second = second.answer("name", redress_core::Answer::Accepted(json!({"name": "Ada"})));
    let Turn::Ended(ended) = registry.converse("work.ask", as_ada(&json!({})), second).await else { panic!("it ends") };
    assert!(ended.is_ok(), "{ended:?}");
    assert_eq!((runs.get(), used(folder.path()).await), (2, 1));
    assert_eq!(call(&registry, "work.once").await.code(), Some("QUOTA_EXHAUSTED"));
    state.close().await.unwrap();
}

/// 2024-02-28T23:30:00Z.
const LATE_IN_FEBRUARY: u64 = 1_709_163_000;

async fn at(folder: &Path, hands: &Arc<Hands>) -> StateStore {
    StateStore::open(StateOptions::new(folder).clock(hands.clone())).await.unwrap()
}

#[tokio::test]
async fn an_allowance_is_whole_again_with_the_next_hour_day_or_month_and_says_when() {
    for (window, seconds, renews) in [
        (QuotaWindow::Hour, 30 * 60, "2024-02-29T00:00:00.000Z"),
        (QuotaWindow::Day, 30 * 60, "2024-02-29T00:00:00.000Z"),
        (QuotaWindow::Month, 24 * 60 * 60 + 30 * 60, "2024-03-01T00:00:00.000Z"),
    ] {
        let (folder, hands) = (tempfile::tempdir().unwrap(), Hands::at(LATE_IN_FEBRUARY));
        let state = at(folder.path(), &hands).await;
        let registry = service(&state, allowed(&[(1, window)]), &Runs::default());
        assert!(call(&registry, "work.once").await.is_ok());
        let refused = call(&registry, "work.once").await;
        let told = json!({"limit": 1, "used": 1, "remaining": 0, "window": window.as_str(), "per": "caller", "renews_at": renews});
        assert_eq!(details(&refused), told);
        let problem = refused.problem().unwrap();
        assert_eq!((problem.retryable, problem.retry_after_ms), (false, Some(seconds * 1000)));
        assert_eq!(refused.allowances()[0].renews_seconds, seconds);
        hands.pass(Duration::from_secs(seconds) - Duration::from_millis(1));
        let refused = call(&registry, "work.once").await;
        assert_eq!(refused.problem().unwrap().retry_after_ms, Some(1), "{window:?}");
        hands.pass(Duration::from_millis(1));
        assert!(call(&registry, "work.once").await.is_ok(), "{window:?}");
        state.close().await.unwrap();
    }
}

#[tokio::test]
async fn of_several_allowances_all_hold_and_the_one_that_takes_longest_is_told() {
    let (folder, hands) = (tempfile::tempdir().unwrap(), Hands::at(LATE_IN_FEBRUARY));
    let state = at(folder.path(), &hands).await;
    let both = allowed(&[(1, QuotaWindow::Hour), (2, QuotaWindow::Month)]);
    let registry = service(&state, both, &Runs::default());
    assert_eq!(left(&call(&registry, "work.once").await), [0, 1]);
    assert_eq!(details(&call(&registry, "work.once").await)["window"], "hour");
    hands.pass(HOUR);
    assert_eq!(left(&call(&registry, "work.once").await), [0, 0]);
    let refused = call(&registry, "work.once").await;
    assert_eq!((&details(&refused)["window"], left(&refused)), (&json!("month"), vec![0, 0]));
    hands.pass(HOUR);
    let refused = call(&registry, "work.once").await;
    assert_eq!(left(&refused), [1, 0], "the month refuses, and takes nothing from the hour");
    state.close().await.unwrap();
}

#[tokio::test]
async fn a_clock_that_is_set_back_finds_what_was_counted_and_gives_nothing_twice() {
    let (folder, hands) = (tempfile::tempdir().unwrap(), Hands::at(LATE_IN_FEBRUARY));
    let mut state = at(folder.path(), &hands).await;
    let runs = Runs::default();
    for restart in [false, true] {
        if restart {
            state.close().await.unwrap();
            state = at(folder.path(), &hands).await;
        }
        let registry = service(&state, a_day(1), &runs);
        let first = call(&registry, "work.once").await;
        assert_eq!(first.is_ok(), !restart);
        // Ahead there is another day with its own, and back is the day that was.
        hands.set_ahead(DAY);
        assert_eq!(call(&registry, "work.once").await.is_ok(), !restart);
        state.upkeep().await.unwrap();
        hands.set_back(DAY);
        let refused = call(&registry, "work.once").await;
        assert_eq!(details(&refused)["renews_at"], "2024-02-29T00:00:00.000Z");
    }
    assert_eq!(runs.get(), 2);
    state.close().await.unwrap();
}

#[tokio::test]
async fn a_state_that_has_seen_a_clock_far_ahead_forgets_nothing_of_today_at_its_starts() {
    let (folder, hands) = (tempfile::tempdir().unwrap(), Hands::at(LATE_IN_FEBRUARY));
    hands.set_ahead(60 * DAY);
    at(folder.path(), &hands).await.close().await.unwrap();
    hands.set_back(60 * DAY);
    let runs = Runs::default();
    for start in 0..3 {
        let state = at(folder.path(), &hands).await;
        assert_eq!(call(&service(&state, a_day(1), &runs), "work.once").await.is_ok(), start == 0, "start {start}");
        state.upkeep().await.unwrap();
        state.close().await.unwrap();
    }
    assert_eq!(runs.get(), 1);
}

#[tokio::test]
async fn what_has_been_over_for_a_month_is_removed_and_nothing_sooner() {
    let (folder, hands) = (tempfile::tempdir().unwrap(), Hands::at(LATE_IN_FEBRUARY));
    let state = at(folder.path(), &hands).await;
    let registry = service(&state, a_day(1), &Runs::default());
    assert!(call(&registry, "work.once").await.is_ok());
    let mut rows: Vec<i64> = Vec::new();
    for _ in 0..3 {
        state.upkeep().await.unwrap();
        let mut somebody = other(folder.path()).await;
        rows.push(sqlx::query_scalar("SELECT count(*) FROM quotas").fetch_one(&mut somebody).await.unwrap());
        hands.pass(16 * DAY);
    }
    assert_eq!(rows, [1, 1, 0]);
    assert!(rfc3339(hands.wall()).starts_with("2024-04-16"));
    state.close().await.unwrap();
}

/// A call of nobody's, from an address.
async fn from(registry: &Registry, peer: &str) -> Envelope {
    let nobody = Request::new(b"{}".as_slice()).with_peer(peer.parse().unwrap());
    registry.call("work.once", nobody).await
}

#[tokio::test]
async fn addresses_past_a_bound_share_one_count_until_what_is_over_makes_room() {
    let (folder, hands) = (tempfile::tempdir().unwrap(), Hands::at(LATE_IN_FEBRUARY));
    at(folder.path(), &hands).await.close().await.unwrap();
    let (starts, renews) = (LATE_IN_FEBRUARY - LATE_IN_FEBRUARY % 86_400, LATE_IN_FEBRUARY + 30 * 60);
    let many = format!(
        "INSERT INTO quotas WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT 99999) \
         SELECT char(0) || '2001:db8:0:' || printf('%x', n) || '::', '*', 'day', {starts}, {renews}, 1, 2 FROM n"
    );
    sqlx::query(sqlx::AssertSqlSafe(many)).execute(&mut other(folder.path()).await).await.unwrap();
    let rows = async || -> i64 {
        sqlx::query_scalar("SELECT count(*) FROM quotas").fetch_one(&mut other(folder.path()).await).await.unwrap()
    };
    let state = at(folder.path(), &hands).await;
    // The first upkeep, so that none comes between the calls and counts anew.
    state.upkeep().await.unwrap();
    let registry = service(&state, a_day(2), &Runs::default());
    assert_eq!(left(&from(&registry, "192.0.2.1").await), [1], "one more is told apart");
    assert_eq!(rows().await, 100_000);
    assert_eq!(left(&from(&registry, "192.0.2.2").await), [1]);
    assert_eq!(left(&from(&registry, "192.0.2.3").await), [0], "the next share what is left");
    assert_eq!(from(&registry, "192.0.2.4").await.code(), Some("QUOTA_EXHAUSTED"));
    assert_eq!(left(&from(&registry, "192.0.2.1").await), [0], "who was told apart still is");
    assert_eq!(left(&call(&registry, "work.once").await), [1], "and so is every caller with an id");
    assert_eq!(rows().await, 100_002);
    let mut reader = QuotaReader::open(folder.path()).await.unwrap();
    let shown = reader.read(hands.wall(), None).await.unwrap();
    let others: Vec<_> = shown.iter().filter(|record| record.address.as_deref() == Some("others")).collect();
    assert_eq!(others.iter().map(|record| record.used).collect::<Vec<_>>(), [2]);
    // Upkeep leaves the day that runs alone, and makes room of the one that is over.
    state.upkeep().await.unwrap();
    assert_eq!(rows().await, 100_002);
    hands.pass(HOUR);
    for _ in 0..60 {
        state.upkeep().await.unwrap();
    }
    let left_over = rows().await;
    assert!((49_000..=50_001).contains(&left_over), "no more than need be: {left_over}");
    for peer in ["192.0.2.5", "192.0.2.6"] {
        assert_eq!(left(&from(&registry, peer).await), [1], "{peer}");
    }
    state.close().await.unwrap();
}

#[tokio::test]
async fn a_count_that_never_renews_is_damage_and_told() {
    let folder = tempfile::tempdir().unwrap();
    open_state(folder.path()).await.close().await.unwrap();
    let damaged = "INSERT INTO quotas VALUES ('ada', '*', 'day', 0, 9223372036854775807, 1, 2)";
    sqlx::query(damaged).execute(&mut other(folder.path()).await).await.unwrap();
    let mut reader = QuotaReader::open(folder.path()).await.unwrap();
    assert!(reader.read(std::time::SystemTime::now(), None).await.is_err());
}

#[tokio::test]
async fn while_nothing_can_be_counted_no_call_runs() {
    let folder = tempfile::tempdir().unwrap();
    let (state, runs) = (open_state(folder.path()).await, Runs::default());
    // Without the audit, which would refuse them too.
    let registry = built(&runs).with_layers(Layers::new().limit(a_day(9)).quotas(state.quotas()));
    assert!(call(&registry, "work.once").await.is_ok() && registry.is_ready());
    let mut somebody = other(folder.path()).await;
    sqlx::query("BEGIN EXCLUSIVE").execute(&mut somebody).await.unwrap();
    for _ in 0..3 {
        let refused = call(&registry, "work.once").await;
        assert_eq!((refused.code(), details(&refused)), (Some("OVERLOADED"), json!({"state": "unwritable"})));
    }
    sqlx::query("COMMIT").execute(&mut somebody).await.unwrap();
    assert_eq!((runs.get(), used(folder.path()).await), (1, 1));
    // What was refused has been given back.
    assert_eq!(left(&call(&registry, "work.once").await), [7]);
    state.close().await.unwrap();
    let refused = call(&registry, "work.once").await;
    assert_eq!((refused.code(), registry.is_ready()), (Some("OVERLOADED"), false));
}

#[tokio::test]
async fn a_call_that_is_called_off_while_it_is_counted_counts_for_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (state, runs) = (open_state(folder.path()).await, Runs::default());
    let registry = built(&runs).with_layers(Layers::new().limit(a_day(9)).quotas(state.quotas()));
    assert!(call(&registry, "work.once").await.is_ok());
    let mut somebody = other(folder.path()).await;
    sqlx::query("BEGIN EXCLUSIVE").execute(&mut somebody).await.unwrap();
    {
        let mut counting = std::pin::pin!(call(&registry, "work.once"));
        // It is given to the writer at its first poll, and waits for it; then nobody does.
        assert!(futures_util::poll!(counting.as_mut()).is_pending());
    }
    sqlx::query("COMMIT").execute(&mut somebody).await.unwrap();
    // The writer takes jobs in order: what comes later is counted behind what was taken back, or before it.
    assert!(call(&registry, "work.once").await.is_ok());
    until(|| state.is_open()).await;
    state.upkeep().await.unwrap();
    state.upkeep().await.unwrap();
    assert_eq!((runs.get(), used(folder.path()).await), (2, 2));
    assert_eq!(left(&call(&registry, "work.once").await), [6]);
    state.close().await.unwrap();
}

#[tokio::test]
async fn a_quota_that_nothing_counts_refuses_its_calls() {
    let runs = Runs::default();
    let registry = built(&runs).with_layers(Layers::new().limit(a_day(9)));
    assert_eq!(call(&registry, "work.once").await.code(), Some("OVERLOADED"));
    assert!(!registry.is_ready() && runs.get() == 0);
}
