//! What a declared failure advises never contradicts itself: where a repetition is not safe, nothing leads to one.

use redress::{
    DynamicFailure, Effect, Fail, Kind, Operation, Recovery, Registry, Request,
    contract::{self, FailureDeclaration, Problem, Shape},
};
use serde_json::{Value, json};

use crate::service::{built, ends, query};

const HINT: &str = "Wait a minute, then make the call again.";

/// Every verb that a declared failure can have without looking first.
fn recoveries() -> [(&'static str, Recovery); 6] {
    [
        ("wait", Recovery::wait(HINT)),
        ("fix_input", Recovery::fix_input("", HINT)),
        ("get_access", Recovery::get_access("bank:pay", HINT)),
        ("call", Recovery::call("bank.status", HINT)),
        ("ask_user", Recovery::ask_user(HINT)),
        ("stop", Recovery::stop(HINT)),
    ]
}

fn declared(shape: Shape, retryable: bool, effect: Effect, recovery: &Recovery) -> contract::OperationDeclaration {
    let failure = FailureDeclaration::new("BANK_SILENT", Kind::Unavailable)
        .with_when("The bank did not answer.")
        .with_retryable(retryable)
        .with_effect(effect)
        .with_details(
            json!({"type": "object", "properties": {"wait_ms": {"type": "integer"}}, "required": ["wait_ms"]}),
        )
        .with_recovery(recovery.clone());
    // Only where time heals it can it say for how long.
    let failure = if retryable { failure.with_retry_after("wait_ms") } else { failure };
    let operation =
        contract::OperationDeclaration::new("bank.pay", shape).with_input(json!({"type": "object"})).fails(failure);
    let operation = operation.with_access(redress::Access::anyone());
    if shape == Shape::Mutation { operation.with_idempotency_key() } else { operation }
}

/// What a call that ends with the failure is answered with.
async fn told(declaration: contract::OperationDeclaration, key: bool, hint: Option<&'static str>) -> Value {
    let pay = Operation::dynamic(declaration).with_handler(move |_, _| async move {
        let failure = Fail::from(DynamicFailure::new("BANK_SILENT", json!({"wait_ms": 60_000})));
        Err(match hint {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        })
    });
    let harness = built(Registry::builder().add(pay).add(ends(query("bank.status"), || Ok(json!(null)))));
    let request = Request::new(&b"{}"[..]);
    let request = if key { request.with_idempotency_key("pay-7") } else { request };
    harness.send("bank.pay", request).await.json()
}

#[tokio::test]
async fn where_a_repetition_is_not_safe_nothing_that_is_declared_leads_to_one() {
    let mut unsafe_ones = 0;
    for shape in [Shape::Query, Shape::Mutation] {
        for effect in [Effect::None, Effect::Partial, Effect::Unknown] {
            for retryable in [true, false] {
                for (verb, recovery) in recoveries() {
                    for key in [false, shape == Shape::Mutation] {
                        let answer = told(declared(shape, retryable, effect, &recovery), key, None).await;
                        let unsafe_one = retryable && !key && shape == Shape::Mutation && effect != Effect::None;
                        let about = format!("{shape:?} {effect:?} {retryable} {verb} {key}: {answer}");
                        assert_eq!(answer["retry"] == "unsafe", unsafe_one, "{about}");
                        unsafe_ones += usize::from(unsafe_one);
                        let repeats = ["wait", "fix_input", "get_access"].contains(&verb);
                        let (said, hint) =
                            if unsafe_one && repeats { ("ask_user", Problem::FIND_OUT) } else { (verb, HINT) };
                        assert_eq!(
                            (&answer["recovery"]["verb"], &answer["hint"]),
                            (&json!(said), &json!(hint)),
                            "{about}"
                        );
                        assert_eq!(answer.get("retry_after_ms").is_some(), retryable && !unsafe_one, "{about}");
                    }
                }
            }
        }
    }
    assert_eq!(unsafe_ones, 12);
}

#[tokio::test]
async fn what_a_call_site_says_of_this_very_call_stays() {
    let hint = "Ask the bank whether payment 7 has come.";
    let declaration = declared(Shape::Mutation, true, Effect::Unknown, &Recovery::wait(HINT));
    let answer = told(declaration, false, Some(hint)).await;
    assert_eq!((&answer["recovery"]["verb"], &answer["hint"]), (&json!("ask_user"), &json!(hint)));
}
