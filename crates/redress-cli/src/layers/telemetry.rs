//! What is seen of calls: from the settings to where it is told.

use std::{
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use redress_core::Secret;
use redress_mcp::DroppedFields;
use redress_serve::ServerHandle;
use redress_telemetry::{AccessLog, LogTarget, Metrics, names};

use crate::{
    config::{self, ServeSettings},
    error::{CliError, reason},
};

/// The most bytes of a file of headers.
const LARGEST_HEADERS: u64 = 1 << 20;

/// How often the configuration was taken and refused while the server ran.
#[derive(Debug, Default)]
pub(crate) struct Reloads {
    pub(crate) taken: AtomicU64,
    pub(crate) refused: AtomicU64,
}

/// The headers in a file, one on each line. What is wrong is told by its line and not by its text, which is secret.
pub(crate) fn headers(path: &Path) -> Result<Vec<(String, Secret)>, CliError> {
    let shown = path.display();
    let read = redress_disk::read(path, LARGEST_HEADERS);
    let text = read.and_then(|bytes| String::from_utf8(bytes).map_err(|error| io::Error::other(error.utf8_error())));
    let text = text.map_err(|cause| CliError::FileUnreadable { path: shown.to_string(), cause })?;
    let lines = (1..).zip(text.lines().map(str::trim)).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let read = lines.map(|(number, line)| {
        let parts = line.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
        let named = parts.filter(|(name, value)| !name.is_empty() && !value.is_empty());
        let (name, value) = named.ok_or_else(|| CliError::TelemetryUnusable {
            says: format!("{shown}, line {number}: expected the name of a header, a colon and its value"),
        })?;
        Ok((name.to_owned(), Secret::new(value)))
    });
    read.collect()
}

/// The access log, where one is named.
pub(super) fn access_log(settings: &ServeSettings) -> Result<Option<Arc<AccessLog>>, CliError> {
    let (target, shown) = match &settings.telemetry.access_log {
        None => return Ok(None),
        Some(config::AccessLogSetting::Stderr) => (LogTarget::Stderr, "stderr".to_owned()),
        Some(config::AccessLogSetting::File(path)) => (LogTarget::File(path.clone()), path.display().to_string()),
    };
    AccessLog::open(target).map(Some).map_err(|cause| CliError::TelemetryUnusable {
        says: format!("the access log {shown} cannot be opened: {}", reason(&cause)),
    })
}

/// Counts what the parts themselves count.
pub(super) fn of_parts(metrics: &Metrics, log: Option<&Arc<AccessLog>>, dropped_fields: &DroppedFields) {
    let fields = dropped_fields.clone();
    metrics.counter(names::HOST_FIELDS_DROPPED, move || fields.count());
    if let Some(log) = log.cloned() {
        metrics.counter(names::ACCESS_LOG_DROPPED, move || log.dropped());
    }
}

/// Counts what the server counts.
#[expect(clippy::cast_precision_loss, reason = "a level is shown and not reckoned with")]
pub(super) fn of_server(metrics: &Metrics, server: &ServerHandle, reloads: &Arc<Reloads>) {
    let stats = |server: &ServerHandle| {
        let server = server.clone();
        move || server.stats()
    };
    let (open, sockets, streams, refused) = (stats(server), stats(server), stats(server), stats(server));
    metrics.gauge(names::CONNECTIONS, move || open().connections as f64);
    metrics.gauge(names::SOCKETS, move || sockets().sockets as f64);
    metrics.gauge(names::STREAMS, move || streams().streams as f64);
    metrics.counter(names::CONNECTIONS_REFUSED, move || refused().refused + refused().refused_by_address);
    let (held, peak, waited, no_room) = (stats(server), stats(server), stats(server), stats(server));
    metrics.gauge(names::ANSWER_BYTES, move || held().answer_bytes as f64);
    metrics.gauge(names::ANSWER_BYTES_PEAK, move || peak().answer_bytes_peak as f64);
    metrics.counter(names::ANSWERS_WAITED, move || waited().waited_answers);
    metrics.counter(names::ANSWERS_REFUSED, move || no_room().refused_answers);
    let ready = server.clone();
    metrics.gauge(names::READY, move || f64::from(u8::from(ready.is_ready())));
    let (taken, refused) = (Arc::clone(reloads), Arc::clone(reloads));
    metrics.counter(names::RELOADS, move || taken.taken.load(Relaxed));
    metrics.counter(names::RELOADS_REFUSED, move || refused.refused.load(Relaxed));
}
