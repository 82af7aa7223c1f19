//! `POST /batch`: an array of envelopes.

use super::{call::message, http};
use crate::table::{
    face::{Asking, Face},
    outcome::Outcome,
    rows::{Ask, Row},
    site::Site,
};

pub(crate) struct Batch;

impl Face for Batch {
    fn name(&self) -> &'static str {
        "/batch"
    }

    fn carries(&self, row: &Row) -> bool {
        matches!(row.ask, Ask::Call | Ask::CallOfStream)
    }

    fn ask<'a>(&'a self, site: &'a Site, row: &'a Row) -> Asking<'a, Outcome> {
        Box::pin(async move {
            let answer = http::ask(self.name(), site, row, "/batch", Some(&format!("[{}]", message(row)))).await;
            assert_eq!(answer.status, 200, "{answer:?}");
            let envelopes: Vec<serde_json::Value> = serde_json::from_str(&answer.text).unwrap();
            let [envelope] = <[_; 1]>::try_from(envelopes).expect("one call, one envelope");
            Outcome::envelope(envelope)
        })
    }

    fn leave<'a>(&'a self, site: &'a Site, row: &'a Row) -> Asking<'a, Option<Outcome>> {
        Box::pin(async move { http::leave(site, row, "/batch", Some(&format!("[{}]", message(row)))).await })
    }
}
