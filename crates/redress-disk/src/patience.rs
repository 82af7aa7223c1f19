//! Work on a path that may never end: a share whose server is gone hangs in the kernel, and nothing can call it back.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

/// How long a file is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// How it stands with the thread that works on a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WorkStage {
    Works,
    /// Somebody has waited for it in vain.
    Hangs,
}

/// The paths that a thread works on, and what tells that one has come back.
static BUSY: LazyLock<(Mutex<HashMap<PathBuf, WorkStage>>, Condvar)> = LazyLock::new(Default::default);

fn busy() -> MutexGuard<'static, HashMap<PathBuf, WorkStage>> {
    // No change of it can be half made, so poison says nothing here.
    BUSY.0.lock().unwrap_or_else(PoisonError::into_inner)
}

/// That this thread is the one that works on a path.
struct Busy(PathBuf);

impl Busy {
    /// Waits until no other thread works on the path. One that hangs is waited for by nobody.
    fn of(path: &Path, until: Instant) -> Option<Busy> {
        let mut all = busy();
        while let Some(stage) = all.get(path) {
            let left = until.saturating_duration_since(Instant::now());
            if *stage == WorkStage::Hangs || left.is_zero() {
                return None;
            }
            all = BUSY.1.wait_timeout(all, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        all.insert(path.to_owned(), WorkStage::Works);
        Some(Busy(path.to_owned()))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        busy().remove(&self.0);
        BUSY.1.notify_all();
    }
}

/// Does `work` on a thread of its own, and waits for it no longer than `patience`. No second one is begun on the same path
/// before the first has ended: however often and by however many it is asked for, one thread is lost and not many.
pub(crate) fn within<T: Send + 'static>(
    path: &Path,
    patience: Duration,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let until = Instant::now() + patience;
    let Some(one) = Busy::of(path, until) else { return Err(late(patience)) };
    let (done, wait) = mpsc::sync_channel(1);
    thread::Builder::new().name("redress-disk".to_owned()).spawn(move || {
        let result = work();
        // Whoever is told may ask again at once.
        drop(one);
        // Nobody may wait any more.
        let _ = done.send(result);
    })?;
    wait.recv_timeout(until.saturating_duration_since(Instant::now())).unwrap_or_else(|_| {
        if let Some(stage) = busy().get_mut(path) {
            *stage = WorkStage::Hangs;
        }
        BUSY.1.notify_all();
        Err(late(patience))
    })
}

fn late(patience: Duration) -> io::Error {
    let says = format!("the disk has not answered within {} seconds", patience.as_secs());
    io::Error::new(io::ErrorKind::TimedOut, says)
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use super::*;

    fn hangs(path: &Path) -> bool {
        busy().contains_key(path)
    }

    #[test]
    fn a_disk_that_hangs_holds_up_nobody_costs_one_thread_and_is_used_again_once_it_answers() {
        let (answer, waits) = mpsc::channel::<()>();
        let path = Path::new("/a/share/that/hangs");
        let short = Duration::from_millis(20);
        let hung = within(path, short, move || {
            let _ = waits.recv();
            Ok(1)
        });
        assert_eq!(hung.unwrap_err().kind(), io::ErrorKind::TimedOut);
        let begun = Arc::new(AtomicUsize::new(0));
        let mark = Arc::clone(&begun);
        let second = within(path, PATIENCE, move || Ok(mark.fetch_add(1, Ordering::AcqRel)));
        assert_eq!(second.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(begun.load(Ordering::Acquire), 0, "no second thread waits for the same disk");
        // Another file is another matter.
        assert_eq!(within(Path::new("/another"), PATIENCE, || Ok(3)).unwrap(), 3);
        drop(answer);
        while hangs(path) {
            thread::yield_now();
        }
        assert_eq!(within(path, PATIENCE, || Ok(4)).unwrap(), 4);
    }

    #[test]
    fn many_who_read_a_disk_that_hangs_at_once_cost_one_thread() {
        let path = Path::new("/a/share/that/hangs/for/many");
        let (begun, stays) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(())));
        let held = stays.lock().unwrap();
        let asked: Vec<_> = (0..8)
            .map(|_| {
                let (begun, stays) = (Arc::clone(&begun), Arc::clone(&stays));
                thread::spawn(move || {
                    within(path, Duration::from_millis(200), move || {
                        begun.fetch_add(1, Ordering::AcqRel);
                        drop(stays.lock());
                        Ok(())
                    })
                })
            })
            .collect();
        for asked in asked {
            assert_eq!(asked.join().unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
        }
        assert_eq!(begun.load(Ordering::Acquire), 1);
        drop(held);
    }

    #[test]
    fn many_who_read_a_disk_that_answers_are_all_answered() {
        let path = Path::new("/a/share/that/answers");
        let asked: Vec<_> = (0..8).map(|n| thread::spawn(move || within(path, PATIENCE, move || Ok(n)))).collect();
        let answers: Vec<_> = asked.into_iter().map(|asked| asked.join().unwrap().unwrap()).collect();
        assert_eq!(answers, [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}
