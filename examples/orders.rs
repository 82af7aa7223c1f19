//! A shop's orders, with one operation of each sort, and the whole command around them.
//!
//! ```console
//! $ cargo run --example orders --features cli -- serve
//! $ curl -H 'Authorization: Bearer clerk' 'http://127.0.0.1:7717/ops/orders/find?state=open'
//! $ cargo run --example orders --features cli -- call orders.get '{"id":"o-9"}'
//! ```
use std::{
    collections::BTreeMap,
    process::ExitCode,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::stream;
use redress::{
    CONSENT_GRANT, Caller, Ctx, Events, Failure, IdentityError, IdentityProvider, Outcome, Registry, Secret, State,
    consent_grant, data, operation,
};

#[data]
#[derive(Clone, Copy, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Stage {
    Open,
    Shipped,
    Cancelled,
}

#[data]
#[derive(Clone)]
struct Line {
    #[schemars(regex(pattern = "^[a-z]{3,12}$"))]
    sku: String,
    #[schemars(range(min = 1, max = 100))]
    count: u32,
}

#[data]
#[derive(Clone)]
struct Order {
    id: String,
    lines: Vec<Line>,
    total_cents: u64,
    state: Stage,
}

/// What the shop knows; an operation asks for it by `State<Shop>`.
#[derive(Clone)]
struct Shop(Arc<Mutex<BTreeMap<String, Order>>>);

impl Shop {
    /// The orders, kept small so that the example can run for as long as it likes.
    const MOST: usize = 1000;

    fn open() -> Shop {
        let lines = vec![Line { sku: "lamp".into(), count: 2 }];
        let first = Order { id: "o-1".into(), lines, total_cents: 5000, state: Stage::Open };
        Shop(Arc::new(Mutex::new(BTreeMap::from([(first.id.clone(), first)]))))
    }

    fn orders(&self) -> MutexGuard<'_, BTreeMap<String, Order>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The price of a line and how many the shop has; lamps, desks and sofas are all it sells.
    fn price(line: &Line) -> Result<u64, StockFailure> {
        let (cents, left) = match line.sku.as_str() {
            "lamp" => (2_500, 40),
            "desk" => (19_900, 3),
            // Somebody counts the sofas just now.
            "sofa" => return Err(StockFailure::StockBeingCounted { wait_ms: 1500 }),
            sku => return Err(StockFailure::NotSold { sku: sku.to_owned() }),
        };
        if line.count > left {
            return Err(StockFailure::OutOfStock { sku: line.sku.clone(), left, shelf: "B-12" });
        }
        Ok(cents * u64::from(line.count))
    }
}

/// Failures that several operations share stand in an enum of their own, and are included.
#[derive(Debug, Failure)]
enum StockFailure {
    /// The shop does not sell this.
    #[failure(kind = validation, message = "{sku} is not sold here", effect = none,
              recover(fix_input = "/lines", hint = "Order lamps, desks or sofas only."))]
    NotSold { sku: String },
    /// There are fewer than were asked for.
    #[failure(kind = conflict, message = "only {left} of {sku} are left", effect = none,
              recover(fix_input = "/lines", hint = "Ask for no more than are left."))]
    OutOfStock {
        sku: String,
        left: u32,
        /// Where it lies in the warehouse is nobody's business.
        #[failure(private)]
        shelf: &'static str,
    },
    /// The stock is being counted, and nothing of it can be sold.
    #[failure(kind = unavailable, retry_after = wait_ms, effect = none,
              recover(wait, hint = "Wait until the count is over, then call again."))]
    StockBeingCounted { wait_ms: u64 },
}

#[derive(Debug, Failure)]
enum OrderFailure {
    /// There is no such order.
    #[failure(kind = not_found, message = "no order {id}", effect = none,
              recover(call = "orders.find", why = "see which orders there are",
                      hint = "Find the orders and pick an id that exists."))]
    OrderNotFound { id: String },
}

#[derive(Debug, Failure)]
#[failure(include(OrderFailure))]
enum CancelFailure {
    /// The order has left the house.
    #[failure(kind = conflict, message = "{id} is on its way", effect = none,
              recover(ask_user, hint = "Ask the customer to send the parcel back."))]
    AlreadyShipped { id: String },
}

#[derive(Debug, Failure)]
#[failure(include(StockFailure))]
enum PlaceFailure {
    /// The book of orders is full.
    #[failure(kind = unavailable, effect = none, retryable = false,
              recover(stop, hint = "Nothing can be ordered here today."))]
    BookFull,
}

#[data]
struct Find {
    /// Only orders in this state.
    #[serde(default)]
    state: Option<Stage>,
    /// How many at most.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 100))]
    limit: u32,
}

fn ten() -> u32 {
    10
}

#[data]
struct Found {
    orders: Vec<Order>,
}

/// Find orders.
///
/// A query whose input is flat is also called by `GET`, with the input as query parameters.
#[operation(
    query,
    name = "orders.find",
    access(scopes = "orders:read"),
    example(input = r#"{"state":"shipped"}"#, output = r#"{"orders":[]}"#)
)]
async fn find(shop: State<Shop>, input: Find) -> Outcome<Found> {
    let wanted = |order: &&Order| input.state.is_none_or(|state| order.state == state);
    let limit = usize::try_from(input.limit)?;
    let orders = shop.orders().values().filter(wanted).take(limit).cloned().collect();
    Ok(Found { orders })
}

#[data]
struct OrderId {
    #[schemars(length(min = 1, max = 40))]
    id: String,
}

