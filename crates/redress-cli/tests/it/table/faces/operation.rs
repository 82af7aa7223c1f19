//! `POST /ops/{namespace}/{name}`: the output alone, or a problem document.

use redress_core::contract::Name;

use super::http;
use crate::table::{
    face::{Asking, Face},
    outcome::{Outcome, without},
    rows::{Ask, Row},
    site::Site,
};

pub(crate) struct Operation;

fn path(row: &Row) -> String {
    format!("/ops/{}", Name::from_wire(row.operation).replace('.', "/"))
}

impl Face for Operation {
    fn name(&self) -> &'static str {
        "/ops"
    }

    /// The route knows whether its operation streams, so it cannot be asked in the wrong way.
    fn carries(&self, row: &Row) -> bool {
        matches!(row.ask, Ask::Call | Ask::Stream)
    }

    fn ask<'a>(&'a self, site: &'a Site, row: &'a Row) -> Asking<'a, Outcome> {
        Box::pin(async move {
            let answer = http::ask(self.name(), site, row, &path(row), &row.input).await;
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
        Box::pin(async move { http::leave(site, row, &path(row), &row.input).await })
    }
}
