//! What a handler returns when it does not succeed: one `?` for three kinds of error.

use std::{any::Any, error::Error, fmt, marker::PhantomData, sync::Arc};

use redress_contract::{Json, Kind, Name, NextAction, Similar};

use crate::{AnyFailure, CallFailed, DeclaredBy, Failure, NoFailure, hooks::classify::Judged, similar};

/// What an operation's function returns: its output, or a bad ending.
pub type Outcome<T, E = NoFailure> = Result<T, Fail<E>>;

/// A bad ending on its way out of a handler.
///
/// `?` turns every error into one: a failure that `E` declares or includes stays what it
/// is; anything else is kept as a cause for the log and reaches no caller.
/// It is as small as a pointer, and deliberately not an [`Error`] itself: that is what
/// lets one conversion take them all.
pub struct Fail<E> {
    parts: Box<ErasedFail>,
    failures: PhantomData<fn() -> E>,
}

/// A bad ending, its type of failures forgotten.
pub(crate) struct ErasedFail {
    pub(crate) cause: FailCause,
    pub(crate) hint: Option<String>,
    pub(crate) next_actions: Vec<NextAction>,
    pub(crate) similar: Vec<Similar>,
}

/// Why a handler did not succeed.
pub(crate) enum FailCause {
    /// A structured failure; whether its code is declared is checked by the call path.
    Failure(Arc<dyn AnyFailure>),
    /// A structured failure of a type that is not declared where it has come to, whatever its code.
    Undeclared(Arc<dyn AnyFailure>),
    /// Anything else. It has no way to be serialised.
    Foreign(Box<dyn Error + Send + Sync>),
}

impl ErasedFail {
    pub(crate) fn new(cause: FailCause) -> Box<ErasedFail> {
        Box::new(ErasedFail { cause, hint: None, next_actions: Vec::new(), similar: Vec::new() })
    }
}

impl<E: Failure> Fail<E> {
    /// Contains `error`: it is logged, and the caller learns nothing of it.
    pub fn contain(error: impl Into<Box<dyn Error + Send + Sync>>) -> Fail<E> {
        Fail::of(FailCause::Foreign(error.into()))
    }

    /// Contains `error` where its author knows what sort of error it is: the code that is answered, the log and the
    /// metrics go by `kind`, and neither the type of the error nor its text is asked.
    ///
    /// ```
    /// use redress_core::{Fail, Outcome, contract::Kind};
    ///
    /// fn charge() -> Outcome<u64> {
    ///     // The caller is told UPSTREAM_UNREACHABLE, and to wait.
    ///     Err(Fail::contain_as(Kind::Unavailable, "the ledger is closed for the night"))
    /// }
    /// # assert!(charge().is_err());
    /// ```
    pub fn contain_as(kind: Kind, error: impl Into<Box<dyn Error + Send + Sync>>) -> Fail<E> {
        Fail::contain(Judged::new(kind, error.into()))
    }

    pub(crate) fn of(cause: FailCause) -> Fail<E> {
        Fail { parts: ErasedFail::new(cause), failures: PhantomData }
    }

    /// The failure, if it is one of `E` itself.
    pub fn failure(&self) -> Option<&E> {
        match &self.parts.cause {
            FailCause::Failure(failure) => failure.as_any().downcast_ref(),
            FailCause::Undeclared(_) | FailCause::Foreign(_) => None,
        }
    }

    /// The code, if it is a structured failure.
    pub fn code(&self) -> Option<&str> {
        match &self.parts.cause {
            FailCause::Failure(failure) | FailCause::Undeclared(failure) => Some(failure.code()),
            FailCause::Foreign(_) => None,
        }
    }

    /// The contained error, if it is not a structured failure.
    pub fn cause(&self) -> Option<&(dyn Error + 'static)> {
        match &self.parts.cause {
            FailCause::Failure(_) | FailCause::Undeclared(_) => None,
            FailCause::Foreign(error) => Some(Judged::inside(&**error)),
        }
    }

