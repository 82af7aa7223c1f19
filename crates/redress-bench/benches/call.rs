//! What does the whole in-process call cost: bytes in, envelope bytes out?
//!
//! The floor is what nobody can do without: serde decodes the typed input, a boxed async
//! function is called, serde encodes the output. Everything else in the call path (request
//! id, lookup, access, limits, strict decoding, deadline, cancellation, panic catching,
//! envelope, token estimate) is ours.

#![expect(clippy::print_stdout, reason = "a bench tells its figures")]

use std::{future::Future, hint::black_box, pin::Pin, sync::Arc};

use redress::{Caller, Ctx, Failure, Operation, Outcome, Registry, Request, contract, data, operation};
use redress_bench::{
    Side, least,
    order::{Order, Orders, order_json, orders_json},
};

/// What comes out.
#[data]
pub struct Receipt {
    id: String,
    total: f64,
    accepted: bool,
}

#[derive(Debug, Failure)]
enum OrderFailure {
    /// The article is not on stock.
    #[failure(kind = conflict, message = "no stock for {id}, only {left} left", effect = none,
              recover(call = "orders.find", bind(id = id),
                      hint = "Find the order and ask for fewer pieces of it.", why = "see what is left"))]
    OutOfStock { id: String, left: u32 },
}

/// Place an order.
#[operation(mutation, name = "orders.place", access(scopes = "orders:write"))]
async fn place(_ctx: &Ctx, input: Order) -> Outcome<Receipt, OrderFailure> {
    Ok(receipt(input))
}

/// Place an order that is never on stock.
#[operation(mutation, name = "orders.refuse", access(scopes = "orders:write"))]
async fn refuse(_ctx: &Ctx, input: Order) -> Outcome<Receipt, OrderFailure> {
    Err(OrderFailure::OutOfStock { id: input.id, left: 3 }.into())
}

/// Place many orders.
#[operation(mutation, name = "orders.place_many", access(scopes = "orders:write"))]
async fn place_many(_ctx: &Ctx, input: Orders) -> Outcome<Receipt> {
    Ok(receipt_of_many(input))
}

/// What identifies an order.
#[data]
pub struct Find {
    id: String,
}

/// Find an order.
#[operation(query, name = "orders.find", access(scopes = "orders:write"))]
async fn find(_ctx: &Ctx, input: Find) -> Outcome<Receipt> {
    Ok(Receipt { id: input.id, total: 0.0, accepted: true })
}

fn receipt(order: Order) -> Receipt {
    Receipt { total: order.price * f64::from(order.quantity), id: order.id, accepted: order.express }
}

fn receipt_of_many(input: Orders) -> Receipt {
    let total = input.orders.iter().map(|order| order.price).sum();
    Receipt { id: "many".to_owned(), total, accepted: true }
}

/// A registry with so many operations, those above among them.
fn registry(operations: usize) -> Registry {
    let mut builder = Registry::builder().add(place).add(refuse).add(place_many).add(find).check_outputs(false);
    for number in 4..operations {
        let declaration =
            contract::OperationDeclaration::query(&format!("filler.operation_{number}")).with_summary("Filler.");
        builder = builder.add(Operation::dynamic(declaration).with_handler(|_, input| async move { Ok(input) }));
    }
    builder.build().expect("the declarations above are in order")
}

type Boxed<I> = Box<dyn Fn(I) -> Pin<Box<dyn Future<Output = Receipt> + Send>> + Send + Sync>;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime starts");
    let (small, large) = (order_json(), orders_json(21));
    let caller = Arc::new(Caller::new("bench").scope("orders:write"));
    let (few, many) = (registry(10), registry(10_000));

    let one: Boxed<Order> = Box::new(|input| Box::pin(async move { receipt(input) }));
    let all: Boxed<Orders> = Box::new(|input| Box::pin(async move { receipt_of_many(input) }));
    let mut floor = |times: usize| {
        runtime.block_on(async {
            for _ in 0..times {
                let input = serde_json::from_slice(black_box(small.as_bytes())).expect("the input is valid");
                let output = one(input).await;
                black_box(serde_json::to_vec(&output).expect("the output is JSON"));
            }
        });
    };
    let mut floor_large = |times: usize| {
        runtime.block_on(async {
            for _ in 0..times {
                let input = serde_json::from_slice(black_box(large.as_bytes())).expect("the input is valid");
                let output = all(input).await;
                black_box(serde_json::to_vec(&output).expect("the output is JSON"));
            }
        });
    };
    let ours = |registry: &Registry, name: &str, input: &str, times: usize| {
        runtime.block_on(async {
            for _ in 0..times {
                let request = Request::new(black_box(input.as_bytes())).with_caller(Arc::clone(&caller));
                black_box(registry.call(name, request).await.into_bytes());
            }
        });
    };
    let mut success = |times: usize| ours(&few, "orders.place", &small, times);
    let mut failure = |times: usize| ours(&few, "orders.refuse", &small, times);
    let mut success_large = |times: usize| ours(&few, "orders.place_many", &large, times);
    let mut success_of_many = |times: usize| ours(&many, "orders.place", &small, times);

    let answer = |name: &str, input: &str| {
        let request = Request::new(input.as_bytes()).with_caller(Arc::clone(&caller));
        String::from_utf8(runtime.block_on(few.call(name, request)).into_bytes()).expect("an envelope is UTF-8")
    };
    println!("input {} B and {} B", small.len(), large.len());
    println!("success: {}", answer("orders.place", &small));
    println!("failure: {}\n", answer("orders.refuse", &small));

    let figures = least(&mut [
        &mut floor,
        &mut success,
        &mut failure,
        &mut success_of_many,
        &mut floor_large,
        &mut success_large,
    ]);
    let [floor_ns, success_ns, failure_ns, many_ns, floor_large_ns, large_ns] = figures[..] else {
        unreachable!("one figure for each side");
    };
    let (base, extra) = (allocations(&mut floor), allocations(&mut success));

    println!("{:<44} {:>9} {:>9} {:>7} {:>7}", "what", "ns", "floor ns", "ratio", "goal");
    let row = |what: &str, ns: f64, floor: f64, goal: f64| {
        println!("{what:<44} {ns:>9.0} {floor:>9.0} {:>7.2} {goal:>7.2}", ns / floor);
    };
    row("success, 200 B", success_ns, floor_ns, 1.5);
    row("declared failure, 200 B", failure_ns, floor_ns, 3.0);
    row("success, 4 kB", large_ns, floor_large_ns, 1.2);
    row("10,000 operations against 10", many_ns, success_ns, 1.1);
    println!("{:<44} {extra:>9.1} {base:>9.1} {:>+7.1} {:>+7.1}", "allocations, success", extra - base, 3.0);
}

/// How often one run of `side` allocates.
fn allocations(side: Side<'_>) -> f64 {
    const TIMES: usize = 1_000;
    // The first runs make what is made once.
    side(TIMES);
    let counted = allocation_counter::measure(|| side(TIMES));
    counted.count_total as f64 / TIMES as f64
}
