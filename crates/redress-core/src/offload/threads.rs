//! The threads that do large work: as many as may work at once, and below the workers in the eyes of the scheduler.
//!
//! Why so: docs/decisions/0075-large-work-gives-way.md.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, LazyLock, mpsc},
    thread,
};

use parking_lot::Mutex;
use tokio::{runtime::Handle, sync::Semaphore};

/// How many steps of `nice` large work is below everything else: about a third of the time where both want all of it.
/// Without it the work of one large request on each core would keep a worker that was just woken waiting for as long
/// as the scheduler lets anyone go on.
#[cfg(target_os = "linux")]
const NICE: i32 = 5;

/// How much work is done at once: one less than there are cores, so that one of them is left for the workers whatever
/// comes in or goes out.
pub(super) fn at_once() -> usize {
    thread::available_parallelism().map_or(1, usize::from).saturating_sub(1).max(1)
}

type Job = Box<dyn FnOnce() + Send>;

pub(super) struct Threads {
    /// One for each thread, so that whoever has one finds a thread that does nothing else.
    pub(super) permits: Arc<Semaphore>,
    jobs: mpsc::Sender<Job>,
}

pub(super) static THREADS: LazyLock<Threads> = LazyLock::new(|| {
    let (jobs, queue) = mpsc::channel::<Job>();
    let queue = Arc::new(Mutex::new(queue));
    for _ in 0..at_once() {
        let queue = Arc::clone(&queue);
        // Where not even one can be had, the work is done in place: see `run`.
        let _ = thread::Builder::new().name("redress-large".to_owned()).spawn(move || work(&queue));
    }
    Threads { permits: Arc::new(Semaphore::new(at_once())), jobs }
});

fn work(queue: &Mutex<mpsc::Receiver<Job>>) {
    #[cfg(target_os = "linux")]
    {
        // On Linux it is this thread's alone. Where it is refused, the work is done as fast as any other.
        let _ = rustix::process::nice(NICE);
    }
    loop {
        let job = queue.lock().recv();
        match job {
            Ok(job) => job(),
            Err(mpsc::RecvError) => return,
        }
    }
}

impl Threads {
    /// Does `work` on one of the threads, inside `runtime`, and waits for it. A panic inside is carried on here.
    ///
    /// Whoever waits does so on a blocking thread of tokio's: a runtime that is shut down waits for it then, and one whose
    /// clock is paused lets no time pass.
    pub(super) fn run<T: Send + 'static>(&self, runtime: Handle, work: impl FnOnce() -> T + Send + 'static) -> T {
        let (done, result) = mpsc::sync_channel(1);
        let job = Box::new(move || {
            let _inside = runtime.enter();
            let _ = done.send(catch_unwind(AssertUnwindSafe(work)));
        });
        // Without any thread there is nobody to take it, so it comes back.
        if let Err(mpsc::SendError(job)) = self.jobs.send(job) {
            job();
        }
        match result.recv() {
            Ok(Ok(value)) => value,
            Ok(Err(payload)) => resume_unwind(payload),
            Err(gone) => resume_unwind(Box::new(gone)),
        }
    }
}
