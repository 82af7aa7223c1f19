//! Whose words may be told.

/// The crates whose spans and events are told as their authors wrote them: those of redress, and those of the program.
///
/// Every other crate is a library. Some of them log what a client has sent, whole, so of theirs only warnings and
/// errors are told, and nothing of what they say leaves this machine.
///
/// ```
/// use redress_telemetry::LogTargets;
///
/// let own = LogTargets::new(["shop-server"]);
/// assert!(own.has("shop_server::orders") && own.has("redress_core::call"));
/// assert!(!own.has("rmcp::service") && !own.has("shop_servers"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct LogTargets(Vec<String>);

impl LogTargets {
    /// The crates of redress, and those of these names, as they are written in `Cargo.toml` or in code.
    pub fn new(names: impl IntoIterator<Item = impl Into<String>>) -> LogTargets {
        LogTargets(names.into_iter().map(|name| name.into().replace('-', "_")).collect())
    }

    /// Whether a span or an event with this target comes from one of them.
    pub fn has(&self, target: &str) -> bool {
        let of = target.split("::").next().unwrap_or_default();
        of == "redress" || of.starts_with("redress_") || self.0.iter().any(|name| name == of)
    }

    #[cfg(feature = "otlp")]
    pub(crate) fn add(&mut self, name: &str) {
        self.0.push(name.replace('-', "_"));
    }
}
