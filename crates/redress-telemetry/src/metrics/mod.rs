//! Counts of calls, kept in places that are made once and found by one look at a table.

mod family;
mod name;
mod operation_counts;
mod process;
mod text;

use std::{collections::HashMap, sync::Arc, time::SystemTime};

use arc_swap::ArcSwap;
use parking_lot::{Mutex, MutexGuard};
use redress_contract::{Contract, OperationDeclaration};
use redress_core::{EndedCall, Observer};

pub(crate) use family::{Family, MetricKind, MetricSample, SampleValue};
pub use name::{MetricName, names};
pub(crate) use operation_counts::BOUNDS;
use operation_counts::OperationCounts;
pub(crate) use operation_counts::{CALLS, DURATION, FAILURES, FAULT_CAUSES, FAULTS, IN_FLIGHT, LIMITED, SHED};

/// What stands for every operation and code that the contract does not name.
pub(crate) const OTHER: &str = "other";

/// What the answer of `/metrics` is: the text format of Prometheus.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

type PlaceByName = HashMap<Box<str>, usize, foldhash::fast::RandomState>;

/// Counts of the calls of a contract, by operation, face, code and duration.
///
/// It is made once for a contract, and given to each registry that serves it: over a reload of the
/// configuration the counts go on. Labels are the names in the contract, the engine's own codes and
/// `other`; nothing that a caller sends becomes one, so their number is fixed when it is made.
///
/// ```
/// use redress_core::{Layers, Registry, Request};
/// use redress_telemetry::Metrics;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let registry = Registry::builder().build().unwrap();
/// let metrics = Metrics::new(registry.contract());
/// let registry = registry.with_layers(Layers::new().observer(metrics.clone()));
///
/// let _ = registry.call("no.such", Request::default()).await;
/// let line = r#"redress_calls_total{operation="other",face="process",outcome="refused"} 1"#;
/// assert!(metrics.text().contains(line));
/// # });
/// ```
pub struct Metrics {
    counts: ArcSwap<CountTable>,
    others: Mutex<Vec<ExternalMetric>>,
    started: SystemTime,
}

/// The counts of a contract.
struct CountTable {
    /// Every operation, to its place in `counted`.
    places: PlaceByName,
    /// One for each operation, and a last one for calls of none.
    counted: Box<[Arc<OperationCounts>]>,
}

impl CountTable {
    fn new(counted: Vec<Arc<OperationCounts>>, of_none: Arc<OperationCounts>) -> CountTable {
        let places = counted.iter().enumerate().map(|(place, counts)| (counts.name().into(), place)).collect();
        CountTable { places, counted: counted.into_iter().chain([of_none]).collect() }
    }

    fn of(&self, operation: Option<&OperationDeclaration>) -> Option<&OperationCounts> {
        let place = operation.and_then(|operation| self.places.get(operation.name().as_str()));
        place.and_then(|place| self.counted.get(*place)).or(self.counted.last()).map(Arc::as_ref)
    }
}

/// A metric that another part gives.
struct ExternalMetric {
    name: MetricName,
    read: Arc<dyn Fn() -> Family + Send + Sync>,
}

impl Metrics {
    /// Metrics of this contract, with every count at nothing.
    pub fn new(contract: &Contract) -> Arc<Metrics> {
        let counted = contract.operations().iter().map(|operation| Arc::new(OperationCounts::of(operation))).collect();
        let counts = ArcSwap::from_pointee(CountTable::new(counted, Arc::new(OperationCounts::of_none())));
        Arc::new(Metrics { counts, others: Mutex::default(), started: SystemTime::now() })
    }

    /// Counts the calls of another contract from here on, such as that of a document that has changed. What both have goes
    /// on; an operation that is gone keeps what was counted of it, since calls of it may still end.
    ///
    /// ```
    /// use redress_core::contract::{Contract, OperationDeclaration};
    /// use redress_telemetry::Metrics;
    ///
    /// let metrics = Metrics::new(&Contract::new([OperationDeclaration::query("orders.list")]));
    /// metrics.follow(&Contract::new([OperationDeclaration::query("orders.get")]));
    /// assert!(["orders.list", "orders.get"].iter().all(|name| metrics.text().contains(name)));
    /// ```
    pub fn follow(&self, contract: &Contract) {
        self.counts.rcu(|before| {
            let was = |name: &str| before.places.get(name).and_then(|place| before.counted.get(*place));
            let mut counted: Vec<Arc<OperationCounts>> = Vec::new();
            for operation in contract.operations() {
                counted.push(match was(operation.name().as_str()) {
                    Some(counts) => counts.renewed(operation),
                    None => Arc::new(OperationCounts::of(operation)),
                });
            }
            let (of_none, operations) = match before.counted.split_last() {
                Some((of_none, operations)) => (Arc::clone(of_none), operations),
                None => (Arc::new(OperationCounts::of_none()), &[][..]),
            };
            let is_gone = |counts: &&Arc<OperationCounts>| contract.operation(counts.name()).is_none();
            counted.extend(operations.iter().filter(is_gone).cloned());
            CountTable::new(counted, of_none)
        });
    }

