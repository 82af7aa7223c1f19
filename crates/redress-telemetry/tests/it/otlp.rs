//! What a real collector is sent, over a real socket.

mod collector;
mod leaks;
mod logs;
mod metrics;
mod traces;
mod trouble;

use std::time::Duration;

use redress_telemetry::{LogTargets, Otlp, OtlpSettings};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::SubscriberExt as _;

/// Time that is long enough for anything.
const LONG: Duration = Duration::from_secs(20);

/// Exporters to `endpoint`, which get what happens on this thread.
fn sending(settings: OtlpSettings) -> (Otlp, DefaultGuard) {
    let otlp = Otlp::start(settings.own(LogTargets::new(["it"]))).expect("the settings hold");
    let subscriber = tracing_subscriber::registry().with(otlp.layer());
    (otlp, tracing::subscriber::set_default(subscriber))
}
