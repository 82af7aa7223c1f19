//! Every value that can be set, under all its names.

use std::time::Duration;

use redress_access::AccessOptions;
use redress_mcp::McpOptions;
use redress_serve::ServerLimits;

use super::defaults;
use SettingDefault::{Bytes, Count, Real, Text, Time, Truth, Words};

/// What holds where nothing is set: the very value that is used then, or words where that is no single one.
#[derive(Clone, Copy)]
enum SettingDefault {
    Words(&'static str),
    /// A value that another crate has by itself, as it is written in the file.
    Text(&'static str),
    Truth(bool),
    Real(f64),
    Count(fn() -> usize),
    Bytes(fn() -> usize),
    Time(fn() -> Duration),
}

impl SettingDefault {
    /// As the table has it: a value as it would be written in the file.
    fn shown(self) -> String {
        let value = match self {
            Words(words) => return words.to_owned(),
            Text(text) => text.to_owned(),
            Truth(truth) => truth.to_string(),
            Real(real) => format!("{real:?}"),
            Count(count) => count().to_string(),
            Bytes(bytes) => bytes_shown(bytes()),
            Time(time) => time_shown(time()),
        };
        format!("`{value}`")
    }
}

/// The size in the largest unit of which it is a whole number.
fn bytes_shown(bytes: usize) -> String {
    let units = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let unit = units.into_iter().find(|(_, unit)| bytes >= *unit && bytes.is_multiple_of(*unit));
    unit.map_or_else(|| bytes.to_string(), |(name, unit)| format!("{}{name}", bytes / unit))
}

/// The time in the largest unit of which it is a whole number, and more than one: a day is 24 hours to most.
fn time_shown(time: Duration) -> String {
    let units = [("d", 24 * 60 * 60), ("h", 60 * 60), ("m", 60), ("s", 1)];
    let seconds = time.as_secs();
    let unit = units.into_iter().find(|(_, unit)| seconds > *unit && seconds.is_multiple_of(*unit));
    unit.map_or_else(|| format!("{}ms", time.as_millis()), |(name, unit)| format!("{}{name}", seconds / unit))
}

/// One value that can be set.
pub(crate) struct Setting {
    /// Its place in the file.
    pub(crate) path: &'static str,
    /// Its flag and its environment variable, where it has them: what differs from one machine or container to the
    /// next does, what is thought about once is in the file alone.
    pub(crate) args: Option<(&'static str, &'static str)>,
    default: SettingDefault,
    /// Whether only the built-in operations have it.
    pub(crate) built_in: bool,
    /// Whether a change needs a restart.
    pub(crate) fixed: bool,
}

impl Setting {
    const fn new(path: &'static str, default: SettingDefault) -> Setting {
        Setting { path, args: None, default, built_in: false, fixed: false }
    }

    const fn args(mut self, flag: &'static str, environment: &'static str) -> Setting {
        self.args = Some((flag, environment));
        self
    }

    const fn built_in(mut self) -> Setting {
        self.built_in = true;
        self
    }

    const fn fixed(mut self) -> Setting {
        self.fixed = true;
        self
    }
}

/// Every value that can be set.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting::new("serve.listen", Text(defaults::LISTEN)).args("--listen", "REDRESS_LISTEN").fixed(),
    Setting::new("serve.url", Words("what the request says")),
    Setting::new("serve.root", Words("the current folder")).args("--root", "REDRESS_ROOT").built_in().fixed(),
    Setting::new("serve.write", Truth(defaults::WRITE)).args("--write", "REDRESS_WRITE").built_in().fixed(),
    Setting::new("serve.max_body", Words("what the largest input needs")).args("--max-body", "REDRESS_MAX_BODY"),
    Setting::new("serve.shutdown_grace", Time(|| defaults::GRACE))
        .args("--shutdown-grace", "REDRESS_SHUTDOWN_GRACE")
        .fixed(),
    Setting::new("serve.max_in_flight", Count(|| defaults::IN_FLIGHT))
        .args("--max-in-flight", "REDRESS_MAX_IN_FLIGHT")
        .built_in(),
    Setting::new("serve.deadline", Time(|| defaults::DEADLINE))
        .args("--deadline", "REDRESS_DEADLINE")
        .built_in()
        .fixed(),
    Setting::new("serve.check_outputs", Words("`true` in debug builds, `false` in others")),
    Setting::new("access.tokens", Words("none")).args("--tokens", "REDRESS_TOKENS"),
    Setting::new("access.hashes", Words("none")),
    Setting::new("access.jwt.issuer", Words("any")),
    Setting::new("access.jwt.audience", Words("none: a token that names one is refused")),
    Setting::new("access.jwt.jwks_url", Words("none")),
    Setting::new("access.jwt.jwks_file", Words("none")),
    Setting::new("access.jwt.secret_file", Words("none")),
    Setting::new("access.jwt.key_file", Words("none")),
    Setting::new("access.jwt.algorithms", Words("what suits the keys")),
    Setting::new("access.jwt.caller_claim", Text("sub")),
    Setting::new("access.jwt.scopes_claim", Text("scope")),
    Setting::new("access.jwt.required_claims", Words("none")),
    Setting::new("access.jwt.clock_skew", Text("30s")),
    Setting::new("access.jwt.cache", Count(|| AccessOptions::default().cache)),
    Setting::new("access.certificates.ca", Words("none")),
    Setting::new("access.certificates.required", Truth(defaults::CERTIFICATES_REQUIRED)),
    Setting::new("access.certificates.callers", Words("none")),
    Setting::new("state", Words("a folder with a configuration, `memory` without"))
        .args("--state", "REDRESS_STATE")
        .fixed(),
    Setting::new("state.folder", Words("`state`, beside the file")).fixed(),
    Setting::new("state.sync", Text("full")).fixed(),
    Setting::new("state.keys_last", Text("24h")).fixed(),
    Setting::new("audit.enabled", Truth(defaults::AUDITED)),
    Setting::new("audit.retention", Text("90d")).fixed(),
    Setting::new("limits.rate", Words("none")),
    Setting::new("limits.burst", Words("the number of the rate")),
    Setting::new("limits.quota", Words("none")),
    Setting::new("limits.in_flight", Words("a quarter of `serve.max_in_flight`")),
    Setting::new("limits.streams", Count(|| ServerLimits::default().streams)),
    Setting::new("limits.sockets", Count(|| ServerLimits::default().sockets)),
    Setting::new("limits.connections", Count(|| ServerLimits::default().connections)),
    Setting::new("limits.per_address", Count(|| ServerLimits::default().per_address)),
    Setting::new("limits.shed", Truth(defaults::SHED)),
    Setting::new("limits.json_depth", Count(|| redress_core::Settings::default().json_depth)),
    Setting::new("limits.json_members", Count(|| redress_core::Settings::default().json_members)),
    Setting::new("limits.max_output", Bytes(|| redress_core::Settings::default().max_output)),
    Setting::new("limits.answer_bytes", Bytes(|| ServerLimits::default().answer_bytes)),
    Setting::new("limits.answer_bytes_per_caller", Bytes(|| ServerLimits::default().answer_bytes_per_caller)),
    Setting::new("limits.answer_bytes_per_connection", Bytes(|| ServerLimits::default().answer_bytes_per_connection)),
    Setting::new("limits.rules", Words("none")),
    Setting::new("tls.certificate", Words("none")).args("--tls-certificate", "REDRESS_TLS_CERTIFICATE"),
    Setting::new("tls.key", Words("none")).args("--tls-key", "REDRESS_TLS_KEY"),
    Setting::new("http.compression", Truth(defaults::COMPRESSION)),
    Setting::new("http.cors_origins", Words("none")),
    Setting::new("http.trusted_proxies", Words("none")),
    Setting::new("http.handshake_time", Time(|| ServerLimits::default().handshake_time)),
    Setting::new("http.header_time", Time(|| ServerLimits::default().header_time)),
    Setting::new("http.body_time", Time(|| ServerLimits::default().body_time)),
    Setting::new("http.idle_time", Time(|| ServerLimits::default().idle_time)),
    Setting::new("http.write_time", Time(|| ServerLimits::default().write_time)),
    Setting::new("http.max_headers", Bytes(|| ServerLimits::default().header_bytes)),
    Setting::new("telemetry.metrics", Truth(defaults::METRICS)),
    Setting::new("telemetry.metrics_open", Truth(defaults::METRICS_OPEN)),
    Setting::new("telemetry.otlp", Words("none")).args("--otlp", "REDRESS_OTLP").fixed(),
    Setting::new("telemetry.headers_file", Words("none")).fixed(),
    Setting::new("telemetry.service", Words("the name of the program")).fixed(),
    Setting::new("telemetry.sample", Real(defaults::SAMPLE)).fixed(),
    Setting::new("telemetry.access_log", Words("none")).fixed(),
    Setting::new("log.level", Words("`info` in `serve`, else `error`")).args("--log-level", "REDRESS_LOG_LEVEL"),
    Setting::new("log.format", Text("text")).args("--log-format", "REDRESS_LOG_FORMAT").fixed(),
    Setting::new("mcp.profile", Words("all operations")).args("--profile", "REDRESS_PROFILE"),
    Setting::new("mcp.profiles", Words("none")).args("--profiles", "REDRESS_PROFILES"),
    Setting::new("mcp.output_schema", Text("success")).args("--output-schema", "REDRESS_OUTPUT_SCHEMA"),
    Setting::new("mcp.envelope", Text("failures")).args("--envelope", "REDRESS_ENVELOPE"),
    Setting::new("mcp.discovery_above", Count(|| McpOptions::default().discovery_above))
        .args("--discovery-above", "REDRESS_DISCOVERY_ABOVE"),
    Setting::new("mcp.error_meta", Truth(defaults::ERROR_META)),
    Setting::new("mcp.subscriptions", Truth(defaults::SUBSCRIPTIONS)),
    Setting::new("mcp.subscription_time", Time(|| McpOptions::default().stream.time)),
    Setting::new("mcp.host_fields", Words("none")),
    Setting::new("upstream", Words("none")).built_in().fixed(),
];

/// Every value that can be set, as a Markdown table.
pub fn settings_table() -> String {
    let mut table =
        String::from("| in the file | flag | environment | default | a change | of |\n|---|---|---|---|---|---|\n");
    for Setting { path, args, default, built_in, fixed } in SETTINGS {
        let of = if *built_in { "`redress` itself" } else { "every program" };
        let change = if *fixed { "needs a restart" } else { "is taken at once" };
        let (flag, environment) = args.map_or(("", ""), |args| args);
        let code = |text: &str| if text.is_empty() { "–".to_owned() } else { format!("`{text}`") };
        let (flag, environment) = (code(flag), code(environment));
        let default = default.shown();
        table.push_str(&format!("| `{path}` | {flag} | {environment} | {default} | {change} | {of} |\n"));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{config_schema, document};
    use std::collections::BTreeSet;

    #[test]
    fn the_table_of_settings_is_what_the_file_may_hold() {
        let known: BTreeSet<&str> = SETTINGS.iter().map(|setting| setting.path).collect();
        assert_eq!(known.len(), SETTINGS.len());
        let schema = config_schema();
        let paths = document::paths(&schema);
        for path in &paths {
            // A table is described by what it holds, and what a list holds by the list.
            let holds = paths.iter().any(|other| other.starts_with(&format!("{path}.")));
            let listed = SETTINGS
                .iter()
                .any(|setting| path.starts_with(&format!("{}.", setting.path)) && setting.path != "state");
            assert!(known.contains(path.as_str()) || holds || listed, "{path} is no setting");
        }
        let paths: BTreeSet<&str> = paths.iter().map(String::as_str).collect();
        assert!(known.is_subset(&paths), "{:?}", known.difference(&paths));
    }

    #[test]
    fn a_default_is_shown_as_it_would_be_written() {
        let bytes = [1000, 16 << 10, 1500 << 10, 256 << 20, 2 << 30].map(bytes_shown);
        assert_eq!(bytes, ["1000", "16KiB", "1500KiB", "256MiB", "2GiB"]);
        let times = [0, 1, 10, 75, 300, 86_400, 90 * 86_400].map(|seconds| time_shown(Duration::from_secs(seconds)));
        assert_eq!(times, ["0ms", "1000ms", "10s", "75s", "5m", "24h", "90d"]);
    }

    #[test]
    fn every_setting_that_can_be_typed_has_its_flag_and_its_environment_variable() {
        let program = crate::Program::built_in(|_| Ok(redress_core::Registry::builder().build()?));
        let command = crate::arguments::command(&program);
        let serve = command.find_subcommand("serve").unwrap();
        let all: Vec<_> = serve.get_arguments().chain(command.get_arguments()).collect();
        for (flag, environment) in SETTINGS.iter().filter_map(|setting| setting.args) {
            let found = all.iter().find(|arg| arg.get_long() == flag.strip_prefix("--"));
            let found = found.unwrap_or_else(|| panic!("{flag} is no flag"));
            assert_eq!(found.get_env(), Some(environment.as_ref()), "{flag}");
        }
        // And what can be typed is in the table, but for what is no setting.
        let known: Vec<&str> = SETTINGS.iter().filter_map(|setting| setting.args).map(|args| args.0).collect();
        for flag in all.iter().filter(|arg| arg.get_env().is_some()).filter_map(|arg| arg.get_long()) {
            assert!(known.contains(&format!("--{flag}").as_str()), "--{flag} is in no table");
        }
    }
}
