//! The clock by which rates are counted: tokio's, which a test can hold still.

use std::ops::Add;

use governor::{
    clock::{Clock, Reference},
    nanos::Nanos,
};
use tokio::time::Instant;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallClock;

/// A moment of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(Instant);

impl Clock for CallClock {
    type Instant = Moment;

    fn now(&self) -> Moment {
        Moment(Instant::now())
    }
}

impl Add<Nanos> for Moment {
    type Output = Moment;

    fn add(self, nanos: Nanos) -> Moment {
        Moment(self.0.checked_add(nanos.into()).unwrap_or(self.0))
    }
}

impl Reference for Moment {
    fn duration_since(&self, earlier: Moment) -> Nanos {
        self.0.saturating_duration_since(earlier.0).into()
    }

    fn saturating_sub(&self, nanos: Nanos) -> Moment {
        Moment(self.0.checked_sub(nanos.into()).unwrap_or(self.0))
    }
}
