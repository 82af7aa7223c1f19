//! What can be asked of tickets. Each way to fail is a variant: its doc comment says when, and `recover` what to do then.

use redress::{Failure, Outcome, State, data, operation};

use crate::Store;

/// A ticket.
#[data]
#[derive(Debug)]
pub struct Ticket {
    /// Its number.
    pub id: i64,
    /// What it is about.
    pub title: String,
}

#[data]
pub struct Open {
    /// What it is about, in a line.
    #[schemars(length(min = 3, max = 200))]
    title: String,
}

#[data]
pub struct Get {
    /// The number of the ticket.
    #[schemars(range(min = 1))]
    id: i64,
}

#[data]
pub struct Search {
    /// What the title holds; all tickets, if it is empty.
    #[serde(default)]
    text: String,
    /// How many at most.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 100))]
    limit: u32,
}

fn ten() -> u32 {
    10
}

#[data]
pub struct Found {
    tickets: Vec<Ticket>,
}

#[derive(Debug, Failure)]
pub enum OpenFailure {
    /// There is a ticket of this title already.
    #[failure(kind = conflict, message = "there is a ticket with the title {title}", effect = none,
              recover(call = "tickets.search", bind(text = title), why = "see the ticket that there is",
                      hint = "Search for the ticket that there is, or give another title."))]
    TitleTaken { title: String },
}

#[derive(Debug, Failure)]
pub enum GetFailure {
    /// There is no ticket of this number.
    #[failure(kind = not_found, message = "no ticket {id}", effect = none,
              recover(call = "tickets.search", why = "see which tickets there are",
                      hint = "Search for the ticket and use its number."))]
    TicketNotFound { id: i64 },
}

/// Open a ticket.
#[operation(
    mutation,
    name = "tickets.open",
    access(scopes = "tickets:read tickets:write"),
    idempotency_key,
    example(input = r#"{"title": "The lamp is dark"}"#, output = r#"{"id": 1, "title": "The lamp is dark"}"#),
    example(input = r#"{"title": "The lamp is dark"}"#, failure = "TITLE_TAKEN")
)]
pub async fn open(store: State<Store>, input: Open) -> Outcome<Ticket, OpenFailure> {
    // An error of the database is not declared: `?` contains it, and the log has its cause.
    match store.insert(&input.title).await? {
        Some(ticket) => Ok(ticket),
        None => Err(OpenFailure::TitleTaken { title: input.title })?,
    }
}

/// Read a ticket.
#[operation(
    query,
    name = "tickets.get",
    access(scopes = "tickets:read"),
    example(input = r#"{"id": 1}"#, output = r#"{"id": 1, "title": "The lamp is dark"}"#),
    example(input = r#"{"id": 404}"#, failure = "TICKET_NOT_FOUND")
)]
pub async fn get(store: State<Store>, input: Get) -> Outcome<Ticket, GetFailure> {
    store.find(input.id).await?.ok_or_else(|| GetFailure::TicketNotFound { id: input.id }.into())
}

/// Search the tickets by their titles, the newest first.
#[operation(
    query,
    name = "tickets.search",
    access(scopes = "tickets:read"),
    example(input = r#"{"text": "lamp"}"#, output = r#"{"tickets": [{"id": 1, "title": "The lamp is dark"}]}"#)
)]
pub async fn search(store: State<Store>, input: Search) -> Outcome<Found> {
    Ok(Found { tickets: store.search(&input.text, input.limit).await? })
}

#[cfg(test)]
mod tests {
    use redress::testing::{assert_failure, assert_ok};

    use super::*;

    /// An operation's function is an ordinary function.
    #[tokio::test]
    async fn a_ticket_that_is_not_there_is_told_with_its_number() {
        let store = Store::in_memory().await.unwrap();
        let outcome = get(State::new(store.clone()), Get { id: 7 }).await;
        let fail = assert_failure!(outcome, TICKET_NOT_FOUND);
        assert!(matches!(fail.failure(), Some(GetFailure::TicketNotFound { id: 7 })));
        let opened = open(State::new(store.clone()), Open { title: "No light".into() }).await;
        let id = assert_ok!(opened).id;
        assert_eq!(assert_ok!(get(State::new(store), Get { id }).await).title, "No light");
    }
}
