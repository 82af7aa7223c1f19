//! The standard output, for the protocol alone.

use std::io::{self, Write};

/// The standard output, taken away from everyone else in this process: what an operation prints
/// must not stand between two messages, so from here on it goes to the error stream.
#[cfg(unix)]
pub fn own_stdout() -> io::Result<impl Write + Send + 'static> {
    let own = rustix::io::dup(io::stdout())?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    Ok(std::fs::File::from(own))
}

/// The standard output. On this system what an operation prints goes there too.
#[cfg(not(unix))]
pub fn own_stdout() -> io::Result<impl Write + Send + 'static> {
    Ok(io::stdout())
}
