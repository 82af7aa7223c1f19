//! The stream that a subscription's function returns.

use std::pin::Pin;

use futures_core::Stream;

use crate::{Failure, NoFailure, Outcome};

/// The stream that a subscription's function returns: items, and at most one bad ending,
/// after which nothing comes.
///
/// It outlives the function, so it borrows nothing; a clone of the [`Ctx`](crate::Ctx)
/// may live in it.
pub struct Events<T, E = NoFailure>(Pin<Box<dyn Stream<Item = Outcome<T, E>> + Send>>);

impl<T, E: Failure> Events<T, E> {
    /// Carries `stream`.
    pub fn new(stream: impl Stream<Item = Outcome<T, E>> + Send + 'static) -> Events<T, E> {
        Events(Box::pin(stream))
    }

    /// The stream itself, for a test that reads it.
    pub fn into_stream(self) -> Pin<Box<dyn Stream<Item = Outcome<T, E>> + Send>> {
        self.0
    }
}

impl<T, E> std::fmt::Debug for Events<T, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Events(…)")
    }
}

/// The type of a stream's items, for code that only sees the whole.
#[diagnostic::on_unimplemented(
    message = "a subscription returns `Outcome<Events<T, E>, E>`",
    label = "this is not `Events<T, E>`"
)]
pub trait IsEvents {
    /// One item.
    type Item;
}

impl<T, E> IsEvents for Events<T, E> {
    type Item = T;
}
