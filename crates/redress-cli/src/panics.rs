//! What is told of a panic: where it was and what it said, in the log and without what the log may not have. Rust's own
//! message would be beside the log, and as the panic said it.

use std::{
    backtrace::{Backtrace, BacktraceStatus},
    io::{self, Write as _},
    panic::{self, PanicHookInfo},
    thread,
};

use redress_core::LoggedCause;
use tracing::level_filters::LevelFilter;

/// From here on panics of this process are told in this way, until somebody says otherwise.
pub(crate) fn tell_in_the_log() {
    panic::set_hook(Box::new(tell));
}

fn tell(panicked: &PanicHookInfo<'_>) {
    let panic = LoggedCause::of_text(panicked.payload_as_str().unwrap_or("it does not say why"));
    let place = panicked.location().map(ToString::to_string).unwrap_or_default();
    let thread = thread::current();
    let thread = thread.name().unwrap_or("unnamed");
    if tracing::enabled!(tracing::Level::ERROR) {
        tracing::error!(%panic, place, thread, "a thread panicked");
    } else if !tracing::dispatcher::has_been_set() || LevelFilter::current() >= LevelFilter::ERROR {
        // There is no log yet, or the command has none; or it is the log itself that panicked, and takes nothing now.
        let _ = writeln!(io::stderr(), "thread '{thread}' panicked at {place}: {panic}");
    }
    // Names and places of the program, if whoever started it asked for them.
    let backtrace = Backtrace::capture();
    if backtrace.status() == BacktraceStatus::Captured {
        let _ = writeln!(io::stderr(), "{backtrace}");
    }
}
