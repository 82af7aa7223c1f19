//! Access by what is asked for: everybody sees the tickets of their own company, and nobody learns which others there are.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]
use std::collections::HashMap;

use redress::{Caller, Failure, Outcome, Registry, Request, State, check, data, operation};

/// The tickets, each with the company that it belongs to.
struct Tickets {
    company: HashMap<&'static str, &'static str>,
}

/// Which company somebody works for. A real service would ask its directory.
struct Staff {
    company: HashMap<&'static str, &'static str>,
}

#[data]
struct Get {
    ticket: String,
}

#[data]
struct Hand {
    ticket: String,
    to: String,
}

/// What names a ticket, so that one check does for every operation on tickets.
trait OfTicket: Sync {
    fn ticket(&self) -> &str;
}

impl OfTicket for Get {
    fn ticket(&self) -> &str {
        &self.ticket
    }
}

impl OfTicket for Hand {
    fn ticket(&self) -> &str {
        &self.ticket
    }
}

#[derive(Debug, Failure)]
enum TicketFailure {
    /// There is no such ticket.
    #[failure(kind = not_found, message = "no ticket {ticket}", effect = none,
              recover(fix_input = "/ticket", hint = "Give the number of a ticket of yours."))]
    TicketUnknown { ticket: String },
}

/// A ticket of another company is answered exactly as one that does not exist.
#[check]
async fn is_ours<T: OfTicket>(
    caller: &Caller,
    staff: State<Staff>,
    tickets: State<Tickets>,
    input: &T,
) -> Outcome<bool, TicketFailure> {
    match (tickets.company.get(input.ticket()), staff.company.get(caller.id())) {
        (Some(ticket), Some(own)) if ticket == own => Ok(true),
        _ => Err(TicketFailure::TicketUnknown { ticket: input.ticket().to_owned() })?,
    }
}

/// Nothing is given away by saying no here, so `false` is enough: FORBIDDEN.
#[check]
async fn may_hand(caller: &Caller, staff: State<Staff>, input: &Hand) -> Outcome<bool> {
    Ok(staff.company.get(caller.id()) == staff.company.get(input.to.as_str()))
}

/// Read a ticket.
#[operation(query, name = "tickets.get", access(scopes = "tickets:read", check = is_ours))]
async fn get(input: Get) -> Outcome<String, TicketFailure> {
    Ok(format!("what {} is about", input.ticket))
}

/// Hand a ticket to somebody else of the same company.
#[operation(mutation, name = "tickets.hand", access(scopes = "tickets:write", check = may_hand))]
async fn hand(input: Hand) -> Outcome<String> {
    Ok(format!("{} has {}", input.to, input.ticket))
}

pub(crate) fn registry() -> Result<Registry, redress::BuildError> {
    Registry::builder()
        .state(Tickets { company: HashMap::from([("t-1", "acme"), ("t-2", "blue")]) })
        .state(Staff { company: HashMap::from([("ada", "acme"), ("bob", "acme"), ("eve", "blue")]) })
        .add(get)
        .add(hand)
        .build()
}

#[tokio::main]
async fn main() -> Result<(), redress::BuildError> {
    let registry = registry()?;
    let calls = [
        ("ada", "tickets.get", r#"{"ticket":"t-1"}"#),
        // There is one, of another company, and there is none: the same answer.
        ("ada", "tickets.get", r#"{"ticket":"t-2"}"#),
        ("ada", "tickets.get", r#"{"ticket":"t-3"}"#),
        ("ada", "tickets.hand", r#"{"ticket":"t-1","to":"bob"}"#),
        ("ada", "tickets.hand", r#"{"ticket":"t-1","to":"eve"}"#),
    ];
    for (who, operation, input) in calls {
        let caller = Caller::new(who).scopes(["tickets:read", "tickets:write"]);
        let outcome = registry.call(operation, Request::new(input.as_bytes()).with_caller(caller)).await;
        println!("{who}: {operation} {input}\n{}\n", String::from_utf8_lossy(&outcome.into_bytes()));
    }
    Ok(())
}
