//! The signals by which people and systems tell a process to stop. Each is taken from the
//! moment these are called, and not only once the future is waited for.

use std::io;

/// Resolves at Ctrl-C.
#[cfg(unix)]
pub(crate) fn interrupt() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        interrupt.recv().await;
    })
}

/// Resolves when the process is told to stop: at Ctrl-C, or by whoever supervises it.
#[cfg(unix)]
pub(crate) fn stop() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (interrupt, mut terminate) = (interrupt()?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            () = interrupt => {}
            _ = terminate.recv() => {}
        }
    })
}

/// The signal by which the process is told to read its configuration again.
#[cfg(unix)]
pub(crate) struct ReloadSignal(tokio::signal::unix::Signal);

#[cfg(unix)]
impl ReloadSignal {
    pub(crate) fn new() -> io::Result<ReloadSignal> {
        use tokio::signal::unix::{SignalKind, signal};
        signal(SignalKind::hangup()).map(ReloadSignal)
    }

    /// Resolves at the next one.
    pub(crate) async fn next(&mut self) {
        self.0.recv().await;
    }
}

/// There is no such signal: the file alone is looked at.
#[cfg(windows)]
pub(crate) struct ReloadSignal;

#[cfg(windows)]
impl ReloadSignal {
    pub(crate) fn new() -> io::Result<ReloadSignal> {
        Ok(ReloadSignal)
    }

    pub(crate) async fn next(&mut self) {
        std::future::pending().await
    }
}

/// Resolves at Ctrl-C.
#[cfg(windows)]
pub(crate) fn interrupt() -> io::Result<impl Future<Output = ()>> {
    let mut interrupt = tokio::signal::windows::ctrl_c()?;
    Ok(async move {
        interrupt.recv().await;
    })
}

/// Resolves when the process is told to stop.
#[cfg(windows)]
pub(crate) fn stop() -> io::Result<impl Future<Output = ()>> {
    interrupt()
}
