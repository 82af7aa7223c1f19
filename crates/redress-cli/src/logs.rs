//! The log: on the error stream, so that the output stays what was asked for, and to a collector, where one is named.
//!
//! Libraries log what they like, and some of it is what clients have sent. Of theirs, warnings and errors are enough.

use redress_telemetry::LogTargets;
use tracing::{Metadata, Subscriber, subscriber::Interest};
use tracing_subscriber::{
    Layer as _, Registry,
    filter::LevelFilter,
    fmt,
    layer::{Context, Filter, SubscriberExt as _},
    registry::LookupSpan,
    reload,
    util::SubscriberInitExt as _,
};

use crate::{
    config::{Format, LogLevel},
    layers::Otlp,
    terminal::output::ErrorStream,
};

/// The log of this process, whose level may change while it runs.
pub(crate) struct Log(Box<dyn Fn(LogLevel) + Send + Sync>);

/// Starts the log of this process. A program that has started one already keeps its own.
pub(crate) fn start(level: LogLevel, format: Format, colored: bool, own: LogTargets, otlp: Option<&Otlp>) -> Log {
    let registry = Registry::default();
    let logged = LogOutput { level: min(level), own };
    match otlp {
        #[cfg(feature = "otlp")]
        Some(otlp) => on(registry.with(otlp.layer()), logged, format, colored),
        #[cfg(not(feature = "otlp"))]
        Some(otlp) => match *otlp {},
        None => on(registry, logged, format, colored),
    }
}

fn on<S>(subscriber: S, logged: LogOutput, format: Format, colored: bool) -> Log
where
    S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync + 'static,
{
    let (filter, handle) = reload::Layer::new(logged.clone());
    let lines = fmt::layer().with_writer(move || ErrorStream::new(colored)).with_ansi(colored);
    let lines = match format {
        Format::Text => lines.with_target(false).boxed(),
        Format::Json => lines.json().flatten_event(true).boxed(),
    };
    let _ = subscriber.with(lines.with_filter(filter)).try_init();
    Log(Box::new(move |level| {
        // It fails only where a program keeps a log of its own.
        let _ = handle.reload(LogOutput { level: min(level), ..logged.clone() });
    }))
}

impl Log {
    /// Logs what is this important, from here on.
    pub(crate) fn set(&self, level: LogLevel) {
        (self.0)(level);
    }
}

/// What is logged.
#[derive(Clone)]
struct LogOutput {
    level: LevelFilter,
    own: LogTargets,
}

impl LogOutput {
    fn has(&self, metadata: &Metadata<'_>) -> bool {
        let level = if self.own.has(metadata.target()) { self.level } else { self.level.min(LevelFilter::WARN) };
        *metadata.level() <= level
    }
}

impl<S> Filter<S> for LogOutput {
    fn enabled(&self, metadata: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        self.has(metadata)
    }

    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.has(metadata) { Interest::always() } else { Interest::never() }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level)
    }
}

fn min(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}
