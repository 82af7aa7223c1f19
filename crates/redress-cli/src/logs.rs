//! The log: on the error stream, so that the output stays what was asked for, and to a collector, where one is named.

use std::io;

use redress_telemetry::Otlp;
use tracing::Subscriber;
use tracing_subscriber::{
    Layer as _, Registry, filter::LevelFilter, fmt, layer::SubscriberExt as _, registry::LookupSpan, reload,
    util::SubscriberInitExt as _,
};

use crate::config::{Format, Level};

/// The log of this process, whose level may change while it runs.
pub(crate) struct Log(Box<dyn Fn(LevelFilter) + Send + Sync>);

/// Starts the log of this process. A program that has started one already keeps its own.
pub(crate) fn start(level: Level, format: Format, colored: bool, otlp: Option<&Otlp>) -> Log {
    let registry = Registry::default();
    match otlp {
        Some(otlp) => on(registry.with(otlp.layer()), level, format, colored),
        None => on(registry, level, format, colored),
    }
}

fn on<S>(subscriber: S, level: Level, format: Format, colored: bool) -> Log
where
    S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync + 'static,
{
    let (filter, handle) = reload::Layer::new(filter(level));
    let lines = fmt::layer().with_writer(io::stderr).with_ansi(colored);
    let lines = match format {
        Format::Text => lines.with_target(false).boxed(),
        Format::Json => lines.json().flatten_event(true).boxed(),
    };
    let _ = subscriber.with(lines.with_filter(filter)).try_init();
    Log(Box::new(move |level| {
        // It fails only where a program keeps a log of its own.
        let _ = handle.reload(level);
    }))
}

impl Log {
    /// Logs what is this important, from here on.
    pub(crate) fn set(&self, level: Level) {
        (self.0)(filter(level));
    }
}

fn filter(level: Level) -> LevelFilter {
    match level {
        Level::Off => LevelFilter::OFF,
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    }
}
