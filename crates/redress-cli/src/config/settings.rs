//! What holds: a flag before the environment, that before the file, that before the default.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use super::{Envelope, File, Format, Level, McpTable, OutputSchema, Span};
use crate::{
    arguments::{Bounds, Folder, Serve, Tools},
    trouble::Trouble,
};

/// Where `serve` listens unless told otherwise.
pub(crate) const DEFAULT_LISTEN: &str = "127.0.0.1:7717";
const DEFAULT_GRACE: Duration = Duration::from_secs(10);
const DEFAULT_DEADLINE: Duration = Duration::from_secs(30);
const DEFAULT_IN_FLIGHT: usize = 1024;

/// One value that can be set, under all its names.
pub(crate) struct Setting {
    pub(crate) table: &'static str,
    pub(crate) key: &'static str,
    pub(crate) path: &'static str,
    flag: &'static str,
    environment: &'static str,
    default: &'static str,
    /// Whether only the built-in operations have it.
    pub(crate) built_in: bool,
}

macro_rules! setting {
    ($table:literal . $key:literal, $flag:literal, $environment:literal, $default:literal, $built_in:literal) => {
        Setting {
            table: $table,
            key: $key,
            path: concat!($table, ".", $key),
            flag: $flag,
            environment: $environment,
            default: $default,
            built_in: $built_in,
        }
    };
}

/// Every value that can be set.
pub(crate) const SETTINGS: [Setting; 14] = [
    setting!("serve"."listen", "--listen", "REDRESS_LISTEN", "`127.0.0.1:7717`", false),
    setting!("serve"."root", "--root", "REDRESS_ROOT", "the current folder", true),
    setting!("serve"."write", "--write", "REDRESS_WRITE", "`false`", true),
    setting!("serve"."max_body", "--max-body", "REDRESS_MAX_BODY", "what the largest input needs", false),
    setting!("serve"."shutdown_grace", "--shutdown-grace", "REDRESS_SHUTDOWN_GRACE", "`10s`", false),
    setting!("serve"."max_in_flight", "--max-in-flight", "REDRESS_MAX_IN_FLIGHT", "`1024`", true),
    setting!("serve"."deadline", "--deadline", "REDRESS_DEADLINE", "`30s`", true),
    setting!("log"."level", "--log-level", "REDRESS_LOG_LEVEL", "`info` in `serve`, else `error`", false),
    setting!("log"."format", "--log-format", "REDRESS_LOG_FORMAT", "`text`", false),
    setting!("mcp"."profile", "--profile", "REDRESS_PROFILE", "all operations", false),
    setting!("mcp"."profiles", "--profiles", "REDRESS_PROFILES", "none", false),
    setting!("mcp"."output_schema", "--output-schema", "REDRESS_OUTPUT_SCHEMA", "`success`", false),
    setting!("mcp"."envelope", "--envelope", "REDRESS_ENVELOPE", "`failures`", false),
    setting!("mcp"."discovery_above", "--discovery-above", "REDRESS_DISCOVERY_ABOVE", "`200`", false),
];

/// Every value that can be set, as a Markdown table.
pub fn settings_table() -> String {
    let mut table = String::from("| in the file | flag | environment | default | of |\n|---|---|---|---|---|\n");
    for Setting { path, flag, environment, default, built_in, .. } in &SETTINGS {
        let of = if *built_in { "`redress` itself" } else { "every program" };
        table.push_str(&format!("| `{path}` | `{flag}` | `{environment}` | {default} | {of} |\n"));
    }
    table
}

/// What holds for one run of `serve`.
#[derive(Debug, PartialEq)]
pub(crate) struct Settings {
    pub(crate) listen: String,
    pub(crate) root: PathBuf,
    pub(crate) write: bool,
    pub(crate) max_body: Option<usize>,
    pub(crate) grace: Duration,
    pub(crate) max_in_flight: usize,
    pub(crate) deadline: Duration,
    pub(crate) level: Option<Level>,
    pub(crate) format: Option<Format>,
    pub(crate) tools: ToolSettings,
}

/// How operations become tools.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ToolSettings {
    pub(crate) profile: Option<String>,
    pub(crate) profiles: BTreeMap<String, Vec<String>>,
    pub(crate) output_schema: Option<OutputSchema>,
    pub(crate) envelope: Option<Envelope>,
    pub(crate) discovery_above: Option<usize>,
}

impl ToolSettings {
    /// What was typed goes before the file; profiles of both are known, by their names.
    fn of(typed: &Tools, file: McpTable) -> ToolSettings {
        let mut profiles = file.profiles.unwrap_or_default();
        profiles.extend(typed.profiles.iter().map(|profile| (profile.name.clone(), profile.patterns.clone())));
        ToolSettings {
            profile: typed.profile.clone().or(file.profile),
            profiles,
            output_schema: typed.output_schema.or(file.output_schema),
            envelope: typed.envelope.or(file.envelope),
            discovery_above: typed.discovery_above.or(file.discovery_above),
        }
    }
}

