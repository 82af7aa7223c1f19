//! What holds where nothing is set, as far as the command decides it. The table of settings shows these very values.

use std::time::Duration;

/// Where `serve` listens.
pub(crate) const LISTEN: &str = "127.0.0.1:7717";
pub(crate) const GRACE: Duration = Duration::from_secs(10);
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);
pub(crate) const IN_FLIGHT: usize = 1024;
/// Whether the operations that write files are there.
pub(crate) const WRITE: bool = false;
pub(crate) const CERTIFICATES_REQUIRED: bool = false;
pub(crate) const AUDITED: bool = true;
pub(crate) const SHED: bool = false;
pub(crate) const COMPRESSION: bool = true;
pub(crate) const METRICS: bool = true;
/// Whether metrics are for everybody.
pub(crate) const METRICS_OPEN: bool = false;
/// The part of the traces that is sent.
pub(crate) const SAMPLE: f64 = 1.0;
pub(crate) const ERROR_META: bool = true;
/// Whether subscriptions are tools.
pub(crate) const SUBSCRIPTIONS: bool = false;
