//! Access by what is asked for: the check of an operation, wherever a call comes from.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use redress::{
    Access, Builder, Caller, Conversation, Ctx, DynamicFailure, Events, Failure, Kind, Nothing, Operation, Outcome,
    Registry, Request, State, Turn, check,
    contract::EngineCode,
    data, operation,
    testing::{Canary, Harness, assert_failure, assert_ok},
};
use serde_json::{Value, json};

use crate::{
    limited::Count,
    service::{built, failure, mutation, query, registry, with},
};

/// Whose each ticket is, and how often a handler has run.
#[derive(Default)]
struct Tickets {
    owners: Mutex<HashMap<String, String>>,
    runs: AtomicUsize,
}

impl Tickets {
    fn of(pairs: &[(&str, &str)]) -> Tickets {
        let owners = pairs.iter().map(|(ticket, owner)| ((*ticket).to_owned(), (*owner).to_owned())).collect();
        Tickets { owners: Mutex::new(owners), runs: AtomicUsize::new(0) }
    }

    fn owner(&self, ticket: &str) -> Option<String> {
        self.owners.lock().unwrap().get(ticket).cloned()
    }

    fn give(&self, ticket: &str, owner: &str) {
        self.owners.lock().unwrap().insert(ticket.to_owned(), owner.to_owned());
    }
}

#[data]
struct Get {
    ticket: String,
}

#[data]
struct Close {
    ticket: String,
    #[serde(default)]
    reason: String,
}

/// What names a ticket.
trait OfTicket: Sync {
    fn ticket(&self) -> &str;
}

impl OfTicket for Get {
    fn ticket(&self) -> &str {
        &self.ticket
    }
}

impl OfTicket for Close {
    fn ticket(&self) -> &str {
        &self.ticket
    }
}

#[derive(Debug, Failure)]
enum TicketFailure {
    /// There is no such ticket.
    #[failure(kind = not_found, message = "no ticket {ticket}", effect = unknown,
              recover(fix_input = "/ticket", hint = "Give the number of a ticket of yours."))]
    TicketUnknown { ticket: String },
}

/// Answers FORBIDDEN to whoever does not own the ticket; what is not there is for the handler to say.
#[check]
async fn owns<T: OfTicket>(caller: &Caller, tickets: State<Arc<Tickets>>, input: &T) -> Outcome<bool> {
    Ok(tickets.owner(input.ticket()).is_none_or(|owner| owner == caller.id() || caller.has("tickets:any")))
}

/// Tells nobody what there is of others'.
#[check]
async fn sees(caller: &Caller, tickets: State<Arc<Tickets>>, input: &Close) -> Outcome<bool, TicketFailure> {
    if tickets.owner(&input.ticket).is_some_and(|owner| owner != caller.id()) {
        Err(TicketFailure::TicketUnknown { ticket: input.ticket.clone() })?;
    }
    Ok(true)
}

/// Read a ticket.
#[operation(query, name = "tickets.get", access(scopes = "tickets:read", check = owns))]
async fn get(tickets: State<Arc<Tickets>>, input: Get) -> Outcome<String, TicketFailure> {
    tickets.runs.fetch_add(1, Ordering::SeqCst);
    match tickets.owner(&input.ticket) {
        Some(owner) => Ok(format!("a ticket of {owner}")),
        None => Err(TicketFailure::TicketUnknown { ticket: input.ticket })?,
    }
}

/// Close a ticket.
#[operation(mutation, name = "tickets.close", access(check = sees), idempotency_key)]
async fn close(tickets: State<Arc<Tickets>>, input: Close) -> Outcome<usize, TicketFailure> {
    match tickets.owner(&input.ticket) {
        Some(_) => Ok(tickets.runs.fetch_add(1, Ordering::SeqCst) + input.reason.len()),
        None => Err(TicketFailure::TicketUnknown { ticket: input.ticket })?,
    }
}

