//! A workshop's parts as tools for agents: over streamable HTTP at `/mcp` with `serve`, over stdio with `mcp`.
//!
//! ```console
//! $ cargo run --example tools --features cli -- serve
//! $ cargo run --example tools --features cli -- mcp
//! ```
use std::process::ExitCode;

use redress::{Ctx, Failure, Outcome, Registry, data, operation};

#[data]
#[derive(Clone, Copy, Debug, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Shelf {
    Bolts,
    Springs,
}

#[data]
struct Part {
    id: String,
    shelf: Shelf,
    left: u32,
}

/// What the workshop has; a part's id begins with its shelf.
const PARTS: [(&str, Shelf, u32); 3] =
    [("bolt-m4", Shelf::Bolts, 900), ("bolt-m6", Shelf::Bolts, 120), ("spring-s", Shelf::Springs, 7)];

#[data]
struct Which {
    id: String,
}

#[data]
struct Where {
    shelf: Shelf,
}

#[derive(Debug, Failure)]
enum GetFailure {
    /// The workshop has no such part.
    #[failure(kind = not_found, message = "no part {id} on the shelf of {shelf}", effect = none,
              recover(call = "parts.list", bind(shelf = shelf), why = "see what is on that shelf",
                      hint = "List the shelf and take a part that is on it."))]
    PartMissing { id: String, shelf: Shelf },
    /// Somebody counts the parts of this sort just now.
    #[failure(kind = unavailable, retry_after = wait_ms, effect = none,
              recover(wait, hint = "Wait until the parts are counted, then ask again."))]
    BeingCounted { wait_ms: u64 },
}

/// Tell how many of a part are left.
#[operation(query, name = "parts.get", access(anyone))]
async fn get(_ctx: &Ctx, input: Which) -> Outcome<Part, GetFailure> {
    match PARTS.into_iter().find(|(id, ..)| *id == input.id) {
        Some((_, Shelf::Springs, _)) => Err(GetFailure::BeingCounted { wait_ms: 1500 }.into()),
        Some((id, shelf, left)) => Ok(Part { id: id.to_owned(), shelf, left }),
        None => {
            let shelf = if input.id.starts_with("spring") { Shelf::Springs } else { Shelf::Bolts };
            Err(GetFailure::PartMissing { id: input.id, shelf }.into())
        }
    }
}

/// List the parts on a shelf.
#[operation(query, name = "parts.list", access(anyone))]
async fn list(_ctx: &Ctx, input: Where) -> Outcome<Vec<Part>> {
    let on = PARTS.into_iter().filter(|(_, shelf, _)| *shelf == input.shelf);
    Ok(on.map(|(id, shelf, left)| Part { id: id.to_owned(), shelf, left }).collect())
}

/// Order more of a part from the supplier.
///
/// The supplier's line is always engaged, so this never ends in time: what the caller may do then
/// is what the example is for.
#[operation(mutation, name = "parts.order", access(anyone), deadline = "200ms")]
async fn order(_ctx: &Ctx, _input: Which) -> Outcome<Part> {
    std::future::pending().await
}

fn main() -> ExitCode {
    let builder = Registry::builder().add(get).add(list).add(order);
    redress::main!(builder.build())
}
