//! The limits of a registry: what a call is asked for, and what it holds until it ends.
//!
//! Why so: docs/decisions/0024-limits-by-the-first-word.md.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use redress_contract::Shape;
use redress_core::{Hold, Limit, Limited, LimitedCall, Permit, QuotaShare};
use tokio::time::Instant;

use crate::{
    LimitOptions, LimitsError,
    adaptive_limit::{AdaptiveLimit, InFlightCall, ShedReason},
    caller_usage::{CallerUsage, HeldSlots},
    source::{Chosen, LimitSource, choose, quotas, sources},
    usage_table::UsageTable,
};

/// When to come again where nothing tells: a caller whose calls have never ended, or whose streams may last.
const A_WHILE: Duration = Duration::from_secs(1);

/// Limits on the calls of a registry. A clone is the same limits.
///
/// ```
/// use redress_core::{Limit as _, LimitedCall, contract::{Caller, OperationDeclaration}};
/// use redress_limits::{LimitOptions, Limits};
///
/// let mut options = LimitOptions::default();
/// options.rate = Some("2/min".parse()?);
/// let limits = Limits::new(options)?;
///
/// let (greet, ada) = (OperationDeclaration::query("demo.greet"), Caller::new("ada"));
/// let call = LimitedCall::new(&greet, Some(&ada));
/// assert!(limits.admit(&call).is_ok());
/// assert!(limits.admit(&call).is_ok());
/// let limited = limits.admit(&call).unwrap_err();
/// assert!(limited.retry_after_ms() > Some(29_000));
/// # Ok::<(), redress_limits::LimitsError>(())
/// ```
#[derive(Clone)]
pub struct Limits(Arc<LimitsInner>);

struct LimitsInner {
    options: LimitOptions,
    sources: Vec<LimitSource>,
    usages: UsageTable,
    load: Arc<AdaptiveLimit>,
    /// Whether a call holds anything while it runs.
    calls_hold: bool,
    /// Whether a stream does.
    streams_hold: bool,
    /// Whether a call is taken from an allowance.
    has_quotas: bool,
}

/// What the limits count right now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimitFigures {
    /// The calls that run, streams left out. Where only rates and streams are limited, nothing counts them.
    pub in_flight: u32,
    /// The streams that are read.
    pub streams: u32,
    /// The callers that are told apart.
    pub callers: usize,
    /// How many calls may run at once by what has been measured; nothing while nothing is slow.
    pub shed_above: Option<u32>,
}

impl Limits {
    /// Limits by `options`, which are refused if they cannot be meant.
    pub fn new(options: LimitOptions) -> Result<Limits, LimitsError> {
        options.check()?;
        let sources = sources(&options);
        let usages = UsageTable::new(options.callers, &sources);
        Ok(Limits::of(options, sources, usages, Arc::new(AdaptiveLimit::of_this_machine())))
    }

    /// Other limits in place of these: what stays the same keeps its counts, so that nobody gets a second burst or
    /// twice the calls in flight by a reload. A rate that changes begins anew; how many calls run is known all along.
    pub fn replaced(&self, options: LimitOptions) -> Result<Limits, LimitsError> {
        options.check()?;
        let mut sources = sources(&options);
        let mut unused: Vec<(usize, &LimitSource)> = self.0.sources.iter().enumerate().collect();
        let mut kept = Vec::with_capacity(sources.len());
        for source in &mut sources {
            let found = unused.iter().position(|(_, old)| old.counts_the_same(source));
            kept.push(found.map(|found| {
                let (place, old) = unused.remove(found);
                source.together = Arc::clone(&old.together);
                (place, old.refills == source.refills)
            }));
        }
        let usages = self.0.usages.moved(options.callers, &kept, &sources);
        Ok(Limits::of(options, sources, usages, Arc::clone(&self.0.load)))
    }

    /// What is counted right now.
    pub fn figures(&self) -> LimitFigures {
        let LimitsInner { options, usages, load, .. } = &*self.0;
        LimitFigures {
            in_flight: load.in_flight(),
            streams: load.streams.load(Ordering::Relaxed),
            callers: usages.len(),
            shed_above: load.bound(Instant::now()).filter(|_| options.shed),
        }
    }

    fn of(options: LimitOptions, sources: Vec<LimitSource>, usages: UsageTable, load: Arc<AdaptiveLimit>) -> Limits {
        let counted = options.shed || options.in_flight_total.is_some();
        let calls_hold = counted || sources.iter().any(LimitSource::counts_calls);
        let streams_hold = counted || sources.iter().any(LimitSource::counts_streams);
        let has_quotas = sources.iter().any(LimitSource::has_quotas);
        Limits(Arc::new(LimitsInner { options, sources, usages, load, calls_hold, streams_hold, has_quotas }))
    }
}

impl Limit for Limits {
    fn admit(&self, call: &LimitedCall<'_>) -> Result<Option<Permit>, Limited> {
        // Whoever made the composing call has been counted; its authority is nobody who could be held to a limit.
        if call.composed {
            return Ok(None);
        }
        let inner = &*self.0;
        let now = Instant::now();
        let at = inner.usages.at(now);
        let chosen = choose(&inner.sources, call);
        let usage = inner.usages.of(call, at, &inner.sources);
        // The rate comes last: a call that is refused for another reason takes nothing from it.
        let streams = call.operation.shape() == Shape::Subscription;
        if if streams { inner.streams_hold } else { inner.calls_hold } {
            let held = self.hold(call, streams, usage, chosen, now)?;
            inner.take(&held.usage, chosen, at)?;
            Ok(Some(held.admitted()))
        } else {
            inner.take(&usage, chosen, at)?;
            Ok(None)
        }
    }

