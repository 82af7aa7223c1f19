//! Work that grows with bytes from outside, done off the async workers.
//!
//! An async worker that parses a megabyte answers nobody else meanwhile, so whatever may take long because something
//! large came in or goes out runs on threads of its own, which give way to the workers. What is small stays where it is,
//! and pays nothing.
//!
//! Absent on purpose: `block_in_place`, which panics on runtimes of one thread, and work on tokio's blocking threads: one
//! that had been made to give way could not be used for anything else.
//!
//! Why so: docs/decisions/0041-large-work-leaves-the-workers.md.

mod coop_budget;
mod threads;

use std::{
    cell::Cell,
    future::{Future, pending},
    panic::resume_unwind,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use threads::THREADS;
use tokio::{runtime::Handle, sync::Notify};
use tokio_util::task::AbortOnDropHandle;

pub use coop_budget::CoopBudget;

use crate::contained::ContainedSpan;

/// From how many bytes on work is done off the workers. A worker reads or writes as much within a millisecond.
pub const LARGE: usize = 64 * 1024;

thread_local! {
    /// Whether this thread does offloaded work at the moment.
    static OFFLOADED: Cell<bool> = const { Cell::new(false) };
}

/// Marks this thread as one that does offloaded work, until it is dropped.
struct Offloaded;

impl Offloaded {
    fn enter() -> Offloaded {
        OFFLOADED.set(true);
        Offloaded
    }
}

impl Drop for Offloaded {
    fn drop(&mut self) {
        OFFLOADED.set(false);
    }
}

/// Does `work` on a thread for large work, when one of the permits of this process is free. Without a runtime, and where this
/// is such a thread already, it is done in place. A panic inside is carried on here.
///
/// Dropping the future drops work that has not begun. Work that has begun goes on to its end, which it should have
/// soon, and its permit comes back only then: what was abandoned cannot pile up.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let large = vec![b' '; 1 << 20];
/// assert!(redress_core::offload::offload(move || large.iter().all(u8::is_ascii_whitespace)).await);
/// # });
/// ```
pub async fn offload<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    // A future whose polls have a permit each must not wait for a second one: all of them could be with those that wait.
    if OFFLOADED.get() {
        return work();
    }
    let Ok(runtime) = Handle::try_current() else { return work() };
    let span = ContainedSpan::new(tracing::Span::current);
    // In a task of its own: a permit that is handed to a future which nobody polls would be missed by everybody.
    let task = runtime.spawn(async move {
        // Nobody closes the semaphore, so there is always a permit in the end.
        let permit = Arc::clone(&THREADS.permits).acquire_owned().await;
        let inside = Handle::current();
        AbortOnDropHandle::new(tokio::task::spawn_blocking(move || {
            let _permit = permit;
            THREADS.run(inside, move || {
                let _offloaded = Offloaded::enter();
                let _inside = span.enter();
                work()
            })
        }))
        .await
    });
    match AbortOnDropHandle::new(task).await.flatten() {
        Ok(value) => value,
        Err(error) => match error.try_into_panic() {
            Ok(payload) => resume_unwind(payload),
            // The runtime shuts down, and this future is dropped with it.
            Err(_) => pending().await,
        },
    }
}

/// Runs `future` with each of its polls on a thread for large work, for work between its awaits that cannot be taken apart,
/// such as that of a library. While it waits it holds neither a thread nor a permit.
pub async fn offload_future<F>(future: F) -> F::Output
where
    F: Future<Output: Send> + Send + 'static,
{
    let woken = Arc::new(Woken(Notify::new()));
    let mut future = Box::pin(future);
    loop {
        let waker = Waker::from(Arc::clone(&woken));
        let polled = offload(move || {
            let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
            (future, polled)
        });
        match polled.await {
            (_, Poll::Ready(output)) => return output,
            (pending, Poll::Pending) => future = pending,
        }
        woken.0.notified().await;
    }
}

/// Remembers that a future was woken, be it while it was polled.
struct Woken(Notify);

impl Wake for Woken {
    fn wake(self: Arc<Woken>) {
        self.0.notify_one();
    }
}

/// Tells offloaded work that nobody waits for it any more.
#[derive(Debug, Default)]
pub(crate) struct Abandon(Arc<AtomicBool>);

impl Abandon {
    /// What the work asks now and then.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}

impl Drop for Abandon {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::{panic::AssertUnwindSafe, sync::mpsc, thread};

    use futures_util::FutureExt as _;

    use super::*;

    fn thread_of() -> thread::ThreadId {
        thread::current().id()
    }

    #[tokio::test]
    async fn work_is_done_on_another_thread_also_on_a_runtime_of_one() {
        assert_ne!(offload(thread_of).await, thread_of());
        assert_ne!(offload_future(async { thread_of() }).await, thread_of());
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn large_work_gives_way_to_the_workers_and_they_to_nobody() {
        let nice = || rustix::process::getpriority_process(None).unwrap();
        let here = nice();
        assert!(offload(nice).await > here || here == 19, "the thread for large work is not below this one");
        assert_eq!(nice(), here);
    }

    #[test]
    fn without_a_runtime_work_is_done_in_place() {
        assert_eq!(offload(thread_of).now_or_never(), Some(thread_of()));
    }

    #[tokio::test]
    async fn a_panic_inside_is_carried_to_who_waits() {
        let payload = AssertUnwindSafe(offload(|| panic!("inside"))).catch_unwind().await.unwrap_err();
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"inside"));
    }

    #[tokio::test]
    async fn a_future_that_is_woken_while_it_is_polled_goes_on() {
        let counted = offload_future(async {
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
            tokio::spawn(async { 7 }).await.unwrap()
        });
        assert_eq!(counted.await, 7);
    }

    #[tokio::test]
    async fn futures_off_the_workers_that_offload_work_themselves_do_not_wait_for_each_other() {
        let many = (0..64).map(|number| {
            offload_future(async move {
                tokio::task::yield_now().await;
                let thread = thread_of();
                assert_eq!(offload(thread_of).await, thread, "there is a permit already");
                tokio::task::yield_now().await;
                offload(move || number).await
            })
        });
        let all = futures_util::future::join_all(many);
        let ended = tokio::time::timeout(std::time::Duration::from_secs(60), all).await.unwrap();
        assert_eq!(ended, (0..64).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn work_that_was_abandoned_keeps_its_permit_until_it_ends() {
        let permits = Arc::clone(&THREADS.permits);
        let (begun, has_begun) = mpsc::channel();
        let (end, ends) = mpsc::channel::<()>();
        let (ended, has_ended) = mpsc::channel();
        {
            let mut work = Box::pin(offload(move || {
                begun.send(()).unwrap();
                ends.recv().unwrap();
                ended.send(()).unwrap();
            }));
            while has_begun.try_recv().is_err() {
                assert!(futures_util::poll!(&mut work).is_pending());
                tokio::task::yield_now().await;
            }
        }
        let all = u32::try_from(threads::at_once()).unwrap();
        assert!(Arc::clone(&permits).try_acquire_many_owned(all).is_err());
        end.send(()).unwrap();
        has_ended.recv().unwrap();
        drop(permits.acquire_many_owned(all).await.unwrap());
    }
}