/// Follow a ticket.
#[operation(subscription, name = "tickets.follow", access(check = owns))]
async fn follow(tickets: State<Arc<Tickets>>, input: Get) -> Outcome<Events<String, TicketFailure>, TicketFailure> {
    tickets.runs.fetch_add(1, Ordering::SeqCst);
    Ok(Events::new(futures_util::stream::iter([Ok(input.ticket)])))
}

/// Read a ticket with the authority of the desk.
#[operation(query, name = "desk.read", calls("tickets.get"), authority("tickets:read"))]
async fn desk_read(ctx: &Ctx, input: Get) -> Outcome<String> {
    Ok(ended(ctx.call(&get, input).await))
}

/// Read a ticket with the authority of the desk, which may see all of them.
#[operation(query, name = "desk.audit", calls("tickets.get"), authority("tickets:read tickets:any"))]
async fn desk_audit(ctx: &Ctx, input: Get) -> Outcome<String> {
    Ok(ended(ctx.call(&get, input).await))
}

/// Read a ticket as whoever asks.
#[operation(query, name = "desk.relay", access(scopes = "tickets:read"), calls("tickets.get"), authority(caller))]
async fn desk_relay(ctx: &Ctx, input: Get) -> Outcome<String> {
    Ok(ended(ctx.call(&get, input).await))
}

fn ended(called: Result<String, redress::CallFailed<TicketFailure>>) -> String {
    called.unwrap_or_else(|called| called.code().to_owned())
}

fn desk(tickets: &Arc<Tickets>) -> Builder {
    Registry::builder()
        .state(Arc::clone(tickets))
        .add(get)
        .add(close)
        .add(follow)
        .add(desk_read)
        .add(desk_audit)
        .add(desk_relay)
}

/// One ticket, of ada's, and a harness that calls as `who`.
fn asked_by(who: &str) -> (Arc<Tickets>, Harness) {
    let tickets = Arc::new(Tickets::of(&[("t-1", "ada")]));
    let harness = built(desk(&tickets)).as_caller(Caller::new(who).scope("tickets:read"));
    (tickets, harness)
}

/// The envelope without what differs from call to call.
fn told(answer: &redress::testing::CallAnswer) -> Value {
    let mut told = answer.json();
    told["_meta"].take();
    told
}

