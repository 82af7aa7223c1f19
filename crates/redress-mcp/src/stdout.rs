//! The standard output, for the protocol alone.

use std::io;

/// The standard output, taken away from everyone else in this process: what an operation prints
/// must not stand between two messages, so from here on it goes to the error stream.
#[cfg(unix)]
pub(crate) fn own_stdout() -> io::Result<std::fs::File> {
    let own = rustix::io::dup(io::stdout())?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    Ok(std::fs::File::from(own))
}

/// The standard output. On this system what an operation prints goes there too.
#[cfg(not(unix))]
pub(crate) fn own_stdout() -> io::Result<impl std::io::Write + Send + 'static> {
    Ok(io::stdout())
}
