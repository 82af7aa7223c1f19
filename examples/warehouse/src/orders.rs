//! What can be asked of orders.

use redress::{Failure, Outcome, State, data, operation};

use crate::{Store, stock::ItemFailure};

/// So many of one article.
#[data]
#[derive(Clone, Debug)]
pub struct Line {
    /// The name of the article.
    #[schemars(length(min = 1, max = 40))]
    pub sku: String,
    /// How many of it.
    #[schemars(range(min = 1, max = 10_000))]
    pub count: i32,
}

#[data]
pub struct Place {
    /// The customer's own name for this order, by which it is found again.
    #[schemars(length(min = 1, max = 60))]
    reference: String,
    /// What is ordered.
    #[schemars(length(min = 1, max = 50))]
    lines: Vec<Line>,
}

#[data]
pub struct Placed {
    /// The number of the order.
    id: i64,
    /// The customer's own name for it.
    reference: String,
}

#[data]
pub struct Which {
    /// The customer's own name for the order.
    #[schemars(length(min = 1, max = 60))]
    reference: String,
}

/// Where an order is; it answers for those that were never placed, too.
#[data]
pub struct Status {
    /// Whether it was placed.
    placed: bool,
    /// Its number, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<i64>,
}

#[derive(Debug, Failure)]
#[failure(include(ItemFailure))]
pub enum PlaceFailure {
    /// There are fewer than were ordered.
    #[failure(kind = conflict, message = "only {left} of {sku} are left", effect = none,
              recover(call = "stock.get", bind(sku = sku), why = "see how many there are",
                      hint = "Order no more than are left, or wait for the next delivery."))]
    OutOfStock { sku: String, left: i32 },
    /// There is an order of this name already.
    #[failure(kind = conflict, message = "{reference} is taken", effect = none,
              recover(call = "orders.status", bind(reference = reference), why = "see the order that there is",
                      hint = "Look at the order that there is, or give another reference."))]
    ReferenceTaken { reference: String },
    /// Another order is taking the same article just now.
    #[failure(kind = unavailable, retry_after = wait_ms, effect = none,
              recover(wait, hint = "Wait a moment, then place it again."))]
    StockLocked { wait_ms: u64 },
    /// The database did not say whether it kept the order.
    #[failure(kind = unavailable, message = "nobody knows whether {reference} was placed", effect = unknown,
              recover(verify = "orders.status", bind(reference = reference), done = "/placed", is = true,
                      hint = "Look whether the order is there, and place it again if not."))]
    OrderUnconfirmed {
        reference: String,
        #[source]
        cause: sqlx::Error,
    },
}

/// Place an order: all of it is taken from the stock, or nothing.
#[operation(
    mutation,
    name = "orders.place",
    access(scopes = "stock:read orders:write"),
    deadline = "5s",
    idempotency_key,
    verify(query = "orders.status", bind(reference = reference), done = "/placed", is = true,
           hint = "Look whether the order is there, and place it again if not."),
    example(
        input = r#"{"reference": "ada-1", "lines": [{"sku": "lamp", "count": 2}]}"#,
        output = r#"{"id": 1, "reference": "ada-1"}"#
    ),
    example(input = r#"{"reference": "ada-2", "lines": [{"sku": "lamp", "count": 9}]}"#, failure = "OUT_OF_STOCK")
)]
pub async fn place(store: State<Store>, input: Place) -> Outcome<Placed, PlaceFailure> {
    let id = store.place(&input.reference, input.lines).await?;
    Ok(Placed { id, reference: input.reference })
}

/// Say whether an order was placed.
#[operation(
    query,
    name = "orders.status",
    access(scopes = "stock:read"),
    example(input = r#"{"reference": "ada-1"}"#, output = r#"{"placed": true, "id": 1}"#),
    example(input = r#"{"reference": "never"}"#, output = r#"{"placed": false}"#)
)]
pub async fn status(store: State<Store>, input: Which) -> Outcome<Status> {
    let id = store.order(&input.reference).await?;
    Ok(Status { placed: id.is_some(), id })
}
