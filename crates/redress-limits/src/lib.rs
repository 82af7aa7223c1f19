//! *How much* may be asked for: rates, quotas, concurrency and load shedding, per caller and operation.
//!
//! **Invariant:** this crate refuses and never delays; what it admits, it does not touch again.
//!
//! [`Limits`] is one [`Limit`](redress_core::Limit) of a registry. It asks, in this order: does the caller have a place
//! free, does the rule, does the server, can the server bear one more call ([shedding](LimitOptions::shed)), and is the
//! caller within its rate. A call that one of them refuses costs nothing of the others, and a composed call costs
//! nothing at all: the call that makes it has been admitted. Which [quotas](LimitOptions::quotas) a call is taken from is
//! said here too; they are counted where they outlive the process, by the store of the registry.
//!
//! ```
//! use redress_core::{Layers, Registry};
//! use redress_limits::{LimitOptions, LimitRule, Limits, Rate};
//!
//! let mut options = LimitOptions::default();
//! options.rate = Some("100/s".parse::<Rate>()?.with_burst(200)?);
//! options.in_flight = Some(64);
//! let mut reports = LimitRule::new(["reports.*"]);
//! reports.in_flight = Some(2);
//! options.rules.push(reports);
//!
//! let limits = Limits::new(options)?;
//! let registry = Registry::builder().build().unwrap().with_layers(Layers::new().limit(limits));
//! # drop(registry);
//! # Ok::<(), redress_limits::LimitsError>(())
//! ```

mod adaptive_limit;
mod caller_load;
mod caller_usage;
mod clock;
mod limits;
mod mean;
mod options;
mod quota;
mod rate;
mod source;
mod usage_table;

pub use limits::{LimitFigures, Limits};
pub use options::{LimitOptions, LimitRule, LimitsError};
pub use quota::Quota;
pub use rate::Rate;
