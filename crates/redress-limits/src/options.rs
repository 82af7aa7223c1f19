//! What is limited, for whom and how much.

use redress_contract::Name;

use redress_core::QuotaWindow;

use crate::{Quota, Rate};

/// What is limited, for whom and how much. The default limits nothing.
///
/// For each of rate, calls in flight, streams and quotas, the first [rule](LimitRule) decides that fits a call and says
/// something about it; where none does, what is said here. A rule may therefore give less than the rest, or more.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimitOptions {
    /// How often each caller may call.
    pub rate: Option<Rate>,
    /// How many calls of one caller run at once.
    pub in_flight: Option<u32>,
    /// How many streams one caller reads at once.
    pub streams: Option<u32>,
    /// How many calls run at once, of all callers together.
    pub in_flight_total: Option<u32>,
    /// How many calls each caller has in an hour, a day or a month: one at most of each. They are counted by the
    /// [`QuotaStore`](redress_core::QuotaStore) of the registry, and refused where it has none.
    pub quotas: Vec<Quota>,
    /// Whether calls are refused when they would make the others slow.
    pub shed: bool,
    /// What holds for some operations or callers.
    pub rules: Vec<LimitRule>,
    /// How many callers are told apart at once, and as many addresses of the anonymous beside them. Those beyond share
    /// what one may have.
    pub callers: usize,
}

impl Default for LimitOptions {
    fn default() -> LimitOptions {
        LimitOptions {
            rate: None,
            in_flight: None,
            streams: None,
            in_flight_total: None,
            quotas: Vec::new(),
            shed: false,
            rules: Vec::new(),
            callers: 100_000,
        }
    }
}

/// What holds for some operations, some callers, or some operations of some callers.
///
/// Each caller has its own count of each rule: calls that a rule counts are counted there and not beside those
/// that no rule counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimitRule {
    /// The operations: names (`files.read`), namespaces (`files.*`) or all (`*`). None at all stands for all.
    pub operations: Vec<String>,
    /// The ids of the callers; `anonymous` stands for those without one. None at all stands for all.
    pub callers: Vec<String>,
    /// How often each of the callers may call these operations.
    pub rate: Option<Rate>,
    /// How many calls of these operations run at once for each of the callers.
    pub in_flight: Option<u32>,
    /// How many of these streams each of the callers reads at once.
    pub streams: Option<u32>,
    /// How many calls of these operations run at once, for all of the callers together.
    pub in_flight_total: Option<u32>,
    /// How many calls of these operations each of the callers has in an hour, a day or a month: one at most of each.
    pub quotas: Vec<Quota>,
}

impl LimitRule {
    /// A rule for these operations, which limits nothing yet.
    pub fn new<S: Into<String>>(operations: impl IntoIterator<Item = S>) -> LimitRule {
        LimitRule { operations: operations.into_iter().map(Into::into).collect(), ..LimitRule::default() }
    }

    /// The same rule, for these callers alone.
    #[must_use]
    pub fn for_callers<S: Into<String>>(mut self, callers: impl IntoIterator<Item = S>) -> LimitRule {
        self.callers = callers.into_iter().map(Into::into).collect();
        self
    }
}

/// Why limits cannot be as they are written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LimitsError {
    /// A rate is not `100/s`, `100/min` or `100/h`.
    #[error("`{text}` is not a rate: write a number and a unit, such as `100/s`, `10/min` or `5/h`")]
    Rate {
        /// What was given.
        text: String,
    },
    /// A quota is not `100/hour`, `1000/day` or `10000/month`.
    #[error("`{text}` is not a quota: write a number and a unit, such as `100/hour`, `1000/day` or `10000/month`")]
    Quota {
        /// What was given.
        text: String,
    },
    /// Two quotas for the same time, of which one means nothing.
    #[error("there are two quotas for one {}: give one", .window.as_str())]
    QuotaTwice {
        /// Which time.
        window: QuotaWindow,
    },
    /// A burst that takes longer to come back than can be counted.
    #[error("a burst of {burst} at {rate} would take centuries to come back: give fewer, or a higher rate")]
    Burst {
        /// How often calls may be made.
        rate: String,
        /// How many at once were asked for.
        burst: u32,
    },
    /// A limit of nothing would refuse every call.
    #[error("`{setting}` is 0, which would refuse every call: give at least 1, or leave it out")]
    Zero {
        /// Which setting.
        setting: &'static str,
    },
    /// A pattern fits no operation's name.
    #[error("`{pattern}` fits no operation: write a name (`files.read`), a namespace (`files.*`) or `*`")]
    Pattern {
        /// What was given.
        pattern: String,
    },
    /// A rule limits nothing, so it has been written for a setting that is missing.
    #[error("rule {number} limits nothing: give it `rate`, `in_flight`, `streams`, `quota` or `in_flight_total`")]
    Empty {
        /// Which rule, the first being 1.
        number: usize,
    },
}

impl LimitOptions {
    /// Looks for what cannot be meant.
    pub(crate) fn check(&self) -> Result<(), LimitsError> {
        at_least_one([self.in_flight, self.streams, self.in_flight_total])?;
        Quota::check(&self.quotas)?;
        if self.callers == 0 {
            return Err(LimitsError::Zero { setting: "callers" });
        }
        for (place, rule) in self.rules.iter().enumerate() {
            rule.check(place + 1)?;
        }
        Ok(())
    }
}

impl LimitRule {
    fn check(&self, number: usize) -> Result<(), LimitsError> {
        at_least_one([self.in_flight, self.streams, self.in_flight_total])?;
        Quota::check(&self.quotas)?;
        let counts = [self.in_flight, self.streams, self.in_flight_total];
        if self.rate.is_none() && self.quotas.is_empty() && counts.iter().all(Option::is_none) {
            return Err(LimitsError::Empty { number });
        }
        match self.operations.iter().find(|pattern| !is_pattern(pattern)) {
            Some(pattern) => Err(LimitsError::Pattern { pattern: pattern.clone() }),
            None => Ok(()),
        }
    }
}

fn at_least_one([in_flight, streams, in_flight_total]: [Option<u32>; 3]) -> Result<(), LimitsError> {
    let named = [("in_flight", in_flight), ("streams", streams), ("in_flight_total", in_flight_total)];
    match named.into_iter().find(|(_, value)| *value == Some(0)) {
        Some((setting, _)) => Err(LimitsError::Zero { setting }),
        None => Ok(()),
    }
}

fn is_pattern(pattern: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some("") => true,
        // What stands before the star ends a segment, so that `files.*` does not fit `filesystem.read`.
        Some(namespace) => namespace.ends_with('.') && Name::new(&format!("{namespace}x")).is_ok(),
        None => Name::new(pattern).is_ok(),
    }
}
