//! What is counted of one caller.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use governor::{
    RateLimiter,
    clock::Clock as _,
    middleware::NoOpMiddleware,
    nanos::Nanos,
    state::{InMemoryState, NotKeyed},
};

use crate::{caller_load::CallerLoad, clock::CallClock, mean::Mean, source::LimitSource};

type Bucket = RateLimiter<NotKeyed, InMemoryState, CallClock, NoOpMiddleware<Nanos>>;

/// What is counted of one caller: one slot for each source, made when a call first needs it.
#[derive(Debug)]
pub(crate) struct CallerUsage {
    /// What it has of the server, whichever source counts it.
    pub(crate) own: Arc<CallerLoad>,
    slots: Box<[OnceLock<SourceUsage>]>,
    /// When it was last asked for, in milliseconds of the store's own time.
    pub(crate) last_ms: AtomicU64,
}

/// What one source counts of one caller.
#[derive(Debug)]
pub(crate) struct SourceUsage {
    bucket: Option<Arc<Bucket>>,
    places: Arc<HeldSlots>,
}

/// The places that a caller has taken.
#[derive(Debug, Default)]
pub(crate) struct HeldSlots {
    calls: AtomicU32,
    streams: AtomicU32,
    /// How long a call keeps its place.
    kept: Mean,
}

impl CallerUsage {
    pub(crate) fn new(sources: &[LimitSource]) -> CallerUsage {
        let slots = sources.iter().map(|_| OnceLock::new()).collect();
        CallerUsage { own: Arc::default(), slots, last_ms: AtomicU64::new(0) }
    }

    /// What `source`, which is at `place`, counts of this caller.
    pub(crate) fn slot(&self, place: usize, source: &LimitSource) -> Option<&SourceUsage> {
        let slot = self.slots.get(place)?;
        Some(slot.get_or_init(|| SourceUsage { bucket: bucket(source), places: Arc::default() }))
    }

    /// How long it has something to remember when its caller is silent: until the rates that it has used are whole
    /// again.
    pub(crate) fn remembers(&self, sources: &[LimitSource]) -> Duration {
        let used = self.slots.iter().zip(sources).filter(|(slot, _)| slot.get().is_some());
        used.map(|(_, source)| source.refill()).max().unwrap_or_default()
    }

    /// The same caller under other sources. `kept` says for each of them which of `sources` counted the same calls, and
    /// whether its rate is the same.
    pub(crate) fn moved(&self, kept: &[Option<(usize, bool)>], sources: &[LimitSource]) -> CallerUsage {
        let slots = kept.iter().zip(sources).map(|(kept, source)| {
            let old = kept.and_then(|(place, same_rate)| Some((self.slots.get(place)?.get()?, same_rate)));
            old.map_or_else(OnceLock::new, |(slot, same_rate)| {
                let bucket = if same_rate { slot.bucket.clone() } else { bucket(source) };
                OnceLock::from(SourceUsage { bucket, places: Arc::clone(&slot.places) })
            })
        });
        CallerUsage {
            own: Arc::clone(&self.own),
            slots: slots.collect(),
            last_ms: AtomicU64::new(self.last_ms.load(Ordering::Relaxed)),
        }
    }
}

fn bucket(source: &LimitSource) -> Option<Arc<Bucket>> {
    source.refills.map(|quota| Arc::new(RateLimiter::direct_with_clock(quota, CallClock::default())))
}

impl SourceUsage {
    /// Takes one call from the rate, so long after the start, or tells how long it takes until there is one.
    pub(crate) fn take(&self, at: Duration) -> Result<(), Duration> {
        let Some(bucket) = &self.bucket else { return Ok(()) };
        bucket.clock().set(at);
        bucket.check().map_err(|not_until| not_until.wait_time_from(bucket.clock().now()))
    }

    pub(crate) fn places(&self) -> &HeldSlots {
        &self.places
    }
}

impl HeldSlots {
    /// Takes a place where fewer than `max` are taken.
    pub(crate) fn enter(&self, streams: bool, max: u32) -> bool {
        let taken = self.taken(streams);
        let more = |now: u32| (now < max).then(|| now + 1);
        taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Gives a place back.
    pub(crate) fn leave(&self, streams: bool) {
        self.taken(streams).fetch_sub(1, Ordering::Relaxed);
    }

    /// Takes note of how long a call has kept its place.
    pub(crate) fn kept(&self, time: Duration) {
        self.kept.add(time);
    }

    /// When a place is likely to become free: calls that run side by side end one after the other.
    pub(crate) fn free_in(&self) -> Option<Duration> {
        let taken = self.calls.load(Ordering::Relaxed).max(1);
        self.kept.get().map(|kept| kept / taken)
    }

    fn taken(&self, streams: bool) -> &AtomicU32 {
        if streams { &self.streams } else { &self.calls }
    }
}
