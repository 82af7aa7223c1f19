//! The scenarios, each with what it promises.

mod abusive;
mod answers;
mod broken_state;
mod clock;
mod descriptors;
mod half_open;
mod idle;
mod kill;
mod never_read;
mod resets;
mod slow;
mod stall;
mod steady;
mod terminate;

use std::{future::Future, io, pin::Pin};

use crate::{report::Report, stage::Stage};

type ScenarioFuture = Pin<Box<dyn Future<Output = io::Result<Report>>>>;

/// A scenario.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    /// What holds in it, whatever happens.
    pub(crate) promise: &'static str,
    /// Its share of the whole time, in thousandths.
    pub(crate) share: u32,
    pub(crate) run: fn(Stage) -> ScenarioFuture,
}

/// Every scenario, in the order in which they run.
pub(crate) const ALL: &[Scenario] = &[
    Scenario {
        name: "steady",
        promise: "every call on every face ends as its declaration says; memory stays where it was",
        share: 150,
        run: |stage| Box::pin(steady::run(stage)),
    },
    Scenario {
        name: "half-open",
        promise: "clients that stop in the middle are closed in their time, and nobody else notices",
        share: 60,
        run: |stage| Box::pin(half_open::run(stage)),
    },
    Scenario {
        name: "resets",
        promise: "a reset in a body, a call or a stream ends that call alone, and a repeated key runs once",
        share: 80,
        run: |stage| Box::pin(resets::run(stage)),
    },
    Scenario {
        name: "slow",
        promise: "who sends a byte at a time is cut off in its time, and nobody else notices",
        share: 60,
        run: |stage| Box::pin(slow::run(stage)),
    },
    Scenario {
        name: "idle",
        promise: "10,000 idle connections cost little memory and no other call",
        share: 90,
        run: |stage| Box::pin(idle::run(stage)),
    },
    Scenario {
        name: "descriptors",
        promise: "strangers who hold every connection that they may, at a server that may open few files, keep nobody else \
                  out, and no call fails for want of a file",
        share: 60,
        run: |stage| Box::pin(descriptors::run(stage)),
    },
    Scenario {
        name: "never-read",
        promise: "who never reads an answer, a stream or a socket is cut off, with memory bounded",
        share: 80,
        run: |stage| Box::pin(never_read::run(stage)),
    },
    Scenario {
        name: "answers",
        promise: "whoever asks for more than it reads, on any face, holds no more than the budget for answers, and the p99 of \
                  others stays within twice of what it is without",
        share: 100,
        run: |stage| Box::pin(answers::run(stage)),
    },
    Scenario {
        name: "terminate",
        promise: "SIGTERM under load: every accepted call is answered, and the server ends with 0 within its grace",
        share: 60,
        run: |stage| Box::pin(terminate::run(stage)),
    },
    Scenario {
        name: "kill",
        promise: "SIGKILL under load: a key has one effect at most, and an answer stays what it was",
        share: 150,
        run: |stage| Box::pin(kill::run(stage)),
    },
    Scenario {
        name: "full-disk",
        promise: "no room for the state: calls are refused with OVERLOADED and when to come again, nothing accepted is \
                  lost, and it heals by itself",
        share: 60,
        run: |stage| Box::pin(broken_state::full_disk(stage)),
    },
    Scenario {
        name: "locked",
        promise: "the state locked by another process: as with a full disk",
        share: 60,
        run: |stage| Box::pin(broken_state::locked(stage)),
    },
    Scenario {
        name: "clock",
        promise: "a clock that jumps by an hour or ten years, and back, makes no call late, no key work twice, no consent or \
                  token last longer, and removes no record",
        share: 60,
        run: |stage| Box::pin(clock::run(stage)),
    },
    Scenario {
        name: "abusive",
        promise: "while one caller floods, the p99 of others stays within twice of what it is without",
        share: 150,
        run: |stage| Box::pin(abusive::run(stage)),
    },
    Scenario {
        name: "stall",
        promise: "no request that the limits let in keeps a worker for more than 10 ms, whatever is in it",
        share: 100,
        run: |stage| Box::pin(stall::run(stage)),
    },
];
