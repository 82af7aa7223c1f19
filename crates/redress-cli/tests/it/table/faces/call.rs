//! `POST /call`: the envelope, under the status of the failure.

use super::http;
use crate::table::{
    face::{Asking, Face},
    outcome::Outcome,
    rows::{Ask, Row},
    site::Site,
};

pub(crate) struct Call;

/// The message that asks for the call of a row.
pub(super) fn message(row: &Row) -> String {
    format!(r#"{{"operation":"{}","input":{}}}"#, row.operation, row.input)
}

impl Face for Call {
    fn name(&self) -> &'static str {
        "/call"
    }

    fn carries(&self, row: &Row) -> bool {
        matches!(row.ask, Ask::Call | Ask::CallOfStream)
    }

    fn ask<'a>(&'a self, site: &'a Site, row: &'a Row) -> Asking<'a, Outcome> {
        Box::pin(async move {
            let answer = http::ask(self.name(), site, row, "/call", Some(&message(row))).await;
            answer.agrees_with(&answer.json());
            Outcome::envelope(answer.json())
        })
    }

    fn leave<'a>(&'a self, site: &'a Site, row: &'a Row) -> Asking<'a, Option<Outcome>> {
        Box::pin(async move { http::leave(site, row, "/call", Some(&message(row))).await })
    }
}
