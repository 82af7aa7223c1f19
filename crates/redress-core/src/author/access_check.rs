//! Access by what is asked for: a function of the author's that sees who calls and the input, and says whether this
//! caller may have what this input asks for.
//!
//! Why so: docs/decisions/0064-a-check-is-a-function-with-an-attribute.md.

use std::{
    any::{Any, TypeId},
    future::Future,
    marker::PhantomData,
    sync::Arc,
};

use serde_json::Value;

use crate::{
    Ctx, Declared, DynamicFailure, Failure, Outcome, Tagged,
    author::{fail::ErasedFail, handler::BoxFuture},
};

/// What a check says: whether the call may go on, or a bad ending in its place.
pub(crate) type Verdict = Result<bool, Box<ErasedFail>>;

/// Everything that `#[check]` knows about a function whose input is `I`.
#[diagnostic::on_unimplemented(
    message = "this function is not a check of `{I}`",
    label = "not a check of this operation's input",
    note = "write `#[check]` above an `async fn` whose last argument is `&{I}`"
)]
pub trait Checks<I>: Send + Sync + 'static {
    /// What it fails with, in the operation's place.
    type Failure: Failure;

    /// The state that the function's arguments need.
    fn needs() -> Vec<(TypeId, &'static str)>;

    /// Calls the function.
    fn run<'a>(ctx: &'a Ctx, input: &'a I) -> impl Future<Output = Outcome<bool, Self::Failure>> + Send + 'a;
}

/// That a check finds what it takes where `A` is known of the caller.
#[diagnostic::on_unimplemented(
    message = "the check takes `&Caller`, and with `access(anyone)` there may be no caller",
    label = "this check needs a caller",
    note = "let the check take `Option<&Caller>`"
)]
pub trait ChecksWhere<A> {}

/// The future of a function that carries `#[check]`.
#[diagnostic::on_unimplemented(
    message = "this function is not a check",
    label = "not a check",
    note = "write `#[check]` above the function"
)]
pub trait Checking: Future {
    /// The marker that `#[check]` wrote for the function.
    type Check;
}

impl<M, F: Future> Checking for Tagged<M, F> {
    type Check = M;
}

/// A function that carries `#[check]` and looks at an input of type `I`. `Args` is only there to tell apart how many
/// arguments it takes.
#[diagnostic::on_unimplemented(
    message = "this function is not a check of `{I}`",
    label = "not a check of this operation's input",
    note = "write `#[check]` above an `async fn` whose last argument is `&{I}`"
)]
pub trait CheckFn<Args, I> {
    /// The marker that `#[check]` wrote for the function.
    type Check: Checks<I>;
}

macro_rules! check_fn {
    ($($arg:ident),*) => {
        impl<Fun, Fut, Input: 'static, $($arg),*> CheckFn<fn($($arg),*), Input> for Fun
        where
            Fun: Fn($($arg,)* &'static Input) -> Fut,
            Fut: Checking,
            Fut::Check: Checks<Input>,
        {
            type Check = Fut::Check;
        }
    };
}

check_fn!();
check_fn!(A1);
check_fn!(A1, A2);
check_fn!(A1, A2, A3);
check_fn!(A1, A2, A3, A4);
check_fn!(A1, A2, A3, A4, A5);

/// The check of an operation, its types forgotten.
#[derive(Clone)]
pub(crate) struct OperationCheck {
    /// The codes that it may end with in the operation's place.
    pub(crate) codes: Vec<String>,
    /// Whether it reads the input as the type of a function, or as a JSON value.
    pub(crate) typed: bool,
    run: Arc<dyn Run>,
}

trait Run: Send + Sync {
    fn run<'a>(&self, ctx: &'a Ctx, input: &'a (dyn Any + Send)) -> BoxFuture<'a, Verdict>;
}

impl OperationCheck {
    /// The check `C` of the operation of `D`.
    pub(crate) fn typed<D: Declared, C: Checks<D::Input>>() -> OperationCheck {
        let codes = C::Failure::declarations().iter().map(|failure| failure.code().to_string()).collect();
        OperationCheck { codes, typed: true, run: Arc::new(TypedCheck::<D::Input, C>(PhantomData)) }
    }

    /// A check over JSON values, which may end with `codes`.
    pub(crate) fn dynamic<F, R>(codes: &[&str], function: F) -> OperationCheck
    where
        F: Fn(Ctx, Value) -> R + Send + Sync + 'static,
        R: Future<Output = Outcome<bool, DynamicFailure>> + Send + 'static,
    {
        let function = move |ctx, input| -> BoxFuture<'static, _> { Box::pin(function(ctx, input)) };
        let codes = codes.iter().map(|code| (*code).to_owned()).collect();
        OperationCheck { codes, typed: false, run: Arc::new(DynamicCheck(Arc::new(function))) }
    }

    /// Whether the caller may have what `input` asks for. Nothing of the author's runs before the future is polled.
    pub(crate) fn run<'a>(&self, ctx: &'a Ctx, input: &'a (dyn Any + Send)) -> BoxFuture<'a, Verdict> {
        self.run.run(ctx, input)
    }
}

struct TypedCheck<I, C>(PhantomData<fn() -> (I, C)>);

impl<I: Send + 'static, C: Checks<I>> Run for TypedCheck<I, C> {
    fn run<'a>(&self, ctx: &'a Ctx, input: &'a (dyn Any + Send)) -> BoxFuture<'a, Verdict> {
        let Some(input) = input.downcast_ref::<I>() else { return unread() };
        let running = C::run(ctx, input);
        Box::pin(async move { running.await.map_err(crate::Fail::into_ending) })
    }
}

type DynamicCheckFn = dyn Fn(Ctx, Value) -> BoxFuture<'static, Outcome<bool, DynamicFailure>> + Send + Sync;

struct DynamicCheck(Arc<DynamicCheckFn>);

impl Run for DynamicCheck {
    fn run<'a>(&self, ctx: &'a Ctx, input: &'a (dyn Any + Send)) -> BoxFuture<'a, Verdict> {
        let Some(input) = input.downcast_ref::<Value>() else { return unread() };
        let function = Arc::clone(&self.0);
        Box::pin(async move { function(ctx.clone(), input.clone()).await.map_err(crate::Fail::into_ending) })
    }
}

/// What is answered where the input is of another type than the check reads. Registration refuses that, so nothing is
/// let pass here.
fn unread<'a>() -> BoxFuture<'a, Verdict> {
    let fail = crate::Fail::<DynamicFailure>::contain("the check reads another input than the operation");
    Box::pin(std::future::ready(Err(fail.into_ending())))
}
