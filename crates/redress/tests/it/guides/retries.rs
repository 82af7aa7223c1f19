//! The code of `docs/retries.md`.

use redress::{
    Failure, Outcome, Registry, data, operation,
    testing::{Harness, assert_failure},
};
use serde_json::json;

#[data]
struct Order {
    order: String,
}

#[data]
struct Payment {
    state: String,
}

#[derive(Debug, Failure)]
enum PayFailure {
    /// The bank did not say whether it took the payment.
    #[failure(kind = unavailable, effect = unknown,
              recover(verify = "payments.get", bind(order = order), done = "/state", is = "paid",
                      hint = "Look at the payment, and pay again if it is not there."))]
    BankSilent { order: String },
}

/// Tell how a payment is doing.
#[operation(query, name = "payments.get", access(anyone))]
async fn get(input: Order) -> Outcome<Payment> {
    Ok(Payment { state: format!("{} is open", input.order) })
}

/// Pay for an order.
#[operation(mutation, name = "payments.send", access(anyone), idempotency_key,
            verify(query = "payments.get", bind(order = order), done = "/state", is = "paid",
                   hint = "Look at the payment, and pay again if it is not there."))]
async fn send(input: Order) -> Outcome<(), PayFailure> {
    Err(PayFailure::BankSilent { order: input.order })?
}

#[tokio::test]
async fn who_cannot_know_is_told_how_to_find_out() {
    let anyone = Harness::new(Registry::builder().add(get).add(send).build().unwrap());
    let answer = anyone.call("payments.send", json!({"order": "o-1"})).await;
    let problem = assert_failure!(answer, BANK_SILENT);
    assert_eq!(problem.retry, redress::Retry::AfterVerify);
    assert_eq!(problem.next_actions[0].operation.as_str(), "payments.get");
}
