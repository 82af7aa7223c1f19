//! `/ops/{namespace}/{name}`: the output alone, or a problem document. The input is the body
//! of a `POST`, or the query of a `GET`.

use redress_core::contract::Name;
use serde_json::{Map, Value};

use super::http;
use crate::table::{
    face::{Asking, Face},
    outcome::{Outcome, without},
    rows::{Ask, Row},
    site::Site,
};

pub(crate) struct Operation {
    pub(crate) by_query: bool,
}

impl Operation {
    fn path(&self, row: &Row) -> String {
        let path = format!("/ops/{}", Name::from_wire(row.operation).replace('.', "/"));
        if !self.by_query {
            return path;
        }
        let mut query = form_urlencoded::Serializer::new(format!("{path}?"));
        query.extend_pairs(texts(&row.input).expect("a row that is carried is flat"));
        query.finish()
    }

    fn body<'a>(&self, row: &'a Row) -> Option<&'a str> {
        (!self.by_query).then_some(row.input.as_str())
    }
}

/// The members of an input that holds texts alone, each once: a query can say no more.
fn texts(input: &str) -> Option<Vec<(String, String)>> {
    let members: Map<String, Value> = serde_json::from_str(input).ok()?;
    if members.is_empty() || input.matches("\":").count() > members.len() {
        return None;
    }
    members.into_iter().map(|(name, value)| Some((name, value.as_str()?.to_owned()))).collect()
}

impl Face for Operation {
    fn name(&self) -> &'static str {
        if self.by_query { "GET /ops" } else { "/ops" }
    }

    /// The route knows whether its operation streams, so it cannot be asked in the wrong way. By
    /// a query only an operation is asked that changes nothing.
    fn carries(&self, row: &Row) -> bool {
        let reads = ["table.greet", "table.hello", "table.fail", "table.break"].contains(&row.operation);
        match row.ask {
            Ask::Call if self.by_query => reads && texts(&row.input).is_some(),
            Ask::Call => true,
            Ask::Stream => !self.by_query,
            Ask::CallOfStream | Ask::StreamOfCall => false,
        }
    }

    fn ask<'a>(&'a self, site: &'a Site, row: &'a Row) -> Asking<'a, Outcome> {
        Box::pin(async move {
            let answer = http::ask(self.name(), site, row, &self.path(row), self.body(row)).await;
            match answer.header("content-type") {
                Some("text/event-stream") => answer.stream(),
                Some("application/json") => {
                    assert_eq!(answer.status, 200);
                    Outcome::output(answer.json())
                }
                Some("application/problem+json") => {
                    let mut problem = answer.json();
                    answer.agrees_with(&problem);
                    assert!(problem["title"].take().is_string());
                    problem.as_object_mut().unwrap().remove("title");
                    let again = [("type", "docs_url"), ("detail", "error"), ("status", "http")];
                    Outcome::envelope(without(problem, &again))
                }
                other => panic!("{other:?}: {answer:?}"),
            }
        })
    }

    fn leave<'a>(&'a self, site: &'a Site, row: &'a Row) -> Asking<'a, Option<Outcome>> {
        Box::pin(async move { http::leave(site, row, &self.path(row), self.body(row)).await })
    }
}
