//! What an operation's function may take besides its input.

use std::{any::TypeId, ops::Deref, sync::Arc};

use redress_contract::Caller;

use crate::Ctx;

/// That the operation requires a caller, so that there always is one.
#[derive(Debug)]
pub enum CallerKnown {}

/// That the operation is open to the anonymous, so that there may be no caller.
#[derive(Debug)]
pub enum CallerUnknown {}

/// What an operation's function may take besides its input: `&Ctx`, `&Caller`,
/// `Option<&Caller>` and `State<T>`.
///
/// `A` says whether the operation requires a caller. `&Caller` is there only where it does,
/// so a handler that takes one can never run without it.
#[diagnostic::on_unimplemented(
    message = "an operation's function cannot take `{Self}` here",
    label = "take `&Ctx`, `&Caller`, `Option<&Caller>` or `State<T>` here; the input comes last"
)]
pub trait Argument<'a, A>: Sized {
    /// Takes the value out of the call.
    fn take(ctx: &'a Ctx) -> Result<Self, ArgumentMissing>;

    /// The state that it needs, by its type and name.
    fn needs() -> Option<(TypeId, &'static str)> {
        None
    }
}

/// What an argument stands for is not there. The registry and the access check make this
/// impossible for a registered operation; a function called by hand in a test can meet it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentMissing {
    /// There is no caller.
    #[error("the function takes a caller, and the context has none")]
    Caller,
    /// There is no state of this type.
    #[error("the function takes state of type `{0}`, and the context has none")]
    State(&'static str),
}

impl<'a, A> Argument<'a, A> for &'a Ctx {
    fn take(ctx: &'a Ctx) -> Result<Self, ArgumentMissing> {
        Ok(ctx)
    }
}

impl<'a> Argument<'a, CallerKnown> for &'a Caller {
    fn take(ctx: &'a Ctx) -> Result<Self, ArgumentMissing> {
        ctx.caller().ok_or(ArgumentMissing::Caller)
    }
}

impl<'a, A> Argument<'a, A> for Option<&'a Caller> {
    fn take(ctx: &'a Ctx) -> Result<Self, ArgumentMissing> {
        Ok(ctx.caller())
    }
}

/// State given to the registry by `.state(…)`, shared by every call.
///
/// A unit test that calls an operation's function itself makes one with [`State::new`]:
///
/// ```
/// use redress_core::State;
///
/// async fn count(store: State<Vec<u8>>) -> usize {
///     store.len()
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// assert_eq!(count(State::new(vec![1, 2])).await, 2);
/// # });
/// ```
#[derive(Debug)]
pub struct State<T>(pub Arc<T>);

impl<T> State<T> {
    /// State for a function that a test calls itself.
    pub fn new(state: T) -> State<T> {
        State(Arc::new(state))
    }
}

impl<T> Clone for State<T> {
    fn clone(&self) -> State<T> {
        State(Arc::clone(&self.0))
    }
}

impl<T> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<'a, A, T: Send + Sync + 'static> Argument<'a, A> for State<T> {
    fn take(ctx: &'a Ctx) -> Result<Self, ArgumentMissing> {
        ctx.shared_state::<T>().map(State)
    }

    fn needs() -> Option<(TypeId, &'static str)> {
        Some((TypeId::of::<T>(), std::any::type_name::<T>()))
    }
}
