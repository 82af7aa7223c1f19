//! What is seen of the services behind the gateway: in metrics, and at `/readyz`.

use redress_telemetry::Metrics;
use serde_json::{Map, Value};

/// The services that are served now. A clone is the same list.
#[derive(Clone, Default)]
pub(crate) struct UpstreamList {
    #[cfg(feature = "gateway")]
    listed: std::sync::Arc<parking_lot::RwLock<Listed>>,
}

#[cfg(feature = "gateway")]
type Listed = Vec<(String, Option<redress_upstream::Upstream>)>;

#[cfg(not(feature = "gateway"))]
impl UpstreamList {
    pub(super) fn count(&self, _: &Metrics) {}

    /// What `/readyz` says of them.
    pub(crate) fn ready_details(&self) -> Map<String, Value> {
        Map::new()
    }
}

#[cfg(feature = "gateway")]
impl UpstreamList {
    /// Tells of these from here on.
    pub(crate) fn set(&self, upstreams: Listed) {
        *self.listed.write() = upstreams;
    }

    /// Counts what is known of them.
    #[expect(clippy::cast_precision_loss, reason = "a level is shown and not reckoned with")]
    pub(super) fn count(&self, metrics: &Metrics) {
        use redress_telemetry::names;
        use redress_upstream::{BreakerState, UpstreamHealth};

        fn each<T>(list: &UpstreamList, read: impl Fn(Option<UpstreamHealth>) -> T) -> Vec<(String, T)> {
            let listed = list.listed.read();
            listed.iter().map(|(name, one)| (name.clone(), read(one.as_ref().map(|one| one.health())))).collect()
        }
        let (up, running, sent, failed) = (self.clone(), self.clone(), self.clone(), self.clone());
        metrics.gauges(names::UPSTREAM_UP, "upstream", move || {
            each(&up, |health| f64::from(u8::from(health.is_some_and(|health| health.breaker == BreakerState::Closed))))
        });
        metrics.gauges(names::UPSTREAM_IN_FLIGHT, "upstream", move || {
            each(&running, |health| health.map_or(0.0, |health| health.in_flight as f64))
        });
        metrics.counters(names::UPSTREAM_REQUESTS, "upstream", move || {
            each(&sent, |health| health.map_or(0, |health| health.sent))
        });
        metrics.counters(names::UPSTREAM_FAILURES, "upstream", move || {
            each(&failed, |health| health.map_or(0, |health| health.failed))
        });
    }

    /// What `/readyz` says of them: where each stands, in a word. One that is away does not make the rest so.
    pub(crate) fn ready_details(&self) -> Map<String, Value> {
        let listed = self.listed.read();
        let state = |(name, one): &(String, Option<redress_upstream::Upstream>)| {
            let state = one.as_ref().map_or("no_document", |one| one.health().state);
            (name.clone(), Value::from(state))
        };
        let states: Map<String, Value> = listed.iter().map(state).collect();
        if states.is_empty() { Map::new() } else { Map::from_iter([("upstreams".to_owned(), states.into())]) }
    }
}