    /// Replaces the hint, for this occurrence.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Fail<E> {
        self.parts.hint = Some(hint.into());
        self
    }

    /// Adds those of the candidates that are near to what was asked for, nearest first.
    #[must_use]
    pub fn with_similar<S: Into<String>>(mut self, wanted: &str, candidates: impl IntoIterator<Item = S>) -> Fail<E> {
        self.parts.similar = similar::nearest(wanted, candidates.into_iter().map(Into::into))
            .into_iter()
            .map(|value| Similar { value })
            .collect();
        self
    }

    /// Adds what is near to what was asked for where the call site has ranked it itself, nearest first; a few are shown.
    #[must_use]
    pub fn with_nearest<S: Into<String>>(mut self, nearest: impl IntoIterator<Item = S>) -> Fail<E> {
        let nearest = nearest.into_iter().take(similar::SHOWN);
        self.parts.similar = nearest.map(|value| Similar { value: value.into() }).collect();
        self
    }

    /// Adds a call that helps, in place of what the declaration says. One that the caller could not make now is left
    /// out, and the log says why: there is no such operation, the caller may not call it or is not shown it, it streams,
    /// or it does not take this input.
    #[must_use]
    pub fn with_next_action<I: serde::Serialize>(mut self, operation: &str, input: &I, why: &str) -> Fail<E> {
        match (Name::new(operation), Json::of(input)) {
            (Ok(operation), Ok(input)) => {
                self.parts.next_actions.push(NextAction { operation, input, why: Some(why.into()) });
            }
            (Err(_), _) => {
                tracing::warn!(why = "there is no such operation", "a next action of the call site is left out");
            }
            (Ok(_), Err(_)) => {
                tracing::warn!(why = "its input cannot be written", "a next action of the call site is left out");
            }
        }
        self
    }

    /// The same bad ending where the failures of `F` are declared. A failure of a type that `F` does
    /// not include is an undeclared one from here on, even if `F` has a code of the same name: what
    /// that code means here is for `F` to say.
    ///
    /// `?` does this for a failure, but not for a `Fail`, since both sides may be the same
    /// type: `read_index(ctx).await.map_err(Fail::widen)?`.
    #[must_use]
    pub fn widen<F: Failure>(self) -> Fail<F> {
        let mut parts = self.parts;
        parts.cause = match parts.cause {
            FailCause::Failure(failure) if !F::includes(failure.as_any().type_id()) => FailCause::Undeclared(failure),
            cause @ (FailCause::Failure(_) | FailCause::Undeclared(_) | FailCause::Foreign(_)) => cause,
        };
        Fail { parts, failures: PhantomData }
    }

    pub(crate) fn into_ending(self) -> Box<ErasedFail> {
        self.parts
    }
}

/// What `?` turns into a [`Fail`]: every error.
#[diagnostic::on_unimplemented(
    message = "`?` does not turn `{Self}` into this outcome's `Fail`",
    label = "an outcome of other failures: write `.map_err(Fail::widen)?`, and include its enum in this one's",
    note = "`#[failure(include(…))]` is what declares the failures of another enum; without it they are undeclared"
)]
pub trait Raised: Error + Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<X: Error + Send + Sync + 'static> Raised for X {}

impl<E: Failure, X: Raised> From<X> for Fail<E> {
    fn from(error: X) -> Fail<E> {
        let mut slot = Some(error);
        if let Some(failure) = E::absorb(&mut slot as &mut dyn Any) {
            return Fail::of(FailCause::Failure(failure));
        }
        match slot {
            Some(error) => match CallFailed::failure_in(&error) {
                Some(failure) if E::includes(failure.as_any().type_id()) => Fail::of(FailCause::Failure(failure)),
                Some(_) | None => Fail::contain(error),
            },
            // `absorb` takes the error out of the slot only when it returns it.
            None => Fail::contain("a failure was lost on its way out"),
        }
    }
}

impl<E: Failure> fmt::Debug for Fail<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.parts.cause {
            FailCause::Failure(failure) => write!(f, "Fail({failure:?})"),
            FailCause::Undeclared(failure) => write!(f, "Fail(undeclared {failure:?})"),
            FailCause::Foreign(error) => write!(f, "Fail(contained {error:?})"),
        }
    }
}

/// What the body of a strict operation may fail with: a declared failure and nothing else.
pub struct Only<E>(Fail<E>);

impl<E: Failure, F: DeclaredBy<E>> From<F> for Only<E> {
    fn from(failure: F) -> Only<E> {
        Only(Fail::of(FailCause::Failure(Arc::new(failure))))
    }
}

/// The types that an outcome is made of, for code that only sees the whole.
#[diagnostic::on_unimplemented(
    message = "an operation returns `Outcome<T, E>`, not `{Self}`",
    label = "write `Outcome<T, E>` here",
    note = "`E` is the enum that derives `Failure`; leave it out if the operation declares no failures"
)]
pub trait IsOutcome {
    /// What comes out.
    type Output;
    /// What it declares to fail with.
    type Failure: Failure;

    /// The same, where only declared failures compile.
    type Strict;

    /// Lets the strict form out.
    fn from_strict(strict: Self::Strict) -> Self;

    /// The outcome itself.
    fn into_outcome(self) -> Outcome<Self::Output, Self::Failure>;
}

impl<T, E: Failure> IsOutcome for Outcome<T, E> {
    type Output = T;
    type Failure = E;
    type Strict = Result<T, Only<E>>;

    fn from_strict(strict: Self::Strict) -> Self {
        strict.map_err(|Only(fail)| fail)
    }

    fn into_outcome(self) -> Outcome<T, E> {
        self
    }
}
