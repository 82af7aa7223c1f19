//! Every value that can be set, under all its names.

/// One value that can be set.
pub(crate) struct Setting {
    /// Its place in the file.
    pub(crate) path: &'static str,
    /// Its flag and its environment variable, where it has them: what differs from one machine or container to the
    /// next does, what is thought about once is in the file alone.
    pub(crate) args: Option<(&'static str, &'static str)>,
    default: &'static str,
    /// Whether only the built-in operations have it.
    pub(crate) built_in: bool,
    /// Whether a change needs a restart.
    pub(crate) fixed: bool,
}

impl Setting {
    const fn new(path: &'static str, default: &'static str) -> Setting {
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
    Setting::new("serve.listen", "`127.0.0.1:7717`").args("--listen", "REDRESS_LISTEN").fixed(),
    Setting::new("serve.url", "what the request says"),
    Setting::new("serve.root", "the current folder").args("--root", "REDRESS_ROOT").built_in().fixed(),
    Setting::new("serve.write", "`false`").args("--write", "REDRESS_WRITE").built_in().fixed(),
    Setting::new("serve.max_body", "what the largest input needs").args("--max-body", "REDRESS_MAX_BODY"),
    Setting::new("serve.shutdown_grace", "`10s`").args("--shutdown-grace", "REDRESS_SHUTDOWN_GRACE").fixed(),
    Setting::new("serve.max_in_flight", "`1024`").args("--max-in-flight", "REDRESS_MAX_IN_FLIGHT").built_in(),
    Setting::new("serve.deadline", "`30s`").args("--deadline", "REDRESS_DEADLINE").built_in().fixed(),
    Setting::new("serve.check_outputs", "`true` in debug builds, `false` in others"),
    Setting::new("access.tokens", "none").args("--tokens", "REDRESS_TOKENS"),
    Setting::new("access.hashes", "none"),
    Setting::new("access.jwt.issuer", "any"),
    Setting::new("access.jwt.audience", "none: a token that names one is refused"),
    Setting::new("access.jwt.jwks_url", "none"),
    Setting::new("access.jwt.jwks_file", "none"),
    Setting::new("access.jwt.secret_file", "none"),
    Setting::new("access.jwt.key_file", "none"),
    Setting::new("access.jwt.algorithms", "what suits the keys"),
    Setting::new("access.jwt.caller_claim", "`sub`"),
    Setting::new("access.jwt.scopes_claim", "`scope`"),
    Setting::new("access.jwt.required_claims", "none"),
    Setting::new("access.jwt.clock_skew", "`30s`"),
    Setting::new("access.jwt.cache", "`10000`"),
    Setting::new("access.certificates.ca", "none"),
    Setting::new("access.certificates.required", "`false`"),
    Setting::new("access.certificates.callers", "none"),
    Setting::new("state", "a folder with a configuration, `memory` without").args("--state", "REDRESS_STATE").fixed(),
    Setting::new("state.folder", "`state`, beside the file").fixed(),
    Setting::new("state.sync", "`full`").fixed(),
    Setting::new("state.keys_last", "`24h`").fixed(),
    Setting::new("audit.enabled", "`true`"),
    Setting::new("audit.retention", "`90d`").fixed(),
    Setting::new("limits.rate", "none"),
    Setting::new("limits.burst", "the number of the rate"),
    Setting::new("limits.quota", "none"),
    Setting::new("limits.in_flight", "a quarter of `serve.max_in_flight`"),
    Setting::new("limits.streams", "`256`"),
    Setting::new("limits.sockets", "`64`"),
    Setting::new("limits.connections", "`16384`"),
    Setting::new("limits.per_address", "`1024`"),
    Setting::new("limits.shed", "`false`"),
    Setting::new("limits.json_depth", "`127`"),
    Setting::new("limits.json_members", "`100000`"),
    Setting::new("limits.max_output", "`16MiB`"),
    Setting::new("limits.answer_bytes", "`256MiB`"),
    Setting::new("limits.answer_bytes_per_caller", "`64MiB`"),
    Setting::new("limits.answer_bytes_per_connection", "`8MiB`"),
    Setting::new("limits.rules", "none"),
    Setting::new("tls.certificate", "none").args("--tls-certificate", "REDRESS_TLS_CERTIFICATE"),
    Setting::new("tls.key", "none").args("--tls-key", "REDRESS_TLS_KEY"),
    Setting::new("http.compression", "`true`"),
    Setting::new("http.cors_origins", "none"),
    Setting::new("http.trusted_proxies", "none"),
    Setting::new("http.handshake_time", "`10s`"),
    Setting::new("http.header_time", "`10s`"),
    Setting::new("http.body_time", "`30s`"),
    Setting::new("http.idle_time", "`75s`"),
    Setting::new("http.write_time", "`30s`"),
    Setting::new("http.max_headers", "`16KiB`"),
    Setting::new("telemetry.metrics", "`true`"),
    Setting::new("telemetry.metrics_open", "`false`"),
    Setting::new("telemetry.otlp", "none").args("--otlp", "REDRESS_OTLP").fixed(),
    Setting::new("telemetry.headers_file", "none").fixed(),
    Setting::new("telemetry.service", "the name of the program").fixed(),
    Setting::new("telemetry.sample", "`1.0`").fixed(),
    Setting::new("telemetry.access_log", "none").fixed(),
    Setting::new("log.level", "`info` in `serve`, else `error`").args("--log-level", "REDRESS_LOG_LEVEL"),
    Setting::new("log.format", "`text`").args("--log-format", "REDRESS_LOG_FORMAT").fixed(),
    Setting::new("mcp.profile", "all operations").args("--profile", "REDRESS_PROFILE"),
    Setting::new("mcp.profiles", "none").args("--profiles", "REDRESS_PROFILES"),
    Setting::new("mcp.output_schema", "`success`").args("--output-schema", "REDRESS_OUTPUT_SCHEMA"),
    Setting::new("mcp.envelope", "`failures`").args("--envelope", "REDRESS_ENVELOPE"),
    Setting::new("mcp.discovery_above", "`200`").args("--discovery-above", "REDRESS_DISCOVERY_ABOVE"),
    Setting::new("mcp.error_meta", "`true`"),
    Setting::new("mcp.subscriptions", "`false`"),
    Setting::new("mcp.subscription_time", "`4s`"),
    Setting::new("mcp.host_fields", "none"),
    Setting::new("upstream", "none").built_in().fixed(),
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
