//! `POST /subscribe`: server-sent events, or the envelope of what refused the stream.

use super::{call::message, http};
use crate::table::{
    face::{Asking, Face},
    outcome::Outcome,
    rows::{Ask, Row},
    site::Site,
};

pub(crate) struct Subscribe;

impl Face for Subscribe {
    fn name(&self) -> &'static str {
        "/subscribe"
    }

    fn carries(&self, row: &Row) -> bool {
        matches!(row.ask, Ask::Stream | Ask::StreamOfCall)
    }

    fn ask<'a>(&'a self, site: &'a Site, row: &'a Row) -> Asking<'a, Outcome> {
        Box::pin(async move {
            let answer = http::ask(self.name(), site, row, "/subscribe", Some(&message(row))).await;
            if answer.status == 200 {
                return answer.stream();
            }
            answer.agrees_with(&answer.json());
            Outcome::envelope(answer.json())
        })
    }

    fn leave<'a>(&'a self, site: &'a Site, row: &'a Row) -> Asking<'a, Option<Outcome>> {
        Box::pin(async move { http::leave(site, row, "/subscribe", Some(&message(row))).await })
    }
}
