//! How much the server bears: calls in flight, and how many of them it takes before they make each other slow.
//!
//! A call that begins while little runs shows how long its operation takes by itself. As soon as calls take longer than
//! [`TOLERANCE`] times that, on the mean of a [`WINDOW`], the number of calls in flight is bounded: by as much less
//! than there were as they were too slow. From then on the bound follows what is measured, a little up when calls are
//! quick, as far down as needed when they are not, and falls away when nobody has come near it for a while.
//!
//! Whoever keeps most of the server busy is refused first: at the bound, a caller is refused who already has its share
//! of it, and one who has not is still admitted. So the calls of all others neither wait nor fail because of one.
//!
//! A wrong measure heals by itself: at the lowest bound every call counts as one that runs by itself, so an operation
//! that has become slow for good is measured anew.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use redress_contract::Name;
use tokio::time::Instant;

use crate::mean::Mean;

/// How many times as long as by itself a call may take.
const TOLERANCE: f64 = 1.5;
/// What takes less than this is quick, whatever it takes by itself.
const QUICK: Duration = Duration::from_millis(1);
/// One call that hangs weighs no more than this.
const MOST_STRETCH: f64 = 10.0;
/// The bound is looked at once in this time, if enough calls have ended.
const WINDOW: Duration = Duration::from_millis(100);
const ENOUGH: u32 = 10;
/// The bound falls away after so many windows in which nobody came near it.
const CALM_WINDOWS: u32 = 50;
/// Nothing has ended for so long: whatever calls wait for, more of them would only wait too.
const STALL: Duration = Duration::from_secs(1);
/// No bound.
const OPEN: u32 = u32::MAX;

/// The calls of all callers.
#[derive(Debug)]
pub(crate) struct Load {
    since: Instant,
    /// The bound never falls below this; fewer calls than this count as each running by itself.
    least: u32,
    in_flight: AtomicU32,
    pub(crate) streams: AtomicU32,
    /// The callers that have a call in flight.
    callers: AtomicU32,
    bound: AtomicU32,
    /// How long a call takes, of any operation.
    typical: Mean,
    /// How long calls of each operation take by themselves.
    alone: ArcSwap<HashMap<Name, Arc<Mean>, foldhash::fast::RandomState>>,
    /// When a call last ended, or little ran, in nanoseconds since the start.
    moved: AtomicU64,
    window: Window,
    calm: Mutex<u32>,
}

/// What has been seen since the bound was last looked at.
#[derive(Debug, Default)]
struct Window {
    opened: AtomicU64,
    ended: AtomicU32,
    /// The sum of how many times as long as by themselves the calls took, in thousandths.
    stretch: AtomicU64,
    /// The most calls in flight.
    peak: AtomicU32,
}

/// A call in flight.
#[derive(Debug)]
pub(crate) struct Entered {
    pub(crate) since: Instant,
    /// How long its operation takes by itself, where the load is measured.
    alone: Option<Arc<Mean>>,
    quiet: bool,
}

/// Why there is no room for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// There are as many calls as there may be.
    Total,
    /// The caller has its share of what the server bears.
    Share,
    /// The server bears no more, of nobody.
    Server,
}

impl Load {
    pub(crate) fn new(least: u32) -> Load {
        Load {
            since: Instant::now(),
            least,
            in_flight: AtomicU32::new(0),
            streams: AtomicU32::new(0),
            callers: AtomicU32::new(0),
            bound: AtomicU32::new(OPEN),
            typical: Mean::default(),
            alone: ArcSwap::default(),
            moved: AtomicU64::new(0),
            window: Window::default(),
            calm: Mutex::new(0),
        }
    }

