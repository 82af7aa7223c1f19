//! One operation calls another: within what it declares to reach, and with its own authority.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]
use redress::{Caller, Ctx, Failure, Outcome, Registry, Request, data, operation};

#[data]
struct Of {
    account: String,
}

#[derive(Debug, Failure)]
enum BalanceFailure {
    /// There is no such account.
    #[failure(kind = not_found, message = "no account {account}", effect = none,
              recover(fix_input = "/account", hint = "Give the name of an account that exists."))]
    AccountUnknown { account: String },
}

/// Look up what is in an account.
#[operation(query, name = "ledger.balance", access(scopes = "ledger:read"))]
async fn balance(input: Of) -> Outcome<i64, BalanceFailure> {
    match input.account.as_str() {
        "ada" => Ok(420),
        "bob" => Ok(7),
        _ => Err(BalanceFailure::AccountUnknown { account: input.account }.into()),
    }
}

// The failures of the ledger are included, so `?` lets them pass and every caller of `shop.may_buy`
// finds them in its contract. Left out, they would be contained like any other error.
#[derive(Debug, Failure)]
#[failure(include(BalanceFailure))]
enum BuyFailure {
    /// There is too little in the account.
    #[failure(kind = conflict, message = "{missing} are missing", effect = none,
              recover(ask_user, hint = "Ask whether to pay in another way."))]
    TooLittle { missing: i64 },
}

/// Say whether the price of a chair can be paid.
///
/// It reaches `ledger.balance` and nothing else, and with the scope that it declares: whoever may
/// call it need not be let into the ledger, and whoever is let in gains nothing here.
#[operation(query, name = "shop.may_buy", access(anyone), calls("ledger.balance"), authority("ledger:read"))]
async fn may_buy(ctx: &Ctx, input: Of) -> Outcome<bool, BuyFailure> {
    const PRICE: i64 = 120;
    let held = ctx.call(&balance, input).await?;
    if held < PRICE { Err(BuyFailure::TooLittle { missing: PRICE - held }.into()) } else { Ok(true) }
}

pub(crate) fn registry() -> Result<Registry, redress::BuildError> {
    Registry::builder().add(balance).add(may_buy).build()
}

#[tokio::main]
async fn main() -> Result<(), redress::BuildError> {
    let registry = registry()?;
    let calls = [
        ("shop.may_buy", r#"{"account":"ada"}"#),
        ("shop.may_buy", r#"{"account":"bob"}"#),
        ("shop.may_buy", r#"{"account":"eve"}"#),
        ("ledger.balance", r#"{"account":"ada"}"#),
    ];
    for (operation, input) in calls {
        let guest = Request::new(input.as_bytes()).with_caller(Caller::new("guest"));
        let outcome = registry.call(operation, guest).await;
        println!("{operation} {input}\n{}\n", String::from_utf8_lossy(&outcome.into_bytes()));
    }
    Ok(())
}
