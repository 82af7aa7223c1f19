//! How much the server bears: calls in flight, and how many of them it takes before they make each other slow.
//!
//! A call that begins while little runs shows how long its operation takes by itself. As soon as calls take longer than
//! [`TOLERANCE`] times that, on the mean of a [`WINDOW`], the number of calls in flight is bounded: by as much less
//! than there were as they were too slow. From then on the bound follows what is measured, a little up when calls are
//! quick, as far down as needed when they are not, and falls away when nobody has come near it for a while.
//!
//! A call is *light* if its caller has no more than its share of what runs. Only light calls are measured: it is their
//! latency that is to be kept, and whoever asks for more may ask for what takes long by itself.
//!
//! Whoever keeps most of the server busy is refused first: at the bound, a caller is refused who already has its share
//! of it, and one who has not is still admitted, however much of others runs. So the calls of all others neither wait
//! nor fail because of one. Calls within their share are refused only where there are too many callers. And whoever has
//! far more than its share gets no more while a light call is late: a flood is there sooner than its measure.
//!
//! A wrong measure heals by itself: at the lowest bound every call counts as one that runs by itself, so an operation
//! that has become slow for good is measured anew.
//!
//! Why so: docs/decisions/0033-only-light-calls-are-measured.md.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use redress_contract::Name;
use tokio::time::Instant;

use crate::{
    caller_load::{ActiveCallers, CallerLoad},
    mean::Mean,
};

/// How many times as long as by itself a call may take.
const TOLERANCE: f64 = 1.5;
/// What takes less than this is quick, whatever it takes by itself.
const QUICK: Duration = Duration::from_millis(1);
/// One call that hangs, or asks for what takes long, weighs no more than this many times what its operation takes by
/// itself: neither in what that is, nor in what is compared with it, so that the two stay comparable.
const MAX_STRETCH: u32 = 3;
/// The bound is looked at once in this time, if enough calls have ended.
const WINDOW: Duration = Duration::from_millis(100);
const ENOUGH: u32 = 10;
/// Where calls are rare, it is looked at after this time, by fewer of them.
const LONG_WINDOW: Duration = Duration::from_secs(1);
const FEW: u32 = 3;
/// The bound falls away after so long a time in which nobody came near it.
const CALM: Duration = Duration::from_secs(5);
/// A light call that takes longer than this, and than so many times what it takes by itself, is late.
const LATE: Duration = Duration::from_millis(50);
const LATE_STRETCH: u32 = 4;
/// So many times the fewest calls that can be bounded are a flood, if they are of one caller.
const FLOOD: u32 = 8;
/// Nobody is sent away for less than this.
const MIN_WAIT: Duration = Duration::from_millis(10);
/// Nothing has ended for so long: whatever calls wait for, more of them would only wait too.
const STALL: Duration = Duration::from_secs(1);
/// No bound.
const OPEN: u32 = u32::MAX;

/// The calls of all callers.
#[derive(Debug)]
pub(crate) struct AdaptiveLimit {
    since: Instant,
    /// The bound never falls below this; fewer calls than this count as each running by itself.
    min: u32,
    in_flight: AtomicU32,
    pub(crate) streams: AtomicU32,
    /// The callers that have a call in flight.
    callers: AtomicU32,
    /// Those that have called of late, where the load is measured.
    active: ActiveCallers,
    bound: AtomicU32,
    /// When the bound was last of use, in nanoseconds since the start.
    needed: AtomicU64,
    /// How long a light call takes, of any operation.
    typical: Mean,
    /// How long calls of each operation take by themselves.
    alone: ArcSwap<HashMap<Name, Arc<Mean>, foldhash::fast::RandomState>>,
    /// When a call last ended, or little ran, in nanoseconds since the start.
    moved: AtomicU64,
    /// By when a light call should have ended that is waited for, in nanoseconds since the start; 0 where none is.
    late: AtomicU64,
    window: LatencyWindow,
}

/// What has been seen of light calls since the bound was last looked at.
#[derive(Debug, Default)]
struct LatencyWindow {
    /// When the first of them to end began, in nanoseconds since the start.
    opened: AtomicU64,
    ended: AtomicU32,
    /// The sum of how many times as long as by themselves the calls took, in thousandths.
    stretch: AtomicU64,
    /// The most calls in flight, light or not.
    peak: AtomicU32,
}

/// A call in flight.
#[derive(Debug)]
pub(crate) struct InFlightCall {
    pub(crate) since: Instant,
    /// Whether its handler ran, so that what it took says something.
    pub(crate) ran: bool,
    /// How long its operation takes by itself, where the load is measured.
    alone: Option<Arc<Mean>>,
    quiet: bool,
    light: bool,
}

/// Why there is no room for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShedReason {
    /// There are as many calls as there may be.
    Total,
    /// The caller has its share of what the server bears.
    Share,
    /// There are more callers than the server bears calls.
    Server,
}