    /// For as many processors as there are.
    pub(crate) fn of_this_machine() -> Load {
        let processors =
            std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(1));
        Load::new((2 * processors).max(4))
    }

    /// The calls that run.
    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight.load(Relaxed)
    }

    /// How many calls may run, where that is bounded.
    pub(crate) fn bound(&self) -> Option<u32> {
        Some(self.bound.load(Relaxed)).filter(|bound| *bound != OPEN)
    }

    /// How long a refused caller had better wait: as long as a call takes, and no less than the bound needs to move.
    pub(crate) fn worth_waiting(&self) -> Duration {
        self.typical.get().unwrap_or(WINDOW).clamp(WINDOW, Duration::from_secs(10))
    }

    /// Lets a call in whose caller has `own` calls in flight. `operation` is given where the load is to be measured
    /// and kept bearable, `total` where there is a hard bound.
    pub(crate) fn enter(
        &self,
        own: &AtomicU32,
        operation: Option<&Name>,
        total: Option<u32>,
        now: Instant,
    ) -> Result<Entered, Full> {
        let running = self.in_flight.fetch_add(1, Relaxed);
        let mine = own.fetch_add(1, Relaxed);
        if mine == 0 {
            self.callers.fetch_add(1, Relaxed);
        }
        let quiet = running < self.least;
        let full = match (total, operation) {
            (Some(total), _) if running >= total => Some(Full::Total),
            (_, Some(_)) => self.full(running, mine, quiet, now),
            (_, None) => None,
        };
        if let Some(full) = full {
            self.give_back(own);
            return Err(full);
        }
        Ok(Entered { since: now, alone: operation.map(|operation| self.alone(operation)), quiet })
    }

    fn full(&self, running: u32, mine: u32, quiet: bool, now: Instant) -> Option<Full> {
        if quiet {
            self.moved.store(self.nanos(now), Relaxed);
            return None;
        }
        self.look_for_stall(running, now);
        let bound = self.bound.load(Relaxed);
        let callers = self.callers.load(Relaxed).max(1);
        // A quarter is left to those who have less than their share, as soon as there is anybody else.
        let contested = if callers > 1 { bound - bound / 4 } else { bound };
        if running < contested {
            None
        } else if mine >= (bound / callers).max(1) {
            Some(Full::Share)
        } else {
            // Those who have less than their share may be many.
            (running >= bound.saturating_mul(2)).then_some(Full::Server)
        }
    }

    /// Where nothing ends, nothing is measured either; then no more calls run than do.
    fn look_for_stall(&self, running: u32, now: Instant) {
        let still = Duration::from_nanos(self.nanos(now).saturating_sub(self.moved.load(Relaxed)));
        if still > STALL && still > self.typical.get().unwrap_or_default() * 8 {
            self.bound.fetch_min(running, Relaxed);
        }
    }

    /// Takes back a call that was let in and refused for another reason.
    pub(crate) fn give_back(&self, own: &AtomicU32) -> u32 {
        if own.fetch_sub(1, Relaxed) == 1 {
            self.callers.fetch_sub(1, Relaxed);
        }
        self.in_flight.fetch_sub(1, Relaxed)
    }

    /// Lets a call out that has ended.
    pub(crate) fn leave(&self, own: &AtomicU32, entered: &Entered, now: Instant) {
        let running = self.give_back(own);
        let took = now.saturating_duration_since(entered.since);
        self.typical.add(took);
        let Some(alone) = &entered.alone else { return };
        if entered.quiet {
            alone.add(took);
        }
        let nanos = self.nanos(now);
        self.moved.store(nanos, Relaxed);
        let Some(alone) = alone.measured() else { return };
        let stretch = (took.as_secs_f64() / alone.max(QUICK).as_secs_f64()).min(MOST_STRETCH);
        let window = &self.window;
        window.stretch.fetch_add((stretch * 1e3) as u64, Relaxed);
        window.peak.fetch_max(running, Relaxed);
        let ended = window.ended.fetch_add(1, Relaxed) + 1;
        let open_for = Duration::from_nanos(nanos.saturating_sub(window.opened.load(Relaxed)));
        if ended >= ENOUGH
            && open_for >= WINDOW
            // Who comes while another looks has nothing to add.
            && let Ok(mut calm) = self.calm.try_lock()
        {
            self.look(nanos, &mut calm);
        }
    }

    /// Looks at what the window has seen and moves the bound.
    fn look(&self, nanos: u64, calm: &mut u32) {
        let window = &self.window;
        window.opened.store(nanos, Relaxed);
        let (stretch, ended) = (window.stretch.swap(0, Relaxed), window.ended.swap(0, Relaxed));
        let peak = window.peak.swap(0, Relaxed);
        if ended == 0 {
            return;
        }
        let stretch = stretch as f64 / 1e3 / f64::from(ended);
        let bound = self.bound.load(Relaxed);
        if stretch > TOLERANCE {
            *calm = 0;
            let less = (TOLERANCE / stretch).max(0.5) * f64::from(bound.min(peak));
            self.bound.store((less as u32).max(self.least), Relaxed);
        } else if bound != OPEN && peak >= bound / 2 {
            *calm = 0;
            self.bound.store(bound.saturating_add((bound / 32).max(1)), Relaxed);
        } else {
            *calm += 1;
            if *calm >= CALM_WINDOWS {
                *calm = 0;
                self.bound.store(OPEN, Relaxed);
            }
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
        u64::try_from(now.saturating_duration_since(self.since).as_nanos()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests;