#[tokio::test]
async fn who_may_not_have_it_is_forbidden_and_the_handler_does_not_run() {
    let (tickets, ada) = asked_by("ada");
    assert_ok!(ada.call("tickets.get", json!({"ticket": "t-1"})).await);
    assert_eq!(tickets.runs.load(Ordering::SeqCst), 1);
    let eve = ada.as_caller(Caller::new("eve").scope("tickets:read"));
    let refused = eve.call("tickets.get", json!({"ticket": "t-1"})).await;
    let problem = assert_failure!(refused, FORBIDDEN);
    assert_eq!((problem.http, problem.effect), (403, redress::Effect::None));
    assert_eq!(refused.details(), json!({"check": "refused"}));
    assert_eq!(refused.json()["recovery"], json!({"verb": "ask_user"}), "no scope would help");
    assert!(!String::from_utf8_lossy(&refused.bytes()).contains("t-1"), "what was asked for is not told");
    assert_eq!(tickets.runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn what_is_hidden_is_the_same_to_the_last_member_as_what_does_not_exist() {
    // The failure declares that its effect is unknown, which only a handler that had started can say: the difference must
    // not tell which of the two it was.
    let (_, eve) = asked_by("eve");
    for key in [None, Some("a")] {
        let answer = async |ticket: &str, key: Option<&str>| {
            let answer = closed(&eve, ticket, key.map(|key| format!("{key}-{ticket}"))).await;
            assert_failure!(answer, TICKET_UNKNOWN);
            serde_json::to_string(&told(&answer)).unwrap().replace(ticket, "…")
        };
        assert_eq!(answer("t-1", key).await, answer("t-2", key).await, "{key:?}");
    }
}

async fn closed(harness: &Harness, ticket: &str, key: Option<String>) -> redress::testing::CallAnswer {
    let mut request = Request::new(json!({"ticket": ticket}).to_string().into_bytes());
    if let Some(key) = key {
        request = request.with_idempotency_key(key);
    }
    harness.send("tickets.close", request).await
}

#[tokio::test]
async fn what_is_hidden_is_the_same_to_quotas_and_keys_as_what_does_not_exist() {
    // Everything that a caller can see from outside, of a ticket that is another's and of one that is not there.
    let seen = async |ticket: &str| {
        let count = Count::default();
        let tickets = Arc::new(Tickets::of(&[("t-1", "ada")]));
        let builder = desk(&tickets).limit(count.clone()).quotas(count.clone());
        let eve = built(builder).as_caller(Caller::new("eve"));
        let mut seen = Vec::new();
        // Without a key; with one; with the same once more; and with the same for another ticket.
        for (ticket, key) in [(ticket, None), (ticket, Some("k")), (ticket, Some("k")), ("t-3", Some("k"))] {
            let answer = closed(&eve, ticket, key.map(str::to_owned)).await;
            let left: Vec<u64> = answer.envelope().allowances().iter().map(|left| left.remaining).collect();
            let told = serde_json::to_string(&told(&answer)).unwrap().replace(ticket, "…");
            seen.push((answer.code().map(str::to_owned), told, left, count.spent()));
        }
        assert_eq!(tickets.runs.load(Ordering::SeqCst), 0);
        seen
    };
    let (hidden, missing) = (seen("t-1").await, seen("t-2").await);
    assert_eq!(hidden, missing);
    let codes: Vec<_> = missing.iter().filter_map(|(code, ..)| code.as_deref()).collect();
    assert_eq!(codes, ["TICKET_UNKNOWN", "TICKET_UNKNOWN", "TICKET_UNKNOWN", "IDEMPOTENCY_CONFLICT"]);
    let counted: Vec<_> = missing.iter().map(|(_, _, left, spent)| (left.clone(), *spent)).collect();
    assert_eq!(counted, [(vec![99], 1), (vec![98], 2), (vec![], 2), (vec![], 2)]);
}

/// Refuses everything.
struct Closed;

impl redress::Guard for Closed {
    fn name(&self) -> &str {
        "closed"
    }

    fn failures(&self) -> Vec<redress::contract::FailureDeclaration> {
        vec![failure("SHOP_CLOSED", Kind::Forbidden)]
    }

    fn check<'a>(
        &'a self,
        _: &'a redress::GuardedCall<'a>,
    ) -> futures_util::future::BoxFuture<'a, Result<Option<redress::Veto>, redress::GuardBroken>> {
        Box::pin(std::future::ready(Ok(Some(redress::Veto::new("SHOP_CLOSED", json!({}))))))
    }
}

#[tokio::test]
async fn what_is_hidden_is_the_same_to_a_guard_as_what_does_not_exist() {
    let tickets = Arc::new(Tickets::of(&[("t-1", "ada")]));
    let eve = built(desk(&tickets).guard(Closed)).as_caller(Caller::new("eve"));
    let [hidden, missing] = [closed(&eve, "t-1", None).await, closed(&eve, "t-2", None).await];
    let problem = assert_failure!(hidden, SHOP_CLOSED);
    assert_eq!(problem.effect, redress::Effect::None, "nothing has run");
    assert_eq!(told(&hidden), told(&missing));
}

/// Follow a ticket, of which nobody but its owner knows.
#[operation(subscription, name = "tickets.watch", access(check = sees))]
async fn watch(tickets: State<Arc<Tickets>>, input: Close) -> Outcome<Events<String, TicketFailure>, TicketFailure> {
    match tickets.owner(&input.ticket) {
        Some(_) => Ok(Events::new(futures_util::stream::iter([Ok(input.ticket)]))),
        None => Err(TicketFailure::TicketUnknown { ticket: input.ticket })?,
    }
}

