//! A mutation of which nobody knows whether it took place says how to find out, and what is found out is right.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use redress::{
    DynamicFailure, Effect, Fail, Kind, Operation, Outcome, Registry, Request, Retry, Shown, Verification,
    contract::{self, FailureDeclaration, Problem, RecoveryStep},
    testing::{Harness, assert_failure},
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::service::{built, mutation, query};

type Ended = Outcome<Value, DynamicFailure>;

const HINT: &str = "Look whether the payment is there, and pay again if not.";

fn verification() -> Verification {
    Verification::new("pay.look", "/paid", HINT)
        .is(true)
        .bind("order", "order")
        .bind("shop", "shop")
        .why("see if it is paid")
}

fn of(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// A payment that ends as its input says, after it was made or before.
fn send(done: &Arc<AtomicBool>, verified: bool) -> Operation {
    let unsure = FailureDeclaration::new("BANK_UNSURE", Kind::Unavailable)
        .with_when("The bank did not say whether it took the payment.")
        .with_effect(Effect::Unknown)
        .with_details(of(json!({"order": {"type": "integer"}}), &["order"]))
        .with_recovery(Verification::new("pay.look", "/paid", HINT).is(true).bind("order", "order").into());
    let declaration = mutation("pay.send").with_idempotency_key().with_deadline(Duration::from_secs(1)).fails(unsure);
    let declaration = if verified { declaration.with_verification(verification()) } else { declaration };
    let declaration = declaration
        .with_input(of(
            json!({
                "order": {"type": "integer"}, "shop": {"type": "string"}, "ends": {"type": "string"},
                "pays": {"type": "boolean"}, "note": {"type": "string"},
            }),
            &["order", "ends"],
        ))
        .with_output(json!({"type": "string"}));
    let done = Arc::clone(done);
    Operation::dynamic(declaration).with_handler(move |_, input: Value| {
        let done = Arc::clone(&done);
        async move {
            done.store(input["pays"] == true, Ordering::SeqCst);
            match input["ends"].as_str().unwrap_or_default() {
                "late" | "cancelled" => std::future::pending::<Ended>().await,
                "panic" => panic!("it breaks"),
                "down" => Err(io::Error::from(io::ErrorKind::ConnectionRefused))?,
                "bug" => Err(Fail::contain("something else")),
                "undeclared" => Err(DynamicFailure::new("NOT_DECLARED", json!({})))?,
                "unsure" => Err(DynamicFailure::new("BANK_UNSURE", json!({"order": input["order"]})))?,
                "output" => Ok(json!(7)),
                _ => Ok(json!("paid")),
            }
        }
    })
}

fn look(done: &Arc<AtomicBool>) -> Operation {
    let declaration = query("pay.look")
        .with_input(of(json!({"order": {"type": "integer"}, "shop": {"type": "string"}}), &["order"]))
        .with_output(of(json!({"paid": {"type": "boolean"}}), &["paid"]));
    let done = Arc::clone(done);
    Operation::dynamic(declaration).with_handler(move |_, _| {
        let paid = done.load(Ordering::SeqCst);
        async move { Ok(json!({"paid": paid})) }
    })
}

fn bank(verified: bool) -> (Harness, Arc<AtomicBool>) {
    let done = Arc::default();
    let harness = built(Registry::builder().add(send(&done, verified)).add(look(&done)).check_outputs(true));
    (harness, done)
}

fn input(ends: &str, pays: bool) -> Value {
    json!({"order": 7, "shop": "corner", "ends": ends, "pays": pays})
}

/// The ways in which a call is cut off, each with the code that it ends with.
const CUT_OFF: [(&str, &str); 6] = [
    ("late", "TIMEOUT"),
    ("panic", "INTERNAL"),
    ("bug", "INTERNAL"),
    ("undeclared", "INTERNAL"),
    ("down", "UPSTREAM_UNREACHABLE"),
    ("output", "INVALID_OUTPUT"),
];

async fn problem(harness: &Harness, input: &Value, key: Option<&'static str>) -> Problem {
    let mut request = Request::new(input.to_string().into_bytes());
    if let Some(key) = key {
        request = request.with_idempotency_key(key);
    }
    harness.send("pay.send", request).await.problem().clone()
}

/// Follows the advice of `problem`, as any program can: whether the effect took place.
async fn follow(harness: &Harness, problem: &Problem) -> bool {
    let Some(RecoveryStep::Verify { operation, done }) = &problem.recovery else { panic!("{:?}", problem.recovery) };
    let [next] = &problem.next_actions[..] else { panic!("{:?}", problem.next_actions) };
    assert_eq!(&next.operation, operation);
    let answer = harness.send(next.operation.as_str(), Request::new(next.input.get().as_bytes())).await;
    done.shown_by(&answer.output())
}

#[tokio::test(start_paused = true)]
async fn a_mutation_that_is_cut_off_says_how_to_find_out_whether_it_took_place() {
    let (harness, _) = bank(true);
    for (ends, code) in CUT_OFF {
        for pays in [true, false] {
            let problem = problem(&harness, &input(ends, pays), None).await;
            assert_eq!((problem.code.as_str(), problem.effect), (code, Effect::Unknown), "{ends}");
            assert_eq!((problem.retry, problem.retryable), (Retry::AfterVerify, false), "{ends}");
            assert_eq!((&*problem.hint, problem.retry_after_ms), (HINT, None), "{ends}");
            assert_eq!(
                serde_json::to_value(&problem.recovery).unwrap(),
                json!({"verb": "verify", "operation": "pay.look", "done": {"pointer": "/paid", "is": true}})
            );
            assert_eq!(
                serde_json::to_value(&problem.next_actions).unwrap(),
                json!([{"operation": "pay.look", "input": {"order": 7, "shop": "corner"}, "why": "see if it is paid"}])
            );
            assert_eq!(follow(&harness, &problem).await, pays, "{ends}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_look_is_told_of_inputs_up_to_a_size() {
    let (harness, _) = bank(true);
    for (note, told) in [(12 * 1024, 1), (16 * 1024, 0)] {
        let mut long = input("late", true);
        long["note"] = "x".repeat(note).into();
        assert_eq!(problem(&harness, &long, None).await.next_actions.len(), told, "{note} bytes");
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_way_to_find_out_the_advice_is_what_it_was() {
    let (harness, _) = bank(false);
    for (ends, code) in CUT_OFF {
        let problem = problem(&harness, &input(ends, true), None).await;
        let expected = if matches!(code, "TIMEOUT" | "UPSTREAM_UNREACHABLE") { Retry::Unsafe } else { Retry::Never };
        assert_eq!((problem.code.as_str(), problem.retry), (code, expected), "{ends}");
        assert!(problem.next_actions.is_empty() && !matches!(problem.recovery, Some(RecoveryStep::Verify { .. })));
    }
}

#[tokio::test(start_paused = true)]
async fn with_a_key_the_key_comes_first_and_then_the_look() {
    let (harness, _) = bank(true);
    let late = input("late", true);
    let first = problem(&harness, &late, Some("k-1")).await;
    assert_eq!((first.code.as_str(), first.retry), ("TIMEOUT", Retry::SafeWithKey));
    assert!(first.next_actions.is_empty());
    // The repetition learns that nobody knows, and how to find out.
    let second = problem(&harness, &late, Some("k-1")).await;
    assert_eq!((second.code.as_str(), second.retry), ("OUTCOME_UNKNOWN", Retry::AfterVerify));
    assert!(second.hint.starts_with(HINT) && second.hint.contains("a new idempotency key"), "{}", second.hint);
    assert!(follow(&harness, &second).await);
    // What time cannot heal is not worth the same key again.
    let broken = problem(&harness, &input("bug", false), Some("k-2")).await;
    assert_eq!((broken.code.as_str(), broken.retry), ("INTERNAL", Retry::AfterVerify));
    assert!(broken.hint.contains("a new idempotency key") && !follow(&harness, &broken).await);
}

#[tokio::test(start_paused = true)]
async fn what_never_started_has_nothing_to_verify() {
    let (harness, _) = bank(true);
    let late = input("late", true).to_string();
    let request = Request::new(late.as_bytes()).with_deadline(Duration::ZERO);
    let problem = assert_failure!(harness.send("pay.send", request).await, TIMEOUT).clone();
    assert_eq!((problem.retry, problem.effect), (Retry::Safe, Effect::None));
    assert!(problem.next_actions.is_empty());
    let token = CancellationToken::new();
    token.cancel();
    let request = Request::new(late.as_bytes()).with_cancellation(token);
    let problem = assert_failure!(harness.send("pay.send", request).await, CANCELLED).clone();
    assert_eq!(problem.effect, Effect::None);
    assert!(problem.next_actions.is_empty());
    let refused = harness.send("pay.send", Request::new(br#"{"order":"7","ends":"late"}"#.as_slice())).await;
    assert_eq!(assert_failure!(refused, INVALID_INPUT).retry, Retry::AfterFix);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_while_it_runs_says_how_to_find_out() {
    let (harness, _) = bank(true);
    let token = CancellationToken::new();
    let late = input("cancelled", true).to_string();
    let request = Request::new(late.as_bytes()).with_cancellation(token.clone());
    let (answer, ()) = tokio::join!(harness.send("pay.send", request), async {
        tokio::task::yield_now().await;
        token.cancel();
    });
    let problem = assert_failure!(answer, CANCELLED).clone();
    assert_eq!((problem.retry, problem.effect), (Retry::AfterVerify, Effect::Unknown));
    assert!(follow(&harness, &problem).await);
}

#[tokio::test]
async fn a_declared_failure_says_how_to_find_out_from_its_details() {
    let (harness, _) = bank(false);
    for pays in [true, false] {
        let problem = problem(&harness, &input("unsure", pays), None).await;
        assert_eq!(
            (problem.code.as_str(), problem.retry, problem.retryable),
            ("BANK_UNSURE", Retry::AfterVerify, false)
        );
        assert_eq!(follow(&harness, &problem).await, pays);
    }
    let keyed = problem(&harness, &input("unsure", true), Some("k")).await;
    assert_eq!((keyed.retry, keyed.retryable), (Retry::SafeWithKey, true));
}

/// The bank on a face that does not show how to look.
fn unseen(verified: bool) -> Harness {
    let (harness, _) = bank(verified);
    let shown = |operation: &contract::OperationDeclaration| match operation.name().as_str() {
        "pay.look" => Shown::No,
        _ => Shown::Callable,
    };
    Harness::new(harness.registry().view(shown))
}

#[tokio::test(start_paused = true)]
async fn who_cannot_look_is_told_what_is_told_where_there_is_nothing_to_look_at() {
    let (verified, without) = (unseen(true), bank(false).0);
    for (ends, _) in CUT_OFF {
        let [seen, expected] =
            [problem(&verified, &input(ends, true), None).await, problem(&without, &input(ends, true), None).await];
        let [seen, expected] = [seen, expected].map(|problem| serde_json::to_value(problem).unwrap());
        assert_eq!(seen, expected, "{ends}");
    }
    // A key that is lost, too.
    for key in ["k", "k"] {
        let [seen, expected] = [
            problem(&verified, &input("late", true), Some(key)).await,
            problem(&without, &input("late", true), Some(key)).await,
        ];
        assert_eq!((seen.retry, &seen.hint, &seen.recovery), (expected.retry, &expected.hint, &expected.recovery));
    }
}

#[tokio::test]
async fn a_declared_way_to_find_out_is_taken_back_whole_from_who_cannot_go_it() {
    let harness = unseen(false);
    let plain = problem(&harness, &input("unsure", true), None).await;
    assert_eq!((plain.code.as_str(), plain.retry, plain.retryable), ("BANK_UNSURE", Retry::Unsafe, false));
    assert_eq!((plain.recovery, plain.next_actions.is_empty()), (Some(RecoveryStep::AskUser), true));
    assert_eq!(&*plain.hint, "Find out what the call has done before you make it again.");
    let keyed = problem(&harness, &input("unsure", true), Some("k")).await;
    assert_eq!((keyed.retry, keyed.retryable), (Retry::SafeWithKey, true));
    assert_eq!(&*keyed.hint, "Make the same call again with the same idempotency key.");
    // What time cannot heal is not worth making again.
    let lost = FailureDeclaration::new("RECEIPT_LOST", Kind::Conflict)
        .with_when("The receipt was lost on its way.")
        .with_effect(Effect::Unknown)
        .with_details(of(json!({"order": {"type": "integer"}}), &["order"]))
        .with_recovery(Verification::new("pay.look", "/paid", HINT).is(true).bind("order", "order").into());
    let lose = Operation::dynamic(mutation("pay.lose").fails(lost))
        .with_handler(|_, _: Value| async { Err(DynamicFailure::new("RECEIPT_LOST", json!({"order": 7})))? });
    let seen = built(Registry::builder().add(lose).add(look(&Arc::default())));
    assert_eq!(seen.call("pay.lose", json!({})).await.problem().retry, Retry::AfterVerify);
    let shown = |operation: &contract::OperationDeclaration| match operation.name().as_str() {
        "pay.look" => Shown::No,
        _ => Shown::Callable,
    };
    let unseen = Harness::new(seen.registry().view(shown));
    assert_eq!(unseen.call("pay.lose", json!({})).await.problem().retry, Retry::Never);
}

#[tokio::test(start_paused = true)]
async fn members_that_the_caller_left_out_are_left_out_of_the_look() {
    let (harness, _) = bank(true);
    let problem = problem(&harness, &json!({"ends": "late", "order": 7}), None).await;
    assert_eq!(problem.next_actions[0].input.get(), r#"{"order":7}"#);
    assert!(!follow(&harness, &problem).await);
}

#[tokio::test(start_paused = true)]
async fn an_input_that_is_too_large_to_be_told_again_is_not() {
    let (harness, _) = bank(true);
    let mut large = input("late", true);
    large["note"] = json!("x".repeat(17 * 1024));
    let problem = problem(&harness, &large, None).await;
    assert_eq!((problem.code.as_str(), problem.retry), ("TIMEOUT", Retry::Unsafe));
    assert!(problem.next_actions.is_empty());
}

#[test]
fn a_declaration_keeps_its_verification_in_a_document() {
    let declaration = contract::OperationDeclaration::mutation("pay.send").with_verification(verification());
    let written = serde_json::to_value(&declaration).unwrap();
    assert_eq!(
        written["verify"],
        json!({
            "operation": "pay.look", "bind": [{"field": "order", "from": "order"}, {"field": "shop", "from": "shop"}],
            "why": "see if it is paid", "done": {"pointer": "/paid", "is": true}, "hint": HINT,
        })
    );
    assert_eq!(serde_json::from_value::<contract::OperationDeclaration>(written).unwrap(), declaration);
}
