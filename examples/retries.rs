//! A payment whose call is cut off: was it made? The service says how to find out, and the caller does, without
//! knowing anything of payments.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use redress::{
    Caller, Envelope, Failure, Outcome, Registry, Request, Retry, State,
    contract::{Problem, RecoveryStep},
    data, operation,
};

/// A bank that takes a payment and then does not answer, or does not even take it.
#[derive(Clone, Default)]
pub(crate) struct Bank(Arc<Mutex<Ledger>>);

#[derive(Default)]
struct Ledger {
    paid: BTreeSet<u32>,
    /// What happens to the next payments.
    mishaps: Vec<Mishap>,
}

#[derive(Clone, Copy)]
pub(crate) enum Mishap {
    /// The payment is taken, and the answer is lost.
    AnswerLost,
    /// The payment is lost.
    PaymentLost,
    /// The payment is taken, and the bank says that it does not know.
    Unsure,
}

#[data]
struct Order {
    order: u32,
}

#[data]
struct Payment {
    order: u32,
    paid: bool,
}

#[derive(Debug, Failure)]
enum PayFailure {
    /// The bank does not know whether it took the payment.
    #[failure(kind = unavailable, message = "the bank does not know of order {order}", effect = unknown,
              recover(verify = "payments.get", bind(order = order), done = "/paid", is = true,
                      hint = "Look at the payment, and pay again if it is not there."))]
    BankUnsure { order: u32 },
}

/// Say whether an order is paid.
#[operation(query, name = "payments.get", access(anyone))]
async fn get(bank: State<Bank>, input: Order) -> Outcome<Payment> {
    let ledger = bank.0.0.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Payment { order: input.order, paid: ledger.paid.contains(&input.order) })
}

/// Pay an order.
///
/// A call that is cut off says how to find out whether it took place, whatever cut it off.
#[operation(
    mutation,
    name = "payments.send",
    access(anyone),
    deadline = "50ms",
    verify(
        query = "payments.get",
        bind(order = order),
        done = "/paid",
        is = true,
        hint = "Look at the payment, and pay again if it is not there."
    )
)]
async fn send(bank: State<Bank>, input: Order) -> Outcome<Payment, PayFailure> {
    let order = input.order;
    let mishap = {
        let mut ledger = bank.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mishap = ledger.mishaps.pop();
        if !matches!(mishap, Some(Mishap::PaymentLost)) {
            assert!(ledger.paid.insert(order), "order {order} would be paid twice");
        }
        mishap
    };
    match mishap {
        None => Ok(Payment { order, paid: true }),
        Some(Mishap::Unsure) => Err(PayFailure::BankUnsure { order })?,
        Some(Mishap::AnswerLost | Mishap::PaymentLost) => std::future::pending().await,
    }
}

/// Makes a call until it is known to have taken place, at most three times. What it goes by is in every envelope; a
/// client of any face and in any language can do the same.
async fn make_sure(registry: &Registry, name: &str, input: &[u8]) -> Result<(), Box<Problem>> {
    for _ in 0..3 {
        let Some(problem) = call(registry, name, input).await.into_problem() else { return Ok(()) };
        println!("  {}: {}, retry {}", problem.code, problem.error, problem.retry.as_str());
        match problem.retry {
            Retry::Safe => tokio::time::sleep(Duration::from_millis(problem.retry_after_ms.unwrap_or(10))).await,
            Retry::AfterVerify if was_done(registry, &problem).await? => return Ok(()),
            Retry::AfterVerify => println!("  it was not done, so it is called again"),
            Retry::SafeWithKey | Retry::Unsafe | Retry::AfterFix | Retry::Never => return Err(problem),
        }
    }
    Ok(())
}

/// Finds out whether a call took place. A query that fails shows nothing.
async fn was_done(registry: &Registry, problem: &Problem) -> Result<bool, Box<Problem>> {
    let (Some(RecoveryStep::Verify { done, .. }), [next, ..]) = (&problem.recovery, &problem.next_actions[..]) else {
        return Ok(false);
    };
    println!("  {} {}: done where {done}", next.operation, next.input.get());
    let answer = call(registry, next.operation.as_str(), next.input.get().as_bytes()).await;
    match answer.output().map(serde_json::from_slice) {
        Some(Ok(output)) => Ok(done.shown_by(&output)),
        Some(Err(_)) => Ok(false),
        None => answer.into_problem().map_or(Ok(false), Err),
    }
}

async fn call(registry: &Registry, name: &str, input: &[u8]) -> Envelope {
    registry.call(name, Request::new(input).with_caller(Caller::new("ada"))).await
}

impl Bank {
    /// What happens to the payment that comes next.
    pub(crate) fn next(&self, mishap: Mishap) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).mishaps.push(mishap);
    }
}

pub(crate) fn registry(bank: &Bank) -> Result<Registry, redress::BuildError> {
    Registry::builder().state(bank.clone()).add(get).add(send).build()
}

#[tokio::main]
async fn main() -> Result<(), redress::BuildError> {
    let bank = Bank::default();
    let registry = registry(&bank)?;
    let mishaps = [
        ("the answer is lost", Mishap::AnswerLost),
        ("the payment is lost", Mishap::PaymentLost),
        ("the bank is unsure", Mishap::Unsure),
    ];
    for (order, (what, mishap)) in (1..).zip(mishaps) {
        println!("order {order}: {what}");
        bank.next(mishap);
        match make_sure(&registry, "payments.send", format!(r#"{{"order":{order}}}"#).as_bytes()).await {
            Ok(()) => println!("  paid once"),
            Err(problem) => println!("  given up: {}", problem.hint),
        }
    }
    Ok(())
}