#[tokio::test]
async fn a_stream_of_what_is_hidden_is_counted_like_one_of_what_does_not_exist() {
    for ticket in ["t-1", "t-2"] {
        let count = Count::default();
        let tickets = Arc::new(Tickets::of(&[("t-1", "ada")]));
        let builder = Registry::builder().state(Arc::clone(&tickets)).add(watch);
        let eve = built(builder.limit(count.clone()).quotas(count.clone())).as_caller(Caller::new("eve"));
        let request = Request::new(json!({"ticket": ticket}).to_string().into_bytes());
        let refused = eve.open("tickets.watch", request).await.unwrap_err();
        assert_eq!(refused.code(), Some("TICKET_UNKNOWN"));
        assert_eq!((refused.problem().unwrap().effect, count.spent()), (redress::Effect::Unknown, 1), "{ticket}");
    }
}

#[tokio::test]
async fn scopes_come_before_the_check_and_the_schema_too() {
    let (_, ada) = asked_by("ada");
    let unscoped = ada.as_caller(Caller::new("eve"));
    let refused = unscoped.call("tickets.get", json!({"ticket": "t-1"})).await;
    assert_eq!(refused.details(), json!({"missing": ["tickets:read"], "one_is_enough": false}));
    let eve = ada.as_caller(Caller::new("eve").scope("tickets:read"));
    assert_failure!(eve.call("tickets.get", json!({"tickt": "t-1"})).await, INVALID_INPUT);
}

#[tokio::test]
async fn a_large_input_is_checked_too() {
    let (tickets, eve) = asked_by("eve");
    let input = json!({"ticket": "t-1", "reason": "x".repeat(300_000)});
    assert_failure!(eve.call("tickets.close", &input).await, TICKET_UNKNOWN);
    assert_eq!(tickets.runs.load(Ordering::SeqCst), 0);
    let ada = eve.as_caller(Caller::new("ada"));
    assert_eq!(ada.call("tickets.close", &input).await.output::<usize>(), 300_000);
}

#[tokio::test]
async fn a_stream_is_not_opened_for_who_may_not_have_it() {
    let (tickets, eve) = asked_by("eve");
    assert_failure!(eve.subscribe("tickets.follow", json!({"ticket": "t-1"})).await, FORBIDDEN);
    assert_eq!(tickets.runs.load(Ordering::SeqCst), 0);
    let ada = eve.as_caller(Caller::new("ada"));
    assert_eq!(assert_ok!(ada.subscribe("tickets.follow", json!({"ticket": "t-1"})).await), ["t-1"]);
}

#[tokio::test]
async fn a_composed_call_is_checked_as_whom_the_composing_operation_calls_as() {
    let (_, ada) = asked_by("ada");
    let read = async |harness: &Harness, by: &str| harness.call(by, json!({"ticket": "t-1"})).await.output::<String>();
    // The desk itself owns nothing, whoever asks it: an operation lends its scopes, not what is its caller's.
    assert_eq!(read(&ada, "desk.read").await, "FORBIDDEN");
    assert_eq!(read(&ada, "desk.audit").await, "a ticket of ada");
    assert_eq!(read(&ada, "desk.relay").await, "a ticket of ada");
    let eve = ada.as_caller(Caller::new("eve").scope("tickets:read"));
    assert_eq!(read(&eve, "desk.read").await, "FORBIDDEN");
    assert_eq!(read(&eve, "desk.relay").await, "FORBIDDEN");
}

