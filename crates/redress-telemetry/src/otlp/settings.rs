//! Where the collector is, and how much it is told.

use std::time::Duration;

use redress_core::Secret;

use crate::LogTargets;

/// Where the collector is, and how much it is told.
#[derive(Clone, Debug)]
pub struct OtlpSettings {
    pub(super) endpoint: String,
    pub(super) service: String,
    pub(super) version: String,
    pub(super) sample: f64,
    pub(super) headers: Vec<(String, Secret)>,
    pub(super) own: LogTargets,
    pub(super) interval: Duration,
    pub(super) timeout: Duration,
}

impl OtlpSettings {
    /// To the collector at `endpoint`, such as `http://127.0.0.1:4318`: every trace that begins here, as
    /// service `redress`, metrics once a minute.
    pub fn new(endpoint: impl Into<String>) -> OtlpSettings {
        OtlpSettings {
            endpoint: endpoint.into(),
            service: "redress".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            sample: 1.0,
            headers: Vec::new(),
            own: LogTargets::default(),
            interval: Duration::from_secs(60),
            timeout: Duration::from_secs(5),
        }
    }

    /// Sets what the service is called.
    #[must_use]
    pub fn service(mut self, name: impl Into<String>) -> OtlpSettings {
        self.service = name.into();
        self
    }

    /// Sets which version of the service it is.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> OtlpSettings {
        self.version = version.into();
        self
    }

    /// Sets which part of the traces that begin here is recorded, from 0 to 1. Where a caller brings a trace, it
    /// has decided.
    #[must_use]
    pub fn sample(mut self, ratio: f64) -> OtlpSettings {
        self.sample = ratio;
        self
    }

    /// Sets the crates whose spans and events are told. The one that is called as the service is one of them.
    #[must_use]
    pub fn own(mut self, crates: LogTargets) -> OtlpSettings {
        self.own = crates;
        self
    }

    /// Adds a header to every message, such as `authorization`.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: Secret) -> OtlpSettings {
        self.headers.push((name.into(), value));
        self
    }

    /// Sets how often metrics are sent.
    #[must_use]
    pub fn interval(mut self, interval: Duration) -> OtlpSettings {
        self.interval = interval;
        self
    }

    /// Sets how long the collector has to take one message.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> OtlpSettings {
        self.timeout = timeout;
        self
    }
}
