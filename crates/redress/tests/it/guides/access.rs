//! The code of `docs/access.md`.

use std::{collections::HashMap, io};

use redress::{
    Caller, Failure, Outcome, Registry, State, check, data, operation,
    testing::{Harness, assert_failure, assert_ok},
};
use serde_json::json;

struct Tickets {
    company: HashMap<String, String>,
}

impl Tickets {
    async fn company_of(&self, ticket: &str) -> io::Result<Option<&str>> {
        Ok(self.company.get(ticket).map(String::as_str))
    }
}

#[data]
struct Get {
    ticket: String,
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
async fn is_ours(caller: &Caller, tickets: State<Tickets>, input: &Get) -> Outcome<bool, TicketFailure> {
    match tickets.company_of(&input.ticket).await? {
        Some(company) if company == caller.id() => Ok(true),
        _ => Err(TicketFailure::TicketUnknown { ticket: input.ticket.clone() })?,
    }
}

/// Read a ticket.
#[operation(query, name = "tickets.get", access(scopes = "tickets:read", check = is_ours))]
async fn get(input: Get) -> Outcome<String, TicketFailure> {
    Ok(format!("what {} is about", input.ticket))
}

#[tokio::test]
async fn a_ticket_of_others_is_no_ticket() {
    let tickets = Tickets { company: HashMap::from([("t-1".to_owned(), "acme".to_owned())]) };
    let harness = Harness::new(Registry::builder().state(tickets).add(get).build().unwrap());
    let of = |caller: &str| harness.as_caller(Caller::new(caller).scope("tickets:read"));
    assert_ok!(of("acme").call("tickets.get", json!({"ticket": "t-1"})).await);
    assert_failure!(of("blue").call("tickets.get", json!({"ticket": "t-1"})).await, TICKET_UNKNOWN);
}

#[cfg(feature = "access")]
#[test]
fn a_token_is_known_by_its_hash() {
    use redress::access::{AccessOptions, Authenticator, TokenHash};

    let mut options = AccessOptions::default();
    options.hashes.push(TokenHash {
        caller: "ada".into(),
        scopes: vec!["files:read".into()],
        sha256: "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b".into(),
        expires: None,
    });
    Authenticator::open(options).unwrap();
}