#[tokio::test]
async fn a_kept_outcome_is_not_repeated_to_who_may_not_have_it_any_more() {
    let (tickets, ada) = asked_by("ada");
    let close = || {
        let request = Request::new(br#"{"ticket":"t-1"}"#).with_idempotency_key("k");
        ada.send("tickets.close", request)
    };
    assert_eq!(close().await.output::<usize>(), 0);
    assert_eq!(close().await.output::<usize>(), 0, "the outcome is kept");
    tickets.give("t-1", "bob");
    assert_failure!(close().await, TICKET_UNKNOWN);
    tickets.give("t-1", "ada");
    assert_eq!(close().await.output::<usize>(), 0, "the refusal has not taken its place");
    assert_eq!(tickets.runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn every_round_of_a_call_that_asks_is_checked() {
    let (tickets, ada) = asked_by("ada");
    let round = |conversation| {
        let request = Request::new(br#"{"ticket":"t-1"}"#).with_caller(Caller::new("ada").scope("tickets:read"));
        ada.registry().converse("tickets.get", request, conversation)
    };
    let Turn::Ended(envelope) = round(Conversation::new([])).await else { panic!("it asks nothing") };
    assert_eq!(envelope.code(), None);
    tickets.give("t-1", "bob");
    let Turn::Ended(envelope) = round(Conversation::new([])).await else { panic!("it asks nothing") };
    assert_eq!(envelope.code(), Some("FORBIDDEN"));
}

/// Tells the anonymous from the others.
#[check]
async fn is_public(caller: Option<&Caller>, input: &Get) -> Outcome<bool> {
    Ok(caller.is_some() || input.ticket.starts_with("public"))
}

/// Show a ticket to anyone.
#[operation(query, name = "tickets.show", access(anyone, check = is_public))]
async fn show(input: Get) -> Outcome<String> {
    Ok(input.ticket)
}

#[tokio::test]
async fn an_open_operation_may_tell_the_anonymous_from_the_others() {
    let harness = Harness::new(registry(Registry::builder().add(show)));
    assert_failure!(harness.call("tickets.show", json!({"ticket": "t-1"})).await, FORBIDDEN);
    assert_ok!(harness.call("tickets.show", json!({"ticket": "public-1"})).await);
    assert_ok!(harness.as_caller(Caller::new("ada")).call("tickets.show", json!({"ticket": "t-1"})).await);
}

/// An operation with a check that ends like this, and what it must not let out.
fn with_check<F, R>(check: F) -> Harness
where
    F: Fn(Ctx, Value) -> R + Send + Sync + 'static,
    R: Future<Output = Outcome<bool, DynamicFailure>> + Send + 'static,
{
    let declaration = mutation("tickets.close").fails(failure("TICKET_UNKNOWN", Kind::NotFound));
    let operation = Operation::dynamic(declaration).with_handler(async |_, _| Ok(json!("the handler ran")));
    with(operation.with_check(&["TICKET_UNKNOWN"], check))
}

#[tokio::test]
async fn a_check_that_cannot_tell_refuses_and_says_nothing() {
    let canary = Canary::new();
    let secret = canary.plant("the cause in a check");
    let (text, panic, undeclared) = (secret.clone(), secret.clone(), secret.clone());
    let cases = [
        with_check(move |_, _| std::future::ready(Err(redress::Fail::contain(text.clone())))),
        with_check(move |_, _| {
            let panic = panic.clone();
            async move { panic!("{panic}") }
        }),
        with_check(move |_, _| {
            let details = json!({"secret": undeclared.clone()});
            async move { Err(DynamicFailure::new("NOT_DECLARED", details))? }
        }),
    ];
    for harness in cases {
        let answer = harness.call("tickets.close", json!({})).await;
        let problem = assert_failure!(answer, INTERNAL);
        assert_eq!(problem.effect, redress::Effect::None, "the handler had not begun");
        canary.check("the envelope", answer.bytes());
    }
    canary.assert_clean();
}

#[tokio::test]
async fn a_panic_before_the_check_gives_its_future_is_contained_too() {
    let harness = with_check(|_, _| -> std::future::Ready<Outcome<bool, DynamicFailure>> { panic!("early") });
    assert_failure!(harness.call("tickets.close", json!({})).await, INTERNAL);
}

#[tokio::test]
async fn what_a_check_leans_on_may_be_down_and_nothing_has_run_then() {
    let harness = with_check(|_, _| async { Err(std::io::Error::from(std::io::ErrorKind::ConnectionRefused))? });
    let problem = assert_failure!(harness.call("tickets.close", json!({})).await, UPSTREAM_UNREACHABLE);
    assert_eq!((problem.effect, problem.retryable), (redress::Effect::None, true));
}

#[tokio::test(start_paused = true)]
async fn a_check_has_no_more_time_than_its_call() {
    let harness = with_check(|_, _| std::future::pending());
    let request = Request::new(b"{}").with_deadline(Duration::from_millis(50));
    let problem = assert_failure!(harness.send("tickets.close", request).await, TIMEOUT);
    assert_eq!(problem.effect, redress::Effect::None, "the handler had not begun");
}

#[tokio::test]
async fn completion_asks_the_operation_that_completes_and_not_the_check() {
    // There is no whole input yet that a check could look at; what completes shows what its own caller may see.
    let strings = json!({"type": "array", "items": {"type": "string"}});
    let like = Operation::dynamic(query("tickets.like").with_access(Access::caller()).with_output(strings))
        .with_handler(|_, _| async { Ok(json!(["t-1"])) })
        .with_check(&[], |ctx, _| async move { Ok(ctx.caller().is_some_and(|caller| caller.id() == "ada")) });
    let read = query("tickets.read")
        .with_access(Access::caller())
        .with_input(json!({"type": "object", "properties": {"ticket": {"type": "string"}}}))
        .with_completion("ticket", "tickets.like");
    let read = Operation::dynamic(read)
        .with_handler(|_, _| async { Ok(Value::Null) })
        .with_check(&[], |_, _| async { Ok(false) });
    let registry = registry(Registry::builder().add(like).add(read));
    let complete = async |who: &str| {
        let request = Request::default().with_caller(Caller::new(who));
        registry.complete("tickets.read", "ticket", "t", &BTreeMap::new(), request).await
    };
    assert_eq!(complete("ada").await.unwrap().values, ["t-1"]);
    // Why it does not is none of the endings of what is completed, and is not told.
    let refused = complete("eve").await.unwrap_err();
    assert_eq!((refused.code(), refused.problem().unwrap().details.is_none()), (Some("INTERNAL"), true));
}

#[tokio::test]
async fn the_contract_says_that_there_is_a_check_and_discovery_shows_the_operation() {
    let (_, eve) = asked_by("eve");
    let declared = eve.registry().operation("tickets.get").unwrap();
    assert!(declared.access().is_checked());
    assert_eq!(serde_json::to_value(declared.access()).unwrap(), json!({"all": ["tickets:read"], "check": true}));
    // Whether it lets this caller have anything is only known with an input.
    let eve = Caller::new("eve").scope("tickets:read");
    let registry = registry(desk(&Arc::default()));
    assert!(registry.open_to(Some(&eve)).any(|operation| operation.name().as_str() == "tickets.get"));
    assert!(EngineCode::Forbidden.declaration().when().contains("what the call asks for"));
}

#[test]
fn the_state_of_a_check_is_proved_when_the_registry_is_built() {
    /// Looks at state that nobody gives.
    #[check]
    async fn counts(_seen: State<u128>, _input: &Nothing) -> Outcome<bool> {
        Ok(true)
    }

    /// Answer.
    #[operation(query, name = "net.ping", access(check = counts))]
    async fn ping() -> Outcome<String> {
        Ok("pong".to_owned())
    }

    let error = Registry::builder().add(ping).build().unwrap_err();
    assert_eq!(error.findings()[0].rule(), "no-state", "{error}");
}
