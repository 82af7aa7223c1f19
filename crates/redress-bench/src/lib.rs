//! What redress costs, beside the floor and the peers, measured in one run.
//!
//! **Invariant:** every figure is a ratio of two things measured side by side in the same
//! run; no bench asserts a time, and none is a test.

pub mod client;
pub mod documents;
pub mod gateway;
pub mod http;
pub mod import;
pub mod mcp;
pub mod order;
pub mod ours;
pub mod peers;
pub mod process;
pub mod production;
pub mod proxy;
pub mod scripted;
pub mod stdio;
pub mod table;

use std::time::{Duration, Instant};

/// How many rounds are run, each side in turn, so that both meet the same disturbances.
const ROUNDS: usize = 60;
/// How long one side runs within a round.
const WINDOW: Duration = Duration::from_millis(20);

/// Something that is measured: runs so many times, one after the other.
pub type Side<'a> = &'a mut dyn FnMut(usize);

/// The least time that one run of each side took, in nanoseconds.
///
/// The sides take turns, and the least of many rounds is what the work itself costs;
/// everything above it is the machine's other business.
pub fn least(sides: &mut [Side<'_>]) -> Vec<f64> {
    let times: Vec<usize> = sides.iter_mut().map(runs_in_a_window).collect();
    let mut least = vec![f64::MAX; sides.len()];
    for _ in 0..ROUNDS {
        for ((side, times), least) in sides.iter_mut().zip(&times).zip(&mut least) {
            let since = Instant::now();
            side(*times);
            *least = least.min(since.elapsed().as_nanos() as f64 / *times as f64);
        }
    }
    least
}

fn runs_in_a_window(side: &mut Side<'_>) -> usize {
    let mut times = 64;
    loop {
        let since = Instant::now();
        side(times);
        let took = since.elapsed();
        if took >= WINDOW / 4 {
            let each = took.as_nanos().max(1) / times as u128;
            return usize::try_from(WINDOW.as_nanos() / each.max(1)).unwrap_or(usize::MAX).max(1);
        }
        times *= 2;
    }
}