impl Settings {
    /// What was typed goes before the file; the environment counts as typed where a flag is
    /// missing.
    pub(crate) fn of(typed: &Serve, folder: &Folder, bounds: &Bounds, file: File) -> Settings {
        let File { serve, log, mcp } = file;
        let span = |typed: Option<Span>, file: Option<Span>, default| typed.or(file).map_or(default, |span| span.0);
        Settings {
            listen: typed.listen.clone().or(serve.listen).unwrap_or_else(|| DEFAULT_LISTEN.to_owned()),
            root: folder.root.clone().or(serve.root).unwrap_or_else(|| PathBuf::from(".")),
            write: folder.write.or(serve.write).unwrap_or(false),
            max_body: typed.max_body.or(serve.max_body).map(|size| size.0),
            grace: span(typed.shutdown_grace, serve.shutdown_grace, DEFAULT_GRACE),
            max_in_flight: bounds.max_in_flight.or(serve.max_in_flight).unwrap_or(DEFAULT_IN_FLIGHT),
            deadline: span(bounds.deadline, serve.deadline, DEFAULT_DEADLINE),
            level: log.level,
            format: log.format,
            tools: ToolSettings::of(&typed.tools, mcp),
        }
    }

    /// What holds for the built-in operations where nothing is served.
    pub(crate) fn local(folder: &Folder) -> Settings {
        Settings::of(&Serve::default(), folder, &Bounds::default(), File::default())
    }
}

impl File {
    /// Refuses what only the built-in operations have, for a program that brings its own
    /// registry: it was built with its bounds, and has no folder.
    pub(crate) fn for_a_registry(self, path: &str) -> Result<File, Trouble> {
        let serve = &self.serve;
        let set = [
            ("serve.root", serve.root.is_some()),
            ("serve.write", serve.write.is_some()),
            ("serve.max_in_flight", serve.max_in_flight.is_some()),
            ("serve.deadline", serve.deadline.is_some()),
        ];
        match set.into_iter().find(|(_, is_set)| *is_set) {
            None => Ok(self),
            Some((key, _)) => Err(Trouble::ConfigInvalid {
                path: path.to_owned(),
                line: None,
                says: format!("`{key}` is for the built-in operations; this program builds its own registry"),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_table_of_settings_is_what_the_file_may_hold() {
        let schema = crate::config_schema();
        let mut held = BTreeSet::new();
        for (table, inner) in schema["properties"].as_object().unwrap() {
            held.extend(inner["properties"].as_object().unwrap().keys().map(|key| format!("{table}.{key}")));
        }
        let known: BTreeSet<String> = SETTINGS.iter().map(|setting| setting.path.to_owned()).collect();
        assert_eq!(held, known);
    }

    #[test]
    fn every_setting_has_its_flag_and_its_environment_variable() {
        let command = crate::arguments::command("redress", "0", true);
        let serve = command.find_subcommand("serve").unwrap();
        let all: Vec<_> = serve.get_arguments().chain(command.get_arguments()).collect();
        for setting in &SETTINGS {
            let flag = all.iter().find(|arg| arg.get_long() == setting.flag.strip_prefix("--"));
            let flag = flag.unwrap_or_else(|| panic!("{} is no flag", setting.flag));
            assert_eq!(flag.get_env(), Some(setting.environment.as_ref()), "{}", setting.flag);
        }
    }

    #[test]
    fn what_only_the_built_in_operations_have_is_refused_elsewhere() {
        let refused = |text: &str| toml::from_str::<File>(text).unwrap().for_a_registry("redress.toml").is_err();
        for setting in &SETTINGS {
            let value = match setting.key {
                "write" => "true",
                "max_in_flight" | "max_body" | "discovery_above" => "1",
                "profiles" => "{}",
                "output_schema" => "\"union\"",
                "envelope" => "\"always\"",
                "level" => "\"info\"",
                "format" => "\"text\"",
                _ => "\"1s\"",
            };
            let text = format!("[{}]\n{} = {value}\n", setting.table, setting.key);
            assert_eq!(refused(&text), setting.built_in, "{}", setting.path);
        }
    }

    #[test]
    fn what_was_typed_goes_before_the_file_and_that_before_the_default() {
        let file =
            || toml::from_str::<File>("[serve]\nlisten = \"127.0.0.1:1\"\nwrite = true\ndeadline = \"1s\"\n").unwrap();
        let typed = |listen: Option<&str>| Serve { listen: listen.map(str::to_owned), ..Serve::default() };
        let folder = Folder { root: None, write: Some(false) };
        let held = Settings::of(&typed(Some("127.0.0.1:2")), &folder, &Bounds::default(), file());
        assert_eq!((held.listen.as_str(), held.write, held.deadline.as_secs()), ("127.0.0.1:2", false, 1));
        let held = Settings::of(&typed(None), &Folder::default(), &Bounds::default(), file());
        assert_eq!((held.listen.as_str(), held.write, held.grace.as_secs()), ("127.0.0.1:1", true, 10));
    }
}
