//! The log: on the error stream, so that the output stays what was asked for.

use std::io;

use tracing_subscriber::filter::LevelFilter;

use crate::config::{Format, Level};

/// Starts the log of this process. A program that has started one already keeps its own.
pub(crate) fn start(level: Level, format: Format, colored: bool) {
    let level = match level {
        Level::Off => LevelFilter::OFF,
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    };
    let log = tracing_subscriber::fmt().with_max_level(level).with_writer(io::stderr).with_ansi(colored);
    let _ = match format {
        Format::Text => log.with_target(false).try_init(),
        Format::Json => log.json().flatten_event(true).try_init(),
    };
}