impl AdaptiveLimit {
    pub(crate) fn new(min: u32) -> AdaptiveLimit {
        AdaptiveLimit {
            since: Instant::now(),
            min,
            in_flight: AtomicU32::new(0),
            streams: AtomicU32::new(0),
            callers: AtomicU32::new(0),
            active: ActiveCallers::default(),
            bound: AtomicU32::new(OPEN),
            needed: AtomicU64::new(0),
            typical: Mean::default(),
            alone: ArcSwap::default(),
            moved: AtomicU64::new(0),
            late: AtomicU64::new(0),
            window: LatencyWindow::default(),
        }
    }

    /// For as many processors as there are.
    pub(crate) fn of_this_machine() -> AdaptiveLimit {
        let processors =
            std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(1));
        AdaptiveLimit::new((2 * processors).max(4))
    }

    /// The calls that run.
    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight.load(Relaxed)
    }

    /// How many calls may run, where that is bounded.
    pub(crate) fn bound(&self, now: Instant) -> Option<u32> {
        Some(self.bound_at(self.nanos(now))).filter(|bound| *bound != OPEN)
    }

    /// How long a caller had better wait whom `full` has refused: as long as a light call takes. Who has its share
    /// already waits no less than the bound needs to move.
    pub(crate) fn worth_waiting(&self, full: ShedReason) -> Duration {
        let min = if full == ShedReason::Share { WINDOW } else { MIN_WAIT };
        self.typical.get().unwrap_or(WINDOW).clamp(min, Duration::from_secs(10))
    }

    /// Lets a call in whose caller has `own` calls in flight. `operation` is given where the load is to be measured
    /// and kept bearable, `total` where there is a hard bound.
    pub(crate) fn enter(
        &self,
        own: &CallerLoad,
        operation: Option<&Name>,
        total: Option<u32>,
        now: Instant,
    ) -> Result<InFlightCall, ShedReason> {
        let running = self.in_flight.fetch_add(1, Relaxed);
        let mine = own.calls.fetch_add(1, Relaxed);
        if mine == 0 {
            self.callers.fetch_add(1, Relaxed);
        }
        if total.is_some_and(|total| running >= total) {
            self.give_back(own);
            return Err(ShedReason::Total);
        }
        let Some(operation) = operation else {
            return Ok(InFlightCall { since: now, ran: false, alone: None, quiet: false, light: true });
        };
        let at = now.saturating_duration_since(self.since);
        self.active.note(own, at);
        let quiet = running < self.min;
        if let Some(full) = self.full(running, mine, quiet, nanos(at)) {
            self.give_back(own);
            return Err(full);
        }
        let light = mine == 0 || self.is_light(running, mine);
        let alone = self.alone(operation);
        if light && self.late.load(Relaxed) == 0 {
            self.late.store(nanos(at + patience(&alone)), Relaxed);
        }
        Ok(InFlightCall { since: now, ran: false, alone: Some(alone), quiet, light })
    }

    fn full(&self, running: u32, mine: u32, quiet: bool, nanos: u64) -> Option<ShedReason> {
        let bound = self.bound_at(nanos);
        if quiet {
            self.moved.store(nanos, Relaxed);
            return None;
        }
        let bound = if self.is_stalled(nanos) { self.hold_at(running, nanos) } else { bound };
        let (sharing, callers) = (self.sharing(), self.callers.load(Relaxed).max(1));
        if self.is_late(nanos) && 2 * u64::from(mine) * u64::from(sharing) > 3 * u64::from(running) {
            return Some(ShedReason::Share);
        }
        // A quarter is left to those who have less than their share, as soon as there is anybody else.
        let contested = if sharing > 1 { bound - bound / 4 } else { bound };
        if running < contested {
            None
        } else if mine >= (bound / callers).max(1) {
            Some(ShedReason::Share)
        } else {
            // Those who have less than their share may be many. What others have beyond theirs is no reason.
            let many = bound.saturating_mul(2).max(4 * self.min);
            (callers > many).then_some(ShedReason::Server)
        }
    }

    /// Whether the caller of a call that begins has no more than its share of what runs. Who floods the server while
    /// nobody else is there counts too: otherwise nothing would be measured until somebody else comes and waits.
    fn is_light(&self, running: u32, mine: u32) -> bool {
        let within_share = u64::from(mine) * u64::from(self.sharing()) <= u64::from(running);
        within_share || running >= FLOOD * self.min && self.callers.load(Relaxed) == 1
    }

    /// How many callers there are to share what the server bears, whether or not each has a call in flight just now.
    fn sharing(&self) -> u32 {
        self.active.count().max(self.callers.load(Relaxed)).max(1)
    }

    /// The bound, which falls away when nobody has come near it for a while.
    fn bound_at(&self, nanos: u64) -> u32 {
        let bound = self.bound.load(Relaxed);
        if bound != OPEN && since(nanos, &self.needed) > CALM {
            self.bound.store(OPEN, Relaxed);
            return OPEN;
        }
        bound
    }

    /// Where nothing ends, nothing is measured either.
    fn is_stalled(&self, nanos: u64) -> bool {
        let still = since(nanos, &self.moved);
        still > STALL && still > self.typical.get().unwrap_or_default() * 8
    }

    fn is_late(&self, nanos: u64) -> bool {
        let late = self.late.load(Relaxed);
        late != 0 && nanos > late
    }

    /// No more calls run than do.
    fn hold_at(&self, running: u32, nanos: u64) -> u32 {
        self.needed.store(nanos, Relaxed);
        self.bound.fetch_min(running, Relaxed).min(running)
    }

    /// Takes back a call that was let in and refused for another reason.
    pub(crate) fn give_back(&self, own: &CallerLoad) -> u32 {
        if own.calls.fetch_sub(1, Relaxed) == 1 {
            self.callers.fetch_sub(1, Relaxed);
        }
        self.in_flight.fetch_sub(1, Relaxed)
    }

    /// Lets a call out that has ended.
    pub(crate) fn leave(&self, own: &CallerLoad, entered: &InFlightCall, now: Instant) {
        let running = self.give_back(own);
        let took = now.saturating_duration_since(entered.since);
        if entered.light && entered.ran {
            self.typical.add(took);
        }
        let Some(alone) = &entered.alone else { return };
        // A light call that was late is no sign that the next one will not be.
        if entered.light && (!entered.ran || took <= patience(alone)) {
            self.late.store(0, Relaxed);
        }
        let nanos = self.nanos(now);
        self.moved.store(nanos, Relaxed);
        if !entered.ran {
            return;
        }
        let by_itself = alone.measured().map(|by_itself| by_itself.max(QUICK));
        let weighs = by_itself.map_or(took, |by_itself| took.min(by_itself * MAX_STRETCH));
        match by_itself {
            // What is slow beside nothing else would be no quicker beside less.
            _ if entered.quiet && entered.light => alone.add(weighs),
            Some(by_itself) if !entered.quiet => {
                self.window.peak.fetch_max(running, Relaxed);
                if entered.light {
                    let began = self.nanos(entered.since);
                    self.measure(weighs.as_secs_f64() / by_itself.as_secs_f64(), began, nanos);
                }
            }
            _ => {}
        }
    }

    /// Takes note of how many times as long as by itself a call took, and moves the bound when it is time.
    fn measure(&self, stretch: f64, began: u64, nanos: u64) {
        let window = &self.window;
        window.stretch.fetch_add((stretch * 1e3) as u64, Relaxed);
        let ended = window.ended.fetch_add(1, Relaxed) + 1;
        if ended == 1 {
            window.opened.store(began, Relaxed);
        }
        let opened = window.opened.load(Relaxed);
        let open_for = Duration::from_nanos(nanos.saturating_sub(opened));
        if (ended >= ENOUGH && open_for >= WINDOW || ended >= FEW && open_for >= LONG_WINDOW)
            // Who comes while another looks has nothing to add.
            && window.opened.compare_exchange(opened, nanos, Relaxed, Relaxed).is_ok()
        {
            self.look(nanos);
        }
    }

    /// Looks at what the window has seen and moves the bound.
    fn look(&self, nanos: u64) {
        let window = &self.window;
        let (stretch, ended) = (window.stretch.swap(0, Relaxed), window.ended.swap(0, Relaxed));
        let peak = window.peak.swap(0, Relaxed);
        let stretch = stretch as f64 / 1e3 / f64::from(ended.max(1));
        let bound = self.bound.load(Relaxed);
        if stretch > TOLERANCE {
            // So few calls are not what makes each other slow.
            if peak > self.min {
                let less = (TOLERANCE / stretch).max(0.5) * f64::from(bound.min(peak));
                self.needed.store(nanos, Relaxed);
                self.bound.store((less as u32).max(self.min), Relaxed);
            }
        } else if bound != OPEN && peak >= bound / 2 {
            self.needed.store(nanos, Relaxed);
            self.bound.store(bound.saturating_add((bound / 32).max(1)), Relaxed);
        }
    }

    fn alone(&self, operation: &Name) -> Arc<Mean> {
        if let Some(alone) = self.alone.load().get(operation) {
            return Arc::clone(alone);
        }
        // Once for each operation of the registry.
        let new = Arc::new(Mean::default());
        self.alone.rcu(|all| {
            let mut all = HashMap::clone(all);
            all.entry(operation.clone()).or_insert_with(|| Arc::clone(&new));
            all
        });
        self.alone.load().get(operation).map_or(new, Arc::clone)
    }

    fn nanos(&self, now: Instant) -> u64 {
        nanos(now.saturating_duration_since(self.since))
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// How long a light call may take that takes this long by itself.
fn patience(alone: &Mean) -> Duration {
    alone.measured().map_or(STALL, |alone| (alone * LATE_STRETCH).max(LATE))
}

/// How long ago it was.
fn since(nanos: u64, moment: &AtomicU64) -> Duration {
    Duration::from_nanos(nanos.saturating_sub(moment.load(Relaxed)))
}

#[cfg(test)]
mod tests;
