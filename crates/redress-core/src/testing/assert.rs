//! How a test says how something must end: by its code, and never by its text.

use redress_contract::{Envelope, Problem};
use serde_json::Value;

use super::{
    CallAnswer, Collected,
    answer::{details, read},
};
use crate::{CallFailed, Fail, Failure};

/// Asserts that something ended with the failure of this code, and returns what there is
/// to look at further.
///
/// The code is written bare, `FILE_NOT_FOUND`, or with its extension's namespace,
/// `trace.NOT_RECORDING`. It takes what a [`Harness`](crate::testing::Harness) gives, an
/// envelope, an `Outcome`, a `Fail` and the bad ending of a composed call; an envelope gives
/// its [`Problem`] back, an outcome a reference to its `Fail`.
///
/// ```
/// use redress_core::testing::assert_failure;
/// use redress_core::{DynamicFailure, Outcome};
/// use serde_json::json;
///
/// let outcome: Outcome<(), DynamicFailure> = Err(DynamicFailure::new("FILE_NOT_FOUND", json!({})).into());
/// let fail = assert_failure!(outcome, FILE_NOT_FOUND);
/// assert!(fail.failure().is_some());
/// ```
///
/// [`Problem`]: redress_contract::Problem
#[doc(hidden)]
#[macro_export]
macro_rules! __assert_failure {
    ($ended:expr, $code:ident $(,)?) => {
        $crate::testing::expect_failure(&$ended, ::core::stringify!($code))
    };
    ($ended:expr, $namespace:ident . $code:ident $(,)?) => {
        $crate::testing::expect_failure(
            &$ended,
            ::core::concat!(::core::stringify!($namespace), ".", ::core::stringify!($code)),
        )
    };
}

/// Asserts that something ended well, and returns what came out: the output as a JSON value,
/// or a reference to what an `Outcome` holds.
///
/// ```
/// use redress_core::Outcome;
/// use redress_core::testing::assert_ok;
///
/// let outcome: Outcome<u8> = Ok(7);
/// assert_eq!(*assert_ok!(outcome), 7);
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! __assert_ok {
    ($ended:expr $(,)?) => {
        $crate::testing::expect_ok(&$ended)
    };
}

/// Something that ended well or badly.
pub trait HasOutcome {
    /// What there is to look at after a good end.
    type Good<'a>
    where
        Self: 'a;
    /// What there is to look at after a bad end.
    type Bad<'a>
    where
        Self: 'a;

    /// How it ended.
    fn ended(&self) -> Result<Self::Good<'_>, Self::Bad<'_>>;

    /// The code of a bad end, if it has one.
    fn code(&self) -> Option<&str>;

    /// How it ended, for the message of a failed assertion.
    fn told(&self) -> String;
}

/// What [`assert_failure!`](crate::testing::assert_failure) calls.
///
/// # Panics
///
/// When `ended` ended in any other way.
#[track_caller]
pub fn expect_failure<'a, E: HasOutcome>(ended: &'a E, code: &str) -> E::Bad<'a> {
    if ended.code() == Some(code)
        && let Err(bad) = ended.ended()
    {
        return bad;
    }
    panic!("expected {code}, found {}", ended.told())
}

/// What [`assert_ok!`](crate::testing::assert_ok) calls.
///
/// # Panics
///
/// When `ended` ended badly.
#[track_caller]
pub fn expect_ok<E: HasOutcome>(ended: &E) -> E::Good<'_> {
    match ended.ended() {
        Ok(good) => good,
        Err(_) => panic!("expected a good end, found {}", ended.told()),
    }
}

fn told(problem: &Problem) -> String {
    let details = details(problem);
    format!("{} ({}): {}; details: {details}", problem.code, problem.kind, problem.error)
}

impl HasOutcome for Envelope {
    type Good<'a> = Value;
    type Bad<'a> = Problem;

    fn ended(&self) -> Result<Value, Problem> {
        match self.problem() {
            None => Ok(read(self).unwrap_or_default()),
            Some(problem) => Err(problem.clone()),
        }
    }

    fn code(&self) -> Option<&str> {
        self.code()
    }

    fn told(&self) -> String {
        match self.problem() {
            None => format!("a good end: {}", String::from_utf8_lossy(self.output().unwrap_or_default())),
            Some(problem) => format!("{}; request id: {}", told(problem), self.meta().request_id),
        }
    }
}

impl HasOutcome for CallAnswer {
    type Good<'a> = Value;
    type Bad<'a> = Problem;

    fn ended(&self) -> Result<Value, Problem> {
        self.0.ended()
    }

    fn code(&self) -> Option<&str> {
        self.0.code()
    }

    fn told(&self) -> String {
        self.0.told()
    }
}

/// A subscription's own good end is the items that it gave.
impl HasOutcome for Collected {
    type Good<'a> = Vec<Value>;
    type Bad<'a> = Problem;

    fn ended(&self) -> Result<Vec<Value>, Problem> {
        match self.failed().and_then(Envelope::problem) {
            None => Ok(self.items()),
            Some(problem) => Err(problem.clone()),
        }
    }

    fn code(&self) -> Option<&str> {
        self.failed().and_then(Envelope::code)
    }

    fn told(&self) -> String {
        let items = self.items.len();
        match self.failed() {
            Some(envelope) => format!("{} after {items} items", envelope.told()),
            None => format!("a good end after {items} items"),
        }
    }
}

impl<E: Failure> HasOutcome for Fail<E> {
    type Good<'a> = std::convert::Infallible;
    type Bad<'a> = &'a Fail<E>;

    fn ended(&self) -> Result<std::convert::Infallible, &Fail<E>> {
        Err(self)
    }

    fn code(&self) -> Option<&str> {
        self.code()
    }

    fn told(&self) -> String {
        match self.code() {
            Some(code) => code.to_owned(),
            None => format!("an error that is contained: {self:?}"),
        }
    }
}

impl<F: Failure> HasOutcome for CallFailed<F> {
    type Good<'a> = std::convert::Infallible;
    type Bad<'a> = &'a Problem;

    fn ended(&self) -> Result<std::convert::Infallible, &Problem> {
        Err(self.problem())
    }

    fn code(&self) -> Option<&str> {
        Some(self.code())
    }

    fn told(&self) -> String {
        told(self.problem())
    }
}

impl<T, B: HasOutcome> HasOutcome for Result<T, B> {
    type Good<'a>
        = &'a T
    where
        Self: 'a;
    type Bad<'a>
        = &'a B
    where
        Self: 'a;

    fn ended(&self) -> Result<&T, &B> {
        self.as_ref()
    }

    fn code(&self) -> Option<&str> {
        self.as_ref().err().and_then(HasOutcome::code)
    }

    fn told(&self) -> String {
        match self {
            Ok(_) => format!("a good end with a `{}`", std::any::type_name::<T>()),
            Err(bad) => bad.told(),
        }
    }
}

/// A test that has only a reference asserts the same way.
impl<E: HasOutcome> HasOutcome for &E {
    type Good<'a>
        = E::Good<'a>
    where
        Self: 'a;
    type Bad<'a>
        = E::Bad<'a>
    where
        Self: 'a;

    fn ended(&self) -> Result<E::Good<'_>, E::Bad<'_>> {
        (**self).ended()
    }

    fn code(&self) -> Option<&str> {
        (**self).code()
    }

    fn told(&self) -> String {
        (**self).told()
    }
}
