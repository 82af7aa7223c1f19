//! The counts of one operation. To count takes a few atomic additions, and neither a lock nor memory.
//!
//! Why so: docs/decisions/0025-telemetry-counts-once.md.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use redress_contract::{EngineCode, Kind, OperationDeclaration};
use redress_core::{EndedCall, Face, Fault};

use super::{Family, MetricKind, MetricName, OTHER, PlaceByName, SampleValue};

pub(crate) const CALLS: MetricName = MetricName::new("redress_calls_total", "Calls that have ended.");
pub(crate) const FAILURES: MetricName =
    MetricName::new("redress_failures_total", "Calls that ended badly, by the code that their callers saw.");
pub(crate) const FAULTS: MetricName =
    MetricName::new("redress_faults_total", "Calls that ended in a way that their operation does not declare.");
pub(crate) const FAULT_CAUSES: MetricName = MetricName::new(
    "redress_fault_causes_total",
    "Foreign errors that were contained, by what sort of error each was.",
);
pub(crate) const DURATION: MetricName =
    MetricName::new("redress_call_duration_seconds", "How long calls took, streams to their end.");
pub(crate) const IN_FLIGHT: MetricName = MetricName::new("redress_calls_in_flight", "Calls that run.");
pub(crate) const LIMITED: MetricName =
    MetricName::new("redress_limited_total", "Calls that were refused since their caller made too many.");
pub(crate) const SHED: MetricName =
    MetricName::new("redress_shed_total", "Calls that were refused since there was no capacity.");

/// The upper bounds of the buckets of durations, in microseconds.
pub(crate) const BOUNDS: [u64; 15] = [
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000,
    10_000_000, 30_000_000,
];

/// How a call ended, in a word.
#[derive(Clone, Copy)]
enum OutcomeLabel {
    /// Well.
    Ok,
    /// As the operation declares that it may.
    Failure,
    /// By the engine: refused before the operation ran, or stopped while it did.
    Refused,
    /// In a way that is not declared.
    Fault,
    /// With questions to its caller.
    Asked,
}

const ENDINGS: [(OutcomeLabel, &str); 5] = [
    (OutcomeLabel::Ok, "ok"),
    (OutcomeLabel::Failure, "failure"),
    (OutcomeLabel::Refused, "refused"),
    (OutcomeLabel::Fault, "fault"),
    (OutcomeLabel::Asked, "asked"),
];

/// The counts of one operation.
pub(super) struct OperationCounts {
    operation: Box<str>,
    calls: [[AtomicU64; ENDINGS.len()]; Face::ALL.len()],
    faults: [AtomicU64; Fault::ALL.len()],
    causes: [AtomicU64; Kind::ALL.len()],
    /// What was refused by this service itself. A call that has contained such a refusal below it has the same code,
    /// and is counted where it was refused.
    limited: AtomicU64,
    shed: AtomicU64,
    /// The engine's codes first, in their own order, then those that the operation declares, then a
    /// last one for all that is neither.
    codes: Box<[Coded]>,
    /// Every code, to its place in `codes`.
    places: PlaceByName,
    buckets: [AtomicU64; BOUNDS.len() + 1],
    nanoseconds: AtomicU64,
    /// Shared with the counts in whose place these came: calls end that began there.
    in_flight: Arc<AtomicI64>,
}

struct Coded {
    code: Box<str>,
    kind: Kind,
    count: AtomicU64,
}

impl OperationCounts {
    pub(super) fn of(operation: &OperationDeclaration) -> OperationCounts {
        let declared = operation.failures().iter().map(|failure| (failure.code().as_str(), failure.kind()));
        OperationCounts::new(operation.name().as_str(), declared)
    }

    /// The counts of calls that came to no operation.
    pub(super) fn of_none() -> OperationCounts {
        OperationCounts::new(OTHER, std::iter::empty())
    }