    fn has_quotas(&self) -> bool {
        self.0.has_quotas
    }

    fn quotas(&self, call: &LimitedCall<'_>) -> Vec<QuotaShare> {
        if call.composed { Vec::new() } else { quotas(&self.0.sources, call) }
    }
}

impl LimitsInner {
    /// Takes the call from its caller's rate.
    fn take(&self, usage: &CallerUsage, chosen: Chosen, at: Duration) -> Result<(), Limited> {
        let Some(place) = chosen.rate else { return Ok(()) };
        match usage.slot(place, &self.sources[place]).map(|slot| slot.take(at)) {
            Some(Err(wait)) => Err(Limited::rate(millis(wait)).named("rate", "caller")),
            Some(Ok(())) | None => Ok(()),
        }
    }

    fn no_room(&self, full: ShedReason) -> Limited {
        Limited::capacity(millis(self.load.worth_waiting(full)))
    }
}

impl Limits {
    /// Takes every place that the call needs, or none.
    fn hold(
        &self,
        call: &LimitedCall<'_>,
        streams: bool,
        usage: Arc<CallerUsage>,
        chosen: Chosen,
        now: Instant,
    ) -> Result<LimitPermit, Limited> {
        let inner = &*self.0;
        let mut held = LimitPermit {
            limits: Arc::clone(&self.0),
            usage,
            streams,
            place: None,
            together: None,
            counted: CallClass::Not,
            admitted: false,
        };
        if let Some((place, max)) = chosen.places
            && let Some(slot) = held.usage.slot(place, &inner.sources[place])
        {
            let places = slot.places();
            if !places.enter(streams, max) {
                let name = if streams { "streams" } else { "in_flight" };
                let wait = places.free_in().filter(|_| !streams).unwrap_or(A_WHILE);
                return Err(Limited::rate(millis(wait)).named(name, "caller"));
            }
            held.place = Some(place);
        }
        if streams {
            inner.load.streams.fetch_add(1, Ordering::Relaxed);
            held.counted = CallClass::Stream;
            return Ok(held);
        }
        if let Some((place, max)) = chosen.together {
            let more = |now: u32| (now < max).then(|| now + 1);
            let together = &inner.sources[place].together;
            if together.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_err() {
                return Err(inner.no_room(ShedReason::Total).named("in_flight", "rule"));
            }
            held.together = Some(place);
        }
        let measured = inner.options.shed.then(|| call.operation.name());
        match inner.load.enter(&held.usage.own, measured, inner.options.in_flight_total, now) {
            Ok(entered) => held.counted = CallClass::Call(entered),
            Err(full) => {
                let limited = inner.no_room(full);
                return Err(match full {
                    ShedReason::Total => limited.named("in_flight", "server"),
                    ShedReason::Share => limited.named("shed", "caller"),
                    ShedReason::Server => limited.named("shed", "server"),
                });
            }
        }
        Ok(held)
    }
}

/// Rounded up, since whoever comes a moment too early comes twice.
fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX).max(1)
}

/// Among what the server counts a call.
enum CallClass {
    Not,
    Stream,
    Call(InFlightCall),
}

/// What a call holds; dropping it gives everything back.
struct LimitPermit {
    limits: Arc<LimitsInner>,
    usage: Arc<CallerUsage>,
    streams: bool,
    /// The source that counts it for its caller.
    place: Option<usize>,
    /// The source that counts it for all callers.
    together: Option<usize>,
    counted: CallClass,
    /// Whether nothing has refused it.
    admitted: bool,
}

impl LimitPermit {
    fn admitted(mut self) -> Permit {
        self.admitted = true;
        Box::new(self)
    }

    fn places(&self) -> Option<&HeldSlots> {
        let place = self.place?;
        self.usage.slot(place, &self.limits.sources[place]).map(|slot| slot.places())
    }
}

impl Hold for LimitPermit {
    fn ran(&mut self, since: Option<Instant>) {
        if let CallClass::Call(entered) = &mut self.counted {
            entered.ran = true;
            entered.since = since.unwrap_or(entered.since);
        }
    }
}

impl Drop for LimitPermit {
    fn drop(&mut self) {
        let LimitsInner { sources, load, .. } = &*self.limits;
        if let Some(place) = self.together {
            sources[place].together.fetch_sub(1, Ordering::Relaxed);
        }
        if let Some(places) = self.places() {
            places.leave(self.streams);
        }
        match &self.counted {
            CallClass::Not => {}
            CallClass::Stream => {
                load.streams.fetch_sub(1, Ordering::Relaxed);
            }
            CallClass::Call(_) if !self.admitted => {
                load.give_back(&self.usage.own);
            }
            CallClass::Call(entered) => {
                let now = Instant::now();
                if let Some(places) = self.places().filter(|_| entered.ran) {
                    places.kept(now.saturating_duration_since(entered.since));
                }
                load.leave(&self.usage.own, entered, now);
            }
        }
    }
}

impl std::fmt::Debug for Limits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Limits").field("options", &self.0.options).field("figures", &self.figures()).finish()
    }
}
