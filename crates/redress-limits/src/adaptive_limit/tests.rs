//! A server that gets slower the more it does, in a time of its own: nothing sleeps, and every run is the same.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::*;

/// By itself a call takes this long, and so it does beside as many others as there are workers.
const ALONE: Duration = Duration::from_millis(10);
const WORKERS: u32 = 16;

/// A caller in the simulation.
struct Actor {
    own: CallerLoad,
    /// The time between two tries of its own; a caller that knows no measure tries again at once.
    every: Duration,
    /// As many tries at once.
    at_once: usize,
    /// The most calls in flight, where it has a limit of its own.
    at_most: u32,
    /// How many times as long as others' its calls take by themselves.
    slow: u32,
    took: Vec<Duration>,
    refused: usize,
}

impl Actor {
    fn new(every_ms: u64, at_once: usize) -> Actor {
        let (own, every) = (CallerLoad::default(), Duration::from_millis(every_ms));
        Actor { own, every, at_once, at_most: u32::MAX, slow: 1, took: Vec::new(), refused: 0 }
    }

    /// The time that all but one in a hundred calls kept within.
    fn p99(&mut self) -> Duration {
        self.took.sort();
        self.took[self.took.len() * 99 / 100]
    }
}

struct Simulation {
    load: AdaptiveLimit,
    shed: bool,
    operation: Name,
    now: Duration,
    actors: Vec<Actor>,
    /// How many times as long a call takes by itself, from outside reasons.
    slower: u32,
    /// Calls to come, and calls that end: when, in which order, whose, and what ends.
    events: BinaryHeap<Reverse<(Duration, usize, usize)>>,
    running: HashMap<usize, InFlightCall>,
    number: usize,
}

impl Simulation {
    fn new(shed: bool, actors: Vec<Actor>) -> Simulation {
        let mut simulation = Simulation {
            load: AdaptiveLimit::new(4),
            shed,
            operation: Name::new("demo.work").unwrap(),
            now: Duration::ZERO,
            actors: Vec::new(),
            slower: 1,
            events: BinaryHeap::new(),
            running: HashMap::new(),
            number: 0,
        };
        for actor in actors {
            simulation.join(actor);
        }
        simulation
    }

    /// A caller comes, spread over its own interval so that not all call at the same moment.
    fn join(&mut self, actor: Actor) {
        let (place, at_once) = (self.actors.len(), actor.at_once);
        for _ in 0..at_once {
            let at = self.now + actor.every * (self.number as u32 * 7 % 16) / 16;
            self.plan(at, place);
        }
        self.actors.push(actor);
    }

    /// A caller calls no more; what runs goes on.
    fn leave(&mut self, gone: usize) {
        let running = &self.running;
        self.events.retain(|Reverse((_, number, actor))| *actor != gone || running.contains_key(number));
    }

    fn plan(&mut self, at: Duration, actor: usize) -> usize {
        self.number += 1;
        self.events.push(Reverse((at, self.number, actor)));
        self.number
    }

    fn run_for(&mut self, time: Duration) {
        let until = self.now + time;
        while let Some(Reverse((at, number, place))) = self.events.pop_if_before(until) {
            self.now = at;
            let now = self.load.since + at;
            let actor = &mut self.actors[place];
            if let Some(entered) = self.running.remove(&number) {
                self.load.leave(&actor.own, &entered, now);
                actor.took.push(now - entered.since);
                continue;
            }
            let every = actor.every.max(Duration::from_millis(1));
            if actor.own.calls.load(Relaxed) >= actor.at_most {
                actor.refused += 1;
                self.plan(at + every, place);
                continue;
            }
            let operation = self.shed.then_some(&self.operation);
            match self.load.enter(&actor.own, operation, None, now) {
                Err(_) => actor.refused += 1,
                Ok(mut entered) => {
                    entered.ran = true;
                    let busy = f64::from(self.load.in_flight()) / f64::from(WORKERS);
                    let takes = (ALONE * self.slower * actor.slow).mul_f64(busy.max(1.0));
                    let ends = self.plan(at + takes, place);
                    self.running.insert(ends, entered);
                }
            }
            self.plan(at + every, place);
        }
        self.now = until;
    }

    fn bound(&self) -> Option<u32> {
        self.load.bound(self.load.since + self.now)
    }

    /// Forgets what the actors have seen so far.
    fn forget(&mut self) {
        for actor in &mut self.actors {
            actor.took.clear();
            actor.refused = 0;
        }
    }
}

trait PopIfBefore {
    fn pop_if_before(&mut self, until: Duration) -> Option<Reverse<(Duration, usize, usize)>>;
}

impl PopIfBefore for BinaryHeap<Reverse<(Duration, usize, usize)>> {
    fn pop_if_before(&mut self, until: Duration) -> Option<Reverse<(Duration, usize, usize)>> {
        if self.peek()?.0.0 < until { self.pop() } else { None }
    }
}

/// Five callers who each call twenty times in a second.
fn modest() -> Vec<Actor> {
    (0..5).map(|_| Actor::new(50, 1)).collect()
}

/// One caller who calls sixteen thousand times in a second: ten times what the server can do.
fn abusive() -> Actor {
    Actor::new(1, 16)
}

