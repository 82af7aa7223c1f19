//! The bad ending of a call that one operation made to another.

use std::{error::Error, fmt, marker::PhantomData, sync::Arc};

use redress_contract::{EngineCode, Envelope, Kind, Problem, Shape, Started};

use crate::{
    AnyFailure, Failure, QuestionKind,
    registry::prepared::{Occurrence, Prepared},
};

/// The bad ending of a composed call.
///
/// `?` lets it through where the callee's failures are included, and contains it
/// everywhere else: what a callee declares, its caller has not promised to anyone.
pub struct CallFailed<F> {
    inner: CallFailedInner,
    failures: PhantomData<fn() -> F>,
}

/// The part that does not depend on the type of failures, found through `source()`.
pub(crate) struct CallFailedInner {
    problem: Box<Problem>,
    failure: Option<Arc<dyn AnyFailure>>,
}

impl<F: Failure> CallFailed<F> {
    pub(crate) fn of(envelope: Envelope, failure: Option<Arc<dyn AnyFailure>>) -> CallFailed<F> {
        match envelope.into_problem() {
            Some(problem) => CallFailed { inner: CallFailedInner { problem, failure }, failures: PhantomData },
            None => CallFailed::engine(EngineCode::Internal),
        }
    }

    /// The bad ending of a call that the engine itself ended.
    pub(crate) fn engine(code: EngineCode) -> CallFailed<F> {
        let problem = Prepared::engine(code).problem(Occurrence {
            shape: Shape::Query,
            started: Started::Yes,
            message: code.message().into(),
            details: None,
            retry_after_ms: None,
            failure: None,
        });
        CallFailed { inner: CallFailedInner { problem: Box::new(problem), failure: None }, failures: PhantomData }
    }

    /// The callee's failure, if it is one of `F` itself.
    pub fn failure(&self) -> Option<&F> {
        self.inner.failure.as_ref()?.as_any().downcast_ref()
    }
}

impl<F> CallFailed<F> {
    /// The code of the bad ending: the callee's, or the engine's.
    pub fn code(&self) -> &str {
        self.inner.problem.code.as_str()
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        self.inner.problem.kind
    }

    /// The bad ending as any other caller would have seen it.
    pub fn problem(&self) -> &Problem {
        &self.inner.problem
    }
}

impl CallFailed<()> {
    /// The callee's failure inside `error`, whatever type of `CallFailed` that is.
    pub(crate) fn failure_in(error: &(dyn Error + 'static)) -> Option<Arc<dyn AnyFailure>> {
        error.source()?.downcast_ref::<CallFailedInner>()?.failure.clone()
    }

    /// What the call inside `error`, or one below it, could not ask.
    pub(crate) fn unasked_in(error: &(dyn Error + 'static)) -> Option<QuestionKind> {
        QuestionKind::missing_in(&error.source()?.downcast_ref::<CallFailedInner>()?.problem)
    }

    /// The bad ending inside `error`, if it is a `CallFailed`.
    pub(crate) fn problem_in<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Problem> {
        error.source()?.downcast_ref::<CallFailedInner>().map(|called| &*called.problem)
    }
}

impl<F> fmt::Debug for CallFailed<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.inner, f)
    }
}

impl<F> fmt::Display for CallFailed<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a composed call ended with {}", self.code())
    }
}

impl<F> Error for CallFailed<F> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.inner)
    }
}

impl fmt::Debug for CallFailedInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Called({})", self.problem.code)
    }
}

impl fmt::Display for CallFailedInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.failure {
            // The message of a failure is made of its fields, which may hold what the callee was asked for. This text
            // goes to the log, which has no inputs.
            Some(_) => f.write_str(self.problem.code.as_str()),
            None => f.write_str(&self.problem.error),
        }
    }
}

impl Error for CallFailedInner {}
