//! File descriptors: how many this process may have, and what they leave for connections.
//!
//! A connection holds one for as long as it is open, and whoever can reach the port can open many. So
//! connections may never take the last ones: calls need some for files, state and upstreams.
//!
//! Why so: docs/decisions/0045-some-descriptors-are-kept-back.md.

use crate::ServerLimits;

/// The fewest descriptors that are kept back for work, where there are twice as many.
const KEPT: u64 = 64;
/// The part of them that is kept back: one in so many.
const PART: u64 = 10;

/// How many file descriptors this process may have open.
///
/// ```
/// use redress_serve::{Descriptors, ServerLimits};
///
/// let few = Descriptors::of(1024);
/// let held = few.hold(ServerLimits::default());
/// assert_eq!((few.kept_back(), held.connections, held.per_address), (102, 922, 461));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptors {
    limit: u64,
}

impl Descriptors {
    /// A process that may have this many.
    pub fn of(limit: u64) -> Descriptors {
        Descriptors { limit }
    }

    /// What this process may have (`RLIMIT_NOFILE`); nothing, where there is no limit or no way to know it.
    pub fn now() -> Option<Descriptors> {
        #[cfg(unix)]
        {
            use rustix::process::{Resource, getrlimit};
            getrlimit(Resource::Nofile).current.map(Descriptors::of)
        }
        #[cfg(not(unix))]
        None
    }

    /// Raises the soft limit of this process to its hard one, and says what holds then. Which limit a
    /// process begins with is for programs that use `select`, which this is not.
    pub fn raise() -> Option<Descriptors> {
        #[cfg(unix)]
        {
            use rustix::process::{Resource, getrlimit, setrlimit};
            let mut limit = getrlimit(Resource::Nofile);
            if limit.current != limit.maximum {
                limit.current = limit.maximum;
                if let Err(error) = setrlimit(Resource::Nofile, limit) {
                    tracing::warn!(%error, "the limit of file descriptors cannot be raised");
                }
            }
        }
        Descriptors::now()
    }

    /// How many it may have.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// How many of them are kept back for work.
    pub fn kept_back(&self) -> u64 {
        (self.limit / PART).max(KEPT).min(self.limit / 2)
    }

    /// The limits that hold: no more connections than descriptors are left for, and from one address no
    /// more than half of those.
    #[must_use]
    pub fn hold(&self, limits: ServerLimits) -> ServerLimits {
        let left = usize::try_from(self.limit - self.kept_back()).unwrap_or(usize::MAX).max(1);
        ServerLimits {
            connections: limits.connections.min(left),
            per_address: limits.per_address.min(left.div_ceil(2)),
            ..limits
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_never_take_the_descriptors_that_work_needs() {
        let (all, of_one) = (ServerLimits::default().connections, ServerLimits::default().per_address);
        for (limit, kept, connections, per_address) in [
            (0, 0, 1, 1),
            (2, 1, 1, 1),
            (100, 50, 50, 25),
            (128, 64, 64, 32),
            (1024, 102, 922, 461),
            (20_000, 2000, all, of_one),
            (u64::MAX, u64::MAX / 10, all, of_one),
        ] {
            let descriptors = Descriptors::of(limit);
            let held = descriptors.hold(ServerLimits::default());
            let found = (descriptors.kept_back(), held.connections, held.per_address);
            assert_eq!(found, (kept, connections, per_address), "{limit}");
        }
        let few = ServerLimits { connections: 3, per_address: 3, ..ServerLimits::default() };
        let held = Descriptors::of(128).hold(few);
        assert_eq!((held.connections, held.per_address), (3, 3), "what is set lower stays");
    }
}