/// One caller whose calls of the same operation take twenty times as long as the others', as many at once as it may
/// have.
fn slow(at_most: u32) -> Actor {
    Actor { slow: 20, at_most, ..Actor::new(1, 16) }
}

/// Eight callers who each call twenty-five times in a second.
fn victims() -> Vec<Actor> {
    (0..8).map(|_| Actor::new(40, 1)).collect()
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn nothing_is_bounded_while_nothing_is_slow() {
    let mut simulation = Simulation::new(true, modest());
    simulation.run_for(10 * SECOND);
    assert_eq!(simulation.bound(), None);
    assert!(simulation.actors.iter().all(|actor| actor.refused == 0));
}

#[test]
fn the_bound_finds_what_the_server_bears() {
    let mut simulation = Simulation::new(true, modest());
    simulation.run_for(2 * SECOND);
    simulation.join(abusive());
    simulation.run_for(5 * SECOND);
    for _ in 0..100 {
        simulation.run_for(SECOND / 10);
        let bound = simulation.bound().unwrap();
        assert!((WORKERS..=3 * WORKERS).contains(&bound), "{bound}");
        assert!(simulation.load.in_flight() <= 2 * WORKERS);
    }
}

#[test]
fn the_others_keep_their_latency_and_their_answers_while_one_caller_is_abusive() {
    let mut simulation = Simulation::new(true, modest());
    simulation.run_for(2 * SECOND);
    let quiet: Vec<Duration> = simulation.actors.iter_mut().map(Actor::p99).collect();
    simulation.join(abusive());
    // The bound is found within a second, and from then on nobody notices.
    simulation.run_for(SECOND);
    simulation.forget();
    simulation.run_for(20 * SECOND);
    let (abuser, others) = simulation.actors.split_last_mut().unwrap();
    for (actor, quiet) in others.iter_mut().zip(quiet) {
        assert_eq!(actor.refused, 0);
        assert!(actor.p99() <= 2 * quiet, "{:?} instead of {quiet:?}", actor.p99());
    }
    assert!(abuser.refused > 10 * abuser.took.len() / 2, "{} refused, {} done", abuser.refused, abuser.took.len());
    // What the server can do beside the others' hundred calls in a second is still done.
    assert!(abuser.took.len() > 20 * 1000, "{}", abuser.took.len());
}

#[test]
fn what_takes_long_by_itself_bounds_nothing_while_it_makes_nobody_slow() {
    let mut simulation = Simulation::new(true, victims());
    simulation.run_for(2 * SECOND);
    // The server bears sixteen calls beside each other.
    simulation.join(slow(WORKERS));
    for _ in 0..100 {
        simulation.run_for(SECOND / 10);
        assert_eq!(simulation.bound(), None);
    }
    assert!(simulation.actors[..8].iter().all(|actor| actor.refused == 0));
}

#[test]
fn nobody_is_refused_for_what_another_has_in_flight() {
    let mut simulation = Simulation::new(true, victims());
    simulation.run_for(2 * SECOND);
    let quiet: Vec<Duration> = simulation.actors.iter_mut().map(Actor::p99).collect();
    simulation.join(slow(3 * WORKERS));
    simulation.run_for(5 * SECOND);
    assert!(simulation.actors[..8].iter().all(|actor| actor.refused == 0));
    simulation.forget();
    simulation.run_for(20 * SECOND);
    let (abuser, others) = simulation.actors.split_last_mut().unwrap();
    for (actor, quiet) in others.iter_mut().zip(quiet) {
        assert_eq!(actor.refused, 0);
        assert!(actor.p99() <= 2 * quiet, "{:?} instead of {quiet:?}", actor.p99());
    }
    assert!(abuser.refused > abuser.took.len(), "{} refused, {} done", abuser.refused, abuser.took.len());
}

#[test]
fn one_caller_who_calls_seldom_is_kept_quick_beside_a_flood() {
    let mut simulation = Simulation::new(true, vec![Actor::new(900, 1)]);
    simulation.run_for(20 * SECOND);
    simulation.join(abusive());
    simulation.run_for(10 * SECOND);
    simulation.forget();
    simulation.run_for(60 * SECOND);
    let seldom = &mut simulation.actors[0];
    assert_eq!(seldom.refused, 0);
    assert!(seldom.p99() <= 3 * ALONE, "{:?}", seldom.p99());
}

#[test]
fn what_is_slow_by_itself_on_an_idle_server_sets_no_bound() {
    let mut simulation = Simulation::new(true, vec![Actor::new(100, 1)]);
    simulation.run_for(5 * SECOND);
    simulation.slower = 8;
    for _ in 0..50 {
        simulation.run_for(SECOND / 10);
        assert_eq!(simulation.bound(), None);
    }
}

#[test]
fn the_bound_falls_away_by_time_where_calls_are_rare() {
    let mut simulation = Simulation::new(true, vec![Actor::new(500, 1)]);
    simulation.run_for(5 * SECOND);
    simulation.join(abusive());
    simulation.run_for(5 * SECOND);
    assert!(simulation.bound().is_some());
    simulation.leave(1);
    simulation.run_for(7 * SECOND);
    assert_eq!(simulation.bound(), None);
}

#[test]
fn where_there_are_too_many_callers_they_come_again_after_as_long_as_a_light_call_takes() {
    let load = AdaptiveLimit::new(4);
    let (operation, heavy) = (Name::new("demo.work").unwrap(), CallerLoad::default());
    let enter = |own: &CallerLoad, ms| load.enter(own, Some(&operation), None, load.since + Duration::from_millis(ms));
    for call in 0..100 {
        let own = CallerLoad::default();
        let mut entered = enter(&own, call).unwrap();
        entered.ran = true;
        load.leave(&own, &entered, entered.since + Duration::from_millis(20));
    }
    let mut held: Vec<_> = (0..6).map(|_| enter(&heavy, 100).unwrap()).collect();
    held.iter_mut().for_each(|entered| entered.ran = true);
    // Its calls took long, and that is no reason for anybody else to wait.
    for entered in &held {
        load.leave(&heavy, entered, load.since + 9 * SECOND);
    }
    assert!(load.worth_waiting(ShedReason::Server) < SECOND);
    load.bound.store(4, Relaxed);
    load.needed.store(nanos(9 * SECOND), Relaxed);
    let many: Vec<CallerLoad> = (0..17).map(|_| CallerLoad::default()).collect();
    let refused: Vec<_> = many.iter().filter_map(|own| enter(own, 9000).err()).collect();
    assert_eq!(refused, [ShedReason::Server]);
}

#[test]
fn without_shedding_one_abusive_caller_makes_everybody_slow() {
    let mut simulation = Simulation::new(false, modest());
    simulation.run_for(2 * SECOND);
    simulation.join(Actor::new(1, 2));
    simulation.run_for(2 * SECOND);
    simulation.forget();
    simulation.run_for(SECOND);
    assert!(simulation.actors[0].p99() > 2 * ALONE, "{:?}", simulation.actors[0].p99());
}

#[test]
fn two_abusive_callers_share_what_one_would_have() {
    let mut simulation = Simulation::new(true, modest());
    simulation.run_for(2 * SECOND);
    simulation.join(abusive());
    simulation.join(abusive());
    simulation.run_for(3 * SECOND);
    simulation.forget();
    simulation.run_for(20 * SECOND);
    let [.., one, other] = &simulation.actors[..] else { unreachable!("seven callers have joined") };
    let ratio = one.took.len() as f64 / other.took.len() as f64;
    assert!((0.5..2.0).contains(&ratio), "{ratio}");
    assert!(simulation.actors[..5].iter().all(|actor| actor.refused == 0));
}

#[test]
fn the_bound_falls_away_when_the_storm_is_over() {
    let mut simulation = Simulation::new(true, modest());
    simulation.run_for(2 * SECOND);
    simulation.join(abusive());
    simulation.run_for(5 * SECOND);
    assert!(simulation.bound().is_some());
    simulation.leave(simulation.actors.len() - 1);
    simulation.run_for(10 * SECOND);
    assert_eq!(simulation.bound(), None);
}

#[test]
fn what_has_become_slow_for_good_is_measured_anew() {
    let mut simulation = Simulation::new(true, vec![Actor::new(1, 1)]);
    simulation.run_for(2 * SECOND);
    simulation.slower = 5;
    simulation.run_for(5 * SECOND);
    simulation.forget();
    simulation.run_for(30 * SECOND);
    simulation.forget();
    simulation.run_for(10 * SECOND);
    // Sixteen workers do 320 calls of 50 ms in a second; most of them get done again.
    let done = simulation.actors[0].took.len();
    assert!(done > 2500, "{done} done");
}

#[test]
fn when_nothing_ends_no_more_begins() {
    let load = AdaptiveLimit::new(4);
    let (operation, own) = (Name::new("demo.work").unwrap(), CallerLoad::default());
    let enter = |at: Duration| load.enter(&own, Some(&operation), None, load.since + at);
    // The server was silent for an hour, which is no stall.
    let noon = Duration::from_secs(3600);
    let held: Vec<_> = (0..100).map(|call| enter(noon + Duration::from_millis(call)).unwrap()).collect();
    assert_eq!(enter(noon + 2 * SECOND).unwrap_err(), ShedReason::Share);
    let other = CallerLoad::default();
    let entered = load.enter(&other, Some(&operation), None, load.since + noon + 2 * SECOND);
    assert!(entered.is_ok(), "who has nothing in flight is not the one to refuse");
    for entered in held {
        load.leave(&own, &entered, load.since + noon + 3 * SECOND);
    }
    assert!(enter(noon + 3 * SECOND).is_ok());
}

#[test]
fn the_hard_total_is_never_passed() {
    let load = AdaptiveLimit::new(4);
    let own = CallerLoad::default();
    for _ in 0..3 {
        load.enter(&own, None, Some(3), load.since).unwrap();
    }
    assert_eq!(load.enter(&own, None, Some(3), load.since).unwrap_err(), ShedReason::Total);
    assert_eq!((load.in_flight(), own.calls.load(Relaxed)), (3, 3));
}
