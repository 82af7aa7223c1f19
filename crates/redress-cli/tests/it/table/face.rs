//! What the table knows of a face: how it is asked, and how its client goes away.

use std::{future::Future, pin::Pin};

use super::{outcome::Outcome, rows::Row, site::Site};

pub(crate) type Asking<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One way to make a call.
pub(crate) trait Face: Sync {
    /// What it is called where the table is shown.
    fn name(&self) -> &'static str;

    /// Whether the call of this row can be asked for here at all.
    fn carries(&self, row: &Row) -> bool;

    /// Makes the call of a row that it carries. Everything that came back, byte for byte, is
    /// shown to the canaries of the site.
    fn ask<'a>(&'a self, site: &'a Site, row: &'a Row) -> Asking<'a, Outcome>;

    /// Begins the call of a row that never ends by itself, waits until its handler runs, and
    /// goes away. What the client is still told is the outcome; who is gone is told nothing.
    fn leave<'a>(&'a self, site: &'a Site, row: &'a Row) -> Asking<'a, Option<Outcome>>;

    /// Whether a call can be under way here while its service is told to stop. One that ends
    /// with its own process cannot.
    fn outlives_its_service(&self) -> bool {
        true
    }

    /// How many calls one row makes, for a face that has to find out the shape of an operation.
    fn calls(&self, _: &Row) -> usize {
        1
    }
}