    fn new<'a>(operation: &str, declared: impl Iterator<Item = (&'a str, Kind)>) -> OperationCounts {
        let engine = EngineCode::ALL.into_iter().map(|code| (code.as_str(), code.kind()));
        // A layer may contribute an engine code to the operations that it covers.
        let declared = declared.filter(|(code, _)| EngineCode::parse(code).is_none());
        let coded = |(code, kind): (&str, Kind)| Coded { code: code.into(), kind, count: AtomicU64::new(0) };
        let codes: Box<[Coded]> = engine.chain(declared).chain([(OTHER, Kind::Unknown)]).map(coded).collect();
        OperationCounts {
            operation: operation.into(),
            calls: Default::default(),
            faults: Default::default(),
            causes: Default::default(),
            limited: AtomicU64::new(0),
            shed: AtomicU64::new(0),
            places: codes.iter().enumerate().map(|(place, coded)| (coded.code.clone(), place)).collect(),
            codes,
            buckets: Default::default(),
            nanoseconds: AtomicU64::new(0),
            in_flight: Arc::default(),
        }
    }

    /// The counts of the operation as it is declared by now: the same where its codes are.
    pub(super) fn renewed(self: &Arc<OperationCounts>, operation: &OperationDeclaration) -> Arc<OperationCounts> {
        let mut made = OperationCounts::of(operation);
        let is_same = made.codes.len() == self.codes.len()
            && made.codes.iter().zip(&self.codes).all(|(new, old)| (&new.code, new.kind) == (&old.code, old.kind));
        if is_same {
            return Arc::clone(self);
        }
        made.in_flight = Arc::clone(&self.in_flight);
        Arc::new(made)
    }

    pub(super) fn name(&self) -> &str {
        &self.operation
    }

    pub(super) fn began(&self) {
        self.in_flight.fetch_add(1, Relaxed);
    }

    pub(super) fn ended(&self, call: &EndedCall<'_>) {
        if call.operation.is_some() {
            self.in_flight.fetch_sub(1, Relaxed);
        }
        let ending = match (call.problem, call.fault) {
            (None, _) if call.asks => OutcomeLabel::Asked,
            (None, fault) => {
                // An output that breaks its schema, and is delivered all the same.
                if let Some(fault) = fault {
                    add(self.faults.get(Fault::ALL.iter().position(|one| *one == fault).unwrap_or_default()), 1);
                }
                OutcomeLabel::Ok
            }
            (Some(problem), fault) => {
                let last = self.codes.len() - 1;
                let place = self.places.get(problem.code.as_str()).copied().unwrap_or(last);
                add(self.codes.get(place).map(|coded| &coded.count), 1);
                match fault {
                    Some(fault) => {
                        add(self.faults.get(Fault::ALL.iter().position(|one| *one == fault).unwrap_or_default()), 1);
                        let kind = call.cause.and_then(|kind| Kind::ALL.iter().position(|one| *one == kind));
                        add(kind.and_then(|kind| self.causes.get(kind)), 1);
                        OutcomeLabel::Fault
                    }
                    None if place < EngineCode::ALL.len() => {
                        self.refused(problem.code.as_str());
                        OutcomeLabel::Refused
                    }
                    None => OutcomeLabel::Failure,
                }
            }
        };
        let face = Face::ALL.iter().position(|face| *face == call.face).unwrap_or_default();
        add(self.calls.get(face).and_then(|calls| calls.get(ending as usize)), 1);
        add(self.buckets.get(bucket(call.elapsed)), 1);
        self.nanoseconds.fetch_add(u64::try_from(call.elapsed.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }

    fn refused(&self, code: &str) {
        if [EngineCode::RateLimited, EngineCode::QuotaExhausted].iter().any(|limit| code == limit.as_str()) {
            add(Some(&self.limited), 1);
        } else if code == EngineCode::Overloaded.as_str() {
            add(Some(&self.shed), 1);
        }
    }
}

/// Every place is inside its array; where it were not, nothing would be counted.
fn add(counter: Option<&AtomicU64>, more: u64) {
    if let Some(counter) = counter {
        counter.fetch_add(more, Relaxed);
    }
}

fn bucket(elapsed: Duration) -> usize {
    let micros = elapsed.as_micros();
    let exact = elapsed.subsec_nanos().is_multiple_of(1000);
    BOUNDS.partition_point(|bound| u128::from(*bound) < micros || (u128::from(*bound) == micros && !exact))
}

/// The counts of all operations. What is known beforehand is there from the beginning, so that its first
/// increase is seen as one: durations, faults, limits, and the codes that an operation declares. Other codes,
/// the kinds of causes and faces come as they are met.
pub(super) fn families(all: &[Arc<OperationCounts>]) -> Vec<Family> {
    let mut calls = Family::new(CALLS, MetricKind::Counter);
    let mut failures = Family::new(FAILURES, MetricKind::Counter);
    let mut faults = Family::new(FAULTS, MetricKind::Counter);
    let mut causes = Family::new(FAULT_CAUSES, MetricKind::Counter);
    let mut limited = Family::new(LIMITED, MetricKind::Counter);
    let mut shed = Family::new(SHED, MetricKind::Counter);
    let mut in_flight = Family::new(IN_FLIGHT, MetricKind::Gauge);
    let mut duration = Family::new(DURATION, MetricKind::Histogram);
    for counted in all {
        let operation = ("operation", &*counted.operation);
        for (face, by_ending) in Face::ALL.iter().zip(&counted.calls) {
            for ((_, outcome), count) in ENDINGS.iter().zip(by_ending) {
                let count = count.load(Relaxed);
                if count > 0 {
                    calls.push([operation, ("face", face.as_str()), ("outcome", outcome)], SampleValue::Count(count));
                }
            }
        }
        for (place, Coded { code, kind, count }) in counted.codes.iter().enumerate() {
            let count = count.load(Relaxed);
            let declared = (EngineCode::ALL.len()..counted.codes.len() - 1).contains(&place);
            if declared || count > 0 {
                failures.push([operation, ("code", code), ("kind", kind.as_str())], SampleValue::Count(count));
            }
        }
        for (fault, count) in Fault::ALL.iter().zip(&counted.faults) {
            faults.push([operation, ("fault", fault.as_str())], SampleValue::Count(count.load(Relaxed)));
        }
        for (kind, count) in Kind::ALL.iter().zip(&counted.causes) {
            let count = count.load(Relaxed);
            if count > 0 {
                causes.push([operation, ("kind", kind.as_str())], SampleValue::Count(count));
            }
        }
        limited.push([operation], SampleValue::Count(counted.limited.load(Relaxed)));
        shed.push([operation], SampleValue::Count(counted.shed.load(Relaxed)));
        let running = u32::try_from(counted.in_flight.load(Relaxed)).unwrap_or(0);
        in_flight.push([operation], SampleValue::Level(f64::from(running)));
        let buckets = counted.buckets.iter().map(|bucket| bucket.load(Relaxed)).collect();
        let sum = Duration::from_nanos(counted.nanoseconds.load(Relaxed)).as_secs_f64();
        duration.push([operation], SampleValue::Spread { buckets, sum });
    }
    vec![calls, failures, faults, causes, limited, shed, in_flight, duration]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_in_the_first_bucket_whose_bound_it_does_not_pass() {
        assert_eq!(bucket(Duration::ZERO), 0);
        assert_eq!(bucket(Duration::from_micros(500)), 0);
        assert_eq!(bucket(Duration::from_nanos(500_001)), 1);
        assert_eq!(bucket(Duration::from_secs(30)), BOUNDS.len() - 1);
        assert_eq!(bucket(Duration::from_secs(31)), BOUNDS.len());
    }
}