    /// Adds a level that is read whenever the metrics are: connections, sockets, a queue. One that
    /// has the same name is replaced, as a reload may have made its part anew.
    ///
    /// ```
    /// use redress_telemetry::{Metrics, names};
    ///
    /// let metrics = Metrics::new(&redress_core::contract::Contract::default());
    /// metrics.gauge(names::CONNECTIONS, || 3.0);
    /// assert!(metrics.text().contains("\nredress_connections 3\n"));
    /// ```
    pub fn gauge(&self, name: MetricName, level: impl Fn() -> f64 + Send + Sync + 'static) {
        self.give(name, move || Family::single(name, SampleValue::Level(level())));
    }

    /// The same of several things at once, each named by the value of `label`.
    ///
    /// ```
    /// use redress_telemetry::{Metrics, names};
    ///
    /// let metrics = Metrics::new(&redress_core::contract::Contract::default());
    /// metrics.gauges(names::UPSTREAM_UP, "upstream", || vec![("shop".to_owned(), 1.0)]);
    /// assert!(metrics.text().contains("redress_upstream_up{upstream=\"shop\"} 1"));
    /// ```
    pub fn gauges(
        &self,
        name: MetricName,
        label: &'static str,
        levels: impl Fn() -> Vec<(String, f64)> + Send + Sync + 'static,
    ) {
        self.give(name, move || {
            let mut family = Family::new(name, MetricKind::Gauge);
            levels().iter().for_each(|(of, level)| family.push([(label, of)], SampleValue::Level(*level)));
            family
        });
    }

    /// Counts that only grow, of several things, each named by the value of `label`. The name ends in `_total`.
    pub fn counters(
        &self,
        name: MetricName,
        label: &'static str,
        counts: impl Fn() -> Vec<(String, u64)> + Send + Sync + 'static,
    ) {
        self.give(name, move || {
            let mut family = Family::new(name, MetricKind::Counter);
            counts().iter().for_each(|(of, count)| family.push([(label, of)], SampleValue::Count(*count)));
            family
        });
    }

    /// Adds a count that only grows, and is read whenever the metrics are. Its name ends in `_total`.
    pub fn counter(&self, name: MetricName, count: impl Fn() -> u64 + Send + Sync + 'static) {
        self.give(name, move || Family::single(name, SampleValue::Count(count())));
    }

    fn give(&self, name: MetricName, read: impl Fn() -> Family + Send + Sync + 'static) {
        let given = ExternalMetric { name, read: Arc::new(read) };
        let mut others = self.others();
        match others.iter_mut().find(|other| other.name.name() == given.name.name()) {
            Some(other) => *other = given,
            None => others.push(given),
        }
    }

    /// All of it in the text format of Prometheus, as [`CONTENT_TYPE`] says.
    pub fn text(&self) -> String {
        text::text(&self.families())
    }

    /// All of it, as values.
    pub(crate) fn families(&self) -> Vec<Family> {
        let mut families = operation_counts::families(&self.counts.load().counted);
        // What is given is read outside of the lock: it may take another.
        let given: Vec<_> = self.others().iter().map(|given| Arc::clone(&given.read)).collect();
        families.extend(given.into_iter().map(|read| read()));
        families.extend(process::families(self.started));
        families
    }

    /// Since when it counts.
    #[cfg(feature = "otlp")]
    pub(crate) fn started(&self) -> SystemTime {
        self.started
    }

    fn others(&self) -> MutexGuard<'_, Vec<ExternalMetric>> {
        // The list is whole between any two lines that hold it.
        self.others.lock()
    }
}

impl Observer for Metrics {
    fn began(&self, operation: &OperationDeclaration) {
        if let Some(counted) = self.counts.load().of(Some(operation)) {
            counted.began();
        }
    }

    fn ended(&self, call: &EndedCall<'_>) {
        if let Some(counted) = self.counts.load().of(call.operation) {
            counted.ended(call);
        }
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metrics").field("operations", &self.counts.load().places.len()).finish_non_exhaustive()
    }
}
