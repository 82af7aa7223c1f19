//! What one run may take: so much, and so much more for each byte that was sent.
//!
//! Allocations are those of the thread that runs the target; time is that of the whole process, since what takes long
//! is done off the workers.

use std::{cell::Cell, time::Duration};

use rustix::time::{ClockId, clock_gettime};

/// The bytes that may be allocated in all, freed ones too: for a document about everything, and for each byte sent.
const MAX_ALLOCATED: (u64, u64) = (64 * 1024 * 1024, 8 * 1024);
/// The time on the processor. Unoptimised code under instruments takes a tenth of it.
const MAX_TIME: (Duration, Duration) = (Duration::from_secs(1), Duration::from_micros(25));

thread_local! {
    static SENT: Cell<usize> = const { Cell::new(0) };
}

/// Runs a target on these bytes, whose work is then held against them.
pub(crate) fn sent(data: &[u8], target: fn(&[u8])) {
    SENT.set(data.len());
    target(data);
}

/// Does what the bytes make the service do, and panics where that is out of proportion.
#[track_caller]
pub(crate) fn bounded<T>(work: impl FnOnce() -> T) -> T {
    let mut done = None;
    let before = on_processor();
    let allocated = allocation_counter::measure(|| done = Some(work())).bytes_total;
    let time = on_processor().saturating_sub(before);
    let bytes = SENT.get();
    let (max, for_each) = MAX_ALLOCATED;
    let max = max + for_each * bytes as u64;
    assert!(allocated <= max, "{allocated} bytes were allocated for {bytes} bytes, and no more than {max} may be");
    let (max, for_each) = MAX_TIME;
    let max = max + for_each * u32::try_from(bytes).unwrap_or(u32::MAX);
    assert!(time <= max, "{bytes} bytes took {time:?} of the processor, and may take {max:?}");
    done.expect("the work is done")
}

/// How long this process has been on processors.
fn on_processor() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or_default(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(bytes: usize, work: impl FnOnce() + std::panic::UnwindSafe) -> bool {
        SENT.set(bytes);
        std::panic::catch_unwind(|| bounded(work)).is_ok()
    }

    #[test]
    fn work_that_fits_its_bytes_passes_and_work_out_of_proportion_does_not() {
        let allocate = |bytes: usize| move || drop(std::hint::black_box(vec![1_u8; bytes]));
        assert!(with(0, allocate(1024)));
        assert!(!with(0, allocate(65 * 1024 * 1024)));
        assert!(with(1024, allocate(65 * 1024 * 1024)));
        let spin = |time: Duration| {
            move || {
                let until = on_processor() + time;
                while on_processor() < until {}
            }
        };
        assert!(!with(0, spin(Duration::from_millis(1100))));
    }
}
