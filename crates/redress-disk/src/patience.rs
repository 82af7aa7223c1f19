//! Work on a path that may never end: a share whose server is gone hangs in the kernel, and nothing can call it back.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

/// How long a file is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// The paths on which a thread hangs, and whether it has come back.
static HANGING: Mutex<Vec<(PathBuf, Arc<AtomicBool>)>> = Mutex::new(Vec::new());

/// Does `work` on a thread of its own, and waits for it no longer than `patience`. While one hangs no second one is begun
/// on the same path: however often it is asked for, one thread is lost and not many.
pub(crate) fn within<T: Send + 'static>(
    path: &Path,
    patience: Duration,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    if hangs(path) {
        return Err(late(patience));
    }
    let ended = Arc::new(AtomicBool::new(false));
    let (done, wait) = mpsc::sync_channel(1);
    let mark = Arc::clone(&ended);
    thread::Builder::new().name("redress-disk".to_owned()).spawn(move || {
        let result = work();
        mark.store(true, Ordering::Release);
        // Nobody may wait any more.
        let _ = done.send(result);
    })?;
    wait.recv_timeout(patience).unwrap_or_else(|_| {
        HANGING.lock().unwrap_or_else(PoisonError::into_inner).push((path.to_owned(), ended));
        Err(late(patience))
    })
}

fn hangs(path: &Path) -> bool {
    let mut hanging = HANGING.lock().unwrap_or_else(PoisonError::into_inner);
    hanging.retain(|(_, ended)| !ended.load(Ordering::Acquire));
    hanging.iter().any(|(other, _)| other == path)
}

fn late(patience: Duration) -> io::Error {
    let says = format!("the disk has not answered within {} seconds", patience.as_secs());
    io::Error::new(io::ErrorKind::TimedOut, says)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let begun = Arc::new(AtomicBool::new(false));
        let mark = Arc::clone(&begun);
        let second = within(path, PATIENCE, move || {
            mark.store(true, Ordering::Release);
            Ok(2)
        });
        assert_eq!(second.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(!begun.load(Ordering::Acquire), "no second thread waits for the same disk");
        // Another file is another matter.
        assert_eq!(within(Path::new("/another"), PATIENCE, || Ok(3)).unwrap(), 3);
        drop(answer);
        while hangs(path) {
            thread::yield_now();
        }
        assert_eq!(within(path, PATIENCE, || Ok(4)).unwrap(), 4);
    }
}