/// Get one order.
#[operation(
    query,
    name = "orders.get",
    access(scopes = "orders:read"),
    strict,
    example(input = r#"{"id":"o-0"}"#, failure = "ORDER_NOT_FOUND")
)]
async fn get(shop: State<Shop>, input: OrderId) -> Outcome<Order, OrderFailure> {
    match shop.orders().get(&input.id) {
        Some(order) => Ok(order.clone()),
        None => Err(OrderFailure::OrderNotFound { id: input.id }.into()),
    }
}

#[data]
struct Lines {
    #[schemars(length(min = 1, max = 20))]
    lines: Vec<Line>,
}

#[data]
struct Quote {
    total_cents: u64,
}

/// Say what some things cost.
///
/// A query whose input is nested does not fit into a query string, so only `POST` calls it.
#[operation(
    query,
    name = "orders.quote",
    access(anyone),
    strict,
    example(input = r#"{"lines":[{"sku":"lamp","count":2}]}"#, output = r#"{"total_cents":5000}"#)
)]
async fn quote(input: Lines) -> Outcome<Quote, StockFailure> {
    Ok(Quote { total_cents: total(&input.lines)? })
}

fn total(lines: &[Line]) -> Result<u64, StockFailure> {
    lines.iter().try_fold(0, |sum, line| Ok(sum + Shop::price(line)?))
}

/// Place an order.
///
/// With an `Idempotency-Key` the same call may be made again: it is one order.
#[operation(
    mutation,
    name = "orders.place",
    access(scopes = "orders:write"),
    idempotency_key,
    deadline = "5s",
    strict,
    example(input = r#"{"lines":[{"sku":"sofa","count":1}]}"#, failure = "STOCK_BEING_COUNTED"),
    example(input = r#"{"lines":[{"sku":"desk","count":9}]}"#, failure = "OUT_OF_STOCK")
)]
async fn place(shop: State<Shop>, input: Lines) -> Outcome<Order, PlaceFailure> {
    let total_cents = total(&input.lines)?;
    let mut orders = shop.orders();
    if orders.len() >= Shop::MOST {
        return Err(PlaceFailure::BookFull.into());
    }
    let id = format!("o-{}", orders.len() + 1);
    let order = Order { id: id.clone(), lines: input.lines, total_cents, state: Stage::Open };
    orders.insert(id, order.clone());
    Ok(order)
}

/// Cancel an order.
///
/// It needs a scope, and a person's consent: a client that can ask asks its user, and whoever has the clerk's own token
/// gives it with `orders consent grant orders.cancel --server URL`.
#[operation(mutation, name = "orders.cancel", access(scopes = "orders:read orders:write", consent), strict)]
async fn cancel(caller: &Caller, shop: State<Shop>, input: OrderId) -> Outcome<Order, CancelFailure> {
    let mut orders = shop.orders();
    let Some(order) = orders.get_mut(&input.id) else {
        return Err(OrderFailure::OrderNotFound { id: input.id })?;
    };
    if order.state == Stage::Shipped {
        return Err(CancelFailure::AlreadyShipped { id: input.id }.into());
    }
    order.state = Stage::Cancelled;
    tracing::info!(id = order.id, by = caller.id(), "cancelled");
    Ok(order.clone())
}

#[data]
struct Step {
    id: String,
    at: String,
}

/// Follow an order on its way.
///
/// A stream that can be resumed: whoever comes back with `Last-Event-ID` goes on after it.
#[operation(
    subscription,
    name = "orders.follow",
    access(scopes = "orders:read"),
    resumable,
    example(input = r#"{"id":"o-1"}"#, output = r#"{"id":"o-1","at":"packed"}"#)
)]
async fn follow(ctx: &Ctx, shop: State<Shop>, input: OrderId) -> Outcome<Events<Step, OrderFailure>, OrderFailure> {
    if !shop.orders().contains_key(&input.id) {
        return Err(OrderFailure::OrderNotFound { id: input.id }.into());
    }
    let seen = ctx.last_event_id().and_then(|id| id.parse().ok()).unwrap_or(0);
    let way = ["packed", "handed over", "delivered"].into_iter().skip(seen);
    Ok(Events::new(stream::iter(way.map(move |at| Ok(Step { id: input.id.clone(), at: at.to_owned() })))))
}

/// Who calls is told by a bearer token. A real provider would ask somebody; this one has a list.
struct Tokens;

impl IdentityProvider for Tokens {
    fn identify<'a>(
        &'a self,
        token: &'a Secret,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<Caller, IdentityError>> + Send + 'a>> {
        Box::pin(std::future::ready(match token.expose() {
            "clerk" => Ok(Caller::new("clerk").scope("orders:read").scope("orders:write")),
            // The clerk in person: this token is not for an agent.
            "clerk-in-person" => Ok(Caller::new("clerk").scope(CONSENT_GRANT)),
            "guest" => Ok(Caller::new("guest").scope("orders:read")),
            _ => Err(IdentityError::Invalid),
        }))
    }
}

pub(crate) fn registry() -> Registry {
    let builder = Registry::builder().state(Shop::open()).identity(Tokens).deadline(Duration::from_secs(10));
    let builder = builder.add(find).add(get).add(quote).add(place).add(cancel).add(follow).add(consent_grant());
    let builder = builder.add_all(redress::serve::discovery());
    builder.build().expect("the declarations are sound")
}

fn main() -> ExitCode {
    redress::main!(registry())
}
