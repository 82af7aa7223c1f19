//! Bad endings as problem documents.

use redress_contract::Kind;
use redress_wire::http::{self, FlatInput};
use serde_json::{Value, json};

use crate::service::{contract, failure, success};

#[test]
fn a_problem_document_holds_the_whole_envelope_and_its_own_members() {
    let envelope: Value = serde_json::from_slice(&failure(Kind::NotFound, 404, None).into_bytes()).unwrap();
    let document = http::problem(failure(Kind::NotFound, 404, None)).unwrap();
    let mut body: Value = serde_json::from_slice(&document.body).unwrap();
    let own = ["type", "title", "detail", "status"].map(|name| body.as_object_mut().unwrap().remove(name).unwrap());
    assert_eq!(own, [json!("/errors/FILE_NOT_FOUND"), json!("Not found"), json!("no \"file\" at ä"), json!(404)]);
    assert_eq!(body, envelope);
}

#[test]
fn an_envelope_that_ended_well_is_no_problem() {
    assert!(http::problem(success(&json!(1))).unwrap_err().is_ok());
}

#[test]
fn retry_after_is_in_whole_seconds_and_only_where_waiting_helps() {
    let seconds = |kind, status, ms| http::problem(failure(kind, status, ms)).unwrap().retry_after;
    assert_eq!(seconds(Kind::RateLimited, 429, Some(1001)), Some(2));
    assert_eq!(seconds(Kind::RateLimited, 429, Some(0)), Some(0));
    assert_eq!(seconds(Kind::Unavailable, 503, None), Some(1));
    assert_eq!(seconds(Kind::Timeout, 504, Some(1000)), None);
    assert_eq!(seconds(Kind::Internal, 503, None), None);
}

#[test]
fn an_unknown_caller_is_asked_who_it_is() {
    let challenge = |status| http::problem(failure(Kind::Unauthorized, status, None)).unwrap().www_authenticate;
    assert!(challenge(401).is_some() && challenge(403).is_none());
}

#[test]
fn every_kind_has_a_title_of_its_own() {
    let titles: std::collections::BTreeSet<&str> = Kind::ALL.into_iter().map(http::reason).collect();
    assert_eq!(titles.len(), Kind::ALL.len());
}

#[test]
fn a_query_string_becomes_the_input_that_the_schema_asks_for() {
    let contract = contract();
    let read = FlatInput::of(contract.operation("files.read").unwrap()).unwrap();
    for (query, input) in [
        ("path=a%2Fb&lines=3", r#"{"lines":3,"path":"a/b"}"#),
        ("path=3", r#"{"path":"3"}"#),
        ("path=a&lines=x", r#"{"lines":"x","path":"a"}"#),
        ("path=a&path=b", r#"{"path":["a","b"]}"#),
        ("other=1", r#"{"other":"1"}"#),
        ("", "{}"),
    ] {
        assert_eq!(read.read(query), input, "{query}");
    }
    assert!(FlatInput::of(contract.operation("files.write").unwrap()).is_none());
}
