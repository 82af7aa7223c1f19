//! What an output holds of a budget.

use std::{any::Any, fmt};

/// What an output holds of a budget, given back when this is dropped. What the budget is, whoever made it knows.
pub struct Reservation(#[expect(dead_code, reason = "dropping it is what it is for")] Box<dyn Any + Send + Sync>);

impl Reservation {
    /// Holds `value` until it is dropped.
    pub fn new(value: impl Any + Send + Sync) -> Reservation {
        Reservation(Box::new(value))
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reservation")
    }
}

/// The reservation of an output, if it has one. There is one for the bytes that were written once, so a copy has none.
#[derive(Debug, Default)]
pub(crate) struct HeldReservation(pub(crate) Option<Reservation>);

impl Clone for HeldReservation {
    fn clone(&self) -> HeldReservation {
        HeldReservation(None)
    }
}
