//! What holds: a flag before the environment, that before the file, that before the default.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    AccessTable, AuditTable, ConfigDocument, EnvelopeSetting, File, Format, HttpTable, LimitsTable, ListenSetting,
    LogLevel, McpTable, OutputSchemaSetting, Span, StateTable, TelemetryTable, UpstreamTable, WhereState, defaults,
    read::folder,
};
use crate::{
    arguments::{BoundsArgs, FolderArgs, ServeArgs, ToolsArgs},
    error::CliError,
};

/// The configuration that commands look at where none is named.
pub(crate) const HERE: &str = "redress.toml";
/// The folder beside a configuration in which state is kept.
const DEFAULT_STATE: &str = "state";

/// What holds for one run of `serve`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ServeSettings {
    pub(crate) listen: ListenSetting,
    /// The URL by which clients know the server; what each request says, where it is not set.
    pub(crate) url: Option<String>,
    pub(crate) root: PathBuf,
    pub(crate) write: bool,
    pub(crate) max_body: Option<usize>,
    pub(crate) grace: Duration,
    /// Nothing where the program has bounds of its own.
    pub(crate) max_in_flight: Option<usize>,
    pub(crate) deadline: Duration,
    /// Nothing where the build of the program decides.
    pub(crate) check_outputs: Option<bool>,
    /// Nothing where nobody is known.
    pub(crate) access: Option<AccessTable>,
    pub(crate) state: WhereState,
    pub(crate) audit: AuditTable,
    pub(crate) limits: LimitsTable,
    pub(crate) tls: Option<TlsSettings>,
    pub(crate) http: HttpTable,
    pub(crate) telemetry: TelemetryTable,
    pub(crate) level: Option<LogLevel>,
    pub(crate) format: Option<Format>,
    pub(crate) tools: ToolSettings,
    pub(crate) upstreams: Vec<UpstreamTable>,
    /// The file, where there is one, to tell what is wrong with its line.
    pub(crate) document: Option<ConfigDocument>,
}

/// What the server shows to prove who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TlsSettings {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// How operations become tools.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ToolSettings {
    pub(crate) profile: Option<String>,
    pub(crate) profiles: BTreeMap<String, Vec<String>>,
    pub(crate) output_schema: Option<OutputSchemaSetting>,
    pub(crate) envelope: Option<EnvelopeSetting>,
    pub(crate) discovery_above: Option<usize>,
    pub(crate) error_meta: Option<bool>,
    pub(crate) subscriptions: Option<bool>,
    pub(crate) subscription_time: Option<Span>,
    pub(crate) host_fields: Vec<String>,
}

impl ToolSettings {
    /// What was typed goes before the file; profiles of both are known, by their names.
    fn of(args: &ToolsArgs, file: McpTable) -> ToolSettings {
        let mut profiles = file.profiles.unwrap_or_default();
        profiles.extend(args.profiles.iter().map(|profile| (profile.name.clone(), profile.patterns.clone())));
        ToolSettings {
            profile: args.profile.clone().or(file.profile),
            profiles,
            output_schema: args.output_schema.or(file.output_schema),
            envelope: args.envelope.or(file.envelope),
            discovery_above: args.discovery_above.or(file.discovery_above),
            error_meta: file.error_meta,
            subscriptions: file.subscriptions,
            subscription_time: file.subscription_time,
            host_fields: file.host_fields.unwrap_or_default(),
        }
    }
}

impl ServeSettings {
    /// What was typed goes before the file; the environment counts as typed where a flag is
    /// missing.
    pub(crate) fn of(
        args: &ServeArgs,
        folder: &FolderArgs,
        bounds: &BoundsArgs,
        file: File,
        document: Option<ConfigDocument>,
    ) -> Result<ServeSettings, CliError> {
        let File { serve, access, state, audit, limits, tls, http, mut telemetry, log, mcp, upstream } = file;
        let span = |args: Option<Span>, file: Option<Span>, default| args.or(file).map_or(default, |span| span.0);
        let mut access = access;
        if let Some(tokens) = &args.tokens {
            access.get_or_insert_default().tokens = Some(tokens.clone());
        }
        telemetry.otlp = args.kept.otlp.clone().or(telemetry.otlp);
        let tls = tls.unwrap_or_default();
        let settings = ServeSettings {
            listen: args
                .listen
                .clone()
                .or(serve.listen)
                .unwrap_or_else(|| ListenSetting::Tcp(defaults::LISTEN.to_owned())),
            url: serve.url,
            check_outputs: serve.check_outputs,
            root: folder.root.clone().or(serve.root).unwrap_or_else(|| PathBuf::from(".")),
            write: folder.write.or(serve.write).unwrap_or(defaults::WRITE),
            max_body: args.max_body.or(serve.max_body).map(|size| size.0),
            grace: span(args.shutdown_grace, serve.shutdown_grace, defaults::GRACE),
            max_in_flight: bounds.max_in_flight.or(serve.max_in_flight).or(Some(defaults::IN_FLIGHT)),
            deadline: span(bounds.deadline, serve.deadline, defaults::DEADLINE),
            state: kept(args.kept.state.as_deref(), state, document.as_ref()),
            tls: None,
            audit,
            limits,
            http,
            telemetry,
            level: log.level,
            format: log.format,
            tools: ToolSettings::of(&args.tools, mcp),
            upstreams: upstream,
            access,
            document,
        };
        let certificate = args.tls_certificate.clone().or(tls.certificate);
        let key = args.tls_key.clone().or(tls.key);
        let settings = match (certificate, key) {
            (Some(certificate), Some(key)) => ServeSettings { tls: Some(TlsSettings { certificate, key }), ..settings },
            (None, None) => settings,
            (Some(_), None) => return Err(settings.wrong("tls", "`tls.certificate` needs its `tls.key`")),
            (None, Some(_)) => return Err(settings.wrong("tls", "`tls.key` needs its `tls.certificate`")),
        };
        if let Some((key, says)) = settings.lacking() {
            return Err(settings.wrong(key, says));
        }
        if let Some(key) = settings.audit.unkept(&settings.state) {
            return Err(settings.wrong(key, "calls are recorded in a folder alone, and the state is in memory"));
        }
        if let Some(key) = settings.limits.unkept(&settings.state) {
            return Err(settings.wrong(key, "quotas are counted in a folder alone, and the state is in memory"));
        }
        settings.check()?;
        Ok(settings)
    }

    /// What holds for the built-in operations where nothing is served.
    pub(crate) fn local(folder: &FolderArgs) -> Result<ServeSettings, CliError> {
        ServeSettings::with_tools(folder, &ToolsArgs::default())
    }

    /// The same, with operations that become tools as was typed.
    pub(crate) fn with_tools(folder: &FolderArgs, tools: &ToolsArgs) -> Result<ServeSettings, CliError> {
        let args = ServeArgs { tools: tools.clone(), ..ServeArgs::default() };
        ServeSettings::of(&args, folder, &BoundsArgs::default(), File::default(), None)
    }

    /// What is wrong with the value at `key`: told with its line, where it is in a file.
    pub(crate) fn wrong(&self, key: &str, says: impl Into<String>) -> CliError {
        match &self.document {
            Some(document) => document.wrong(key, says),
            None => CliError::Usage { says: says.into(), tip: None, command: "redress serve".to_owned() },
        }
    }

    /// The values that cannot change while the server runs, as they can be compared.
    pub(crate) fn fixed(&self) -> Vec<(&'static str, String)> {
        let folder = match &self.state {
            WhereState::Memory => None,
            WhereState::Folder(table) => Some(table),
        };
        vec![
            ("serve.listen", self.listen.to_string()),
            ("serve.root", self.root.display().to_string()),
            ("serve.write", self.write.to_string()),
            ("serve.deadline", format!("{:?}", self.deadline)),
            ("serve.shutdown_grace", format!("{:?}", self.grace)),
            ("state", folder.is_some().to_string()),
            ("state.folder", format!("{:?}", folder.map(|table| &table.folder))),
            ("state.sync", format!("{:?}", folder.map(|table| table.sync))),
            ("state.keys_last", format!("{:?}", folder.map(|table| table.keys_last))),
            ("audit.retention", format!("{:?}", self.audit.retention)),
            ("telemetry.otlp", format!("{:?}", self.telemetry.otlp)),
            ("telemetry.headers_file", format!("{:?}", self.telemetry.headers_file)),
            ("telemetry.service", format!("{:?}", self.telemetry.service)),
            ("telemetry.sample", format!("{:?}", self.telemetry.sample)),
            ("telemetry.access_log", format!("{:?}", self.telemetry.access_log)),
            ("log.format", format!("{:?}", self.format)),
            ("upstream", format!("{:?}", self.upstreams)),
        ]
    }
}

/// Where state is kept. Without a configuration there is no place of its own for it, and nothing is left behind; with
/// one, it is beside the file; a build that can keep none has it in memory unless a folder is asked for.
fn kept(args: Option<&Path>, file: Option<WhereState>, document: Option<&ConfigDocument>) -> WhereState {
    let mut table = match (args, file) {
        (Some(args), _) if args == Path::new("memory") => return WhereState::Memory,
        (None, Some(WhereState::Memory)) => return WhereState::Memory,
        (None, None) if document.is_none() || !cfg!(feature = "state") => return WhereState::Memory,
        (_, Some(WhereState::Folder(table))) => table,
        (_, Some(WhereState::Memory) | None) => StateTable::default(),
    };
    let beside = || folder(document.map_or(Path::new(""), |document| &document.path)).join(DEFAULT_STATE);
    table.folder = args.map(Path::to_path_buf).or(table.folder).or_else(|| Some(beside()));
    WhereState::Folder(table)
}

impl File {
    /// Refuses what only the built-in operations have, for a program that brings its own
    /// registry: it was built with its bounds, and has no folder.
    pub(crate) fn for_a_registry(self, document: &ConfigDocument) -> Result<File, CliError> {
        let serve = &self.serve;
        let set = [
            ("serve.root", serve.root.is_some()),
            ("serve.write", serve.write.is_some()),
            ("serve.max_in_flight", serve.max_in_flight.is_some()),
            ("serve.deadline", serve.deadline.is_some()),
            ("upstream", !self.upstream.is_empty()),
        ];
        match set.into_iter().find(|(_, is_set)| *is_set) {
            None => Ok(self),
            Some((key, _)) => Err(document
                .wrong(key, format!("`{key}` is for the built-in operations; this program builds its own registry"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::catalogue::SETTINGS;
    use std::collections::BTreeSet;

    fn document(text: &str) -> ConfigDocument {
        ConfigDocument { path: "redress.toml".into(), text: text.to_owned() }
    }

    fn held(text: &str) -> Result<ServeSettings, CliError> {
        let (args, file) = (ServeArgs::default(), toml::from_str(text).unwrap());
        ServeSettings::of(&args, &FolderArgs::default(), &BoundsArgs::default(), file, Some(document(text)))
    }

    #[test]
    fn what_only_the_built_in_operations_have_is_refused_elsewhere() {
        let refused = |text: &str| toml::from_str::<File>(text).unwrap().for_a_registry(&document(text)).is_err();
        let is_tried = |path: &str| path == "upstream" || path.starts_with("serve.");
        for setting in SETTINGS.iter().filter(|setting| is_tried(setting.path)) {
            let value = match setting.path {
                "upstream" => "[{name = \"shop\", openapi = \"shop.yaml\"}]",
                "serve.write" | "serve.check_outputs" => "true",
                "serve.max_in_flight" | "serve.max_body" => "1",
                _ => "\"1s\"",
            };
            assert_eq!(refused(&format!("{} = {value}\n", setting.path)), setting.built_in, "{}", setting.path);
        }
        assert!(SETTINGS.iter().all(|setting| !setting.built_in || is_tried(setting.path)));
    }

    #[test]
    fn what_was_typed_goes_before_the_file_and_that_before_the_default() {
        let file =
            || toml::from_str::<File>("[serve]\nlisten = \"127.0.0.1:1\"\nwrite = true\ndeadline = \"1s\"\n").unwrap();
        let args =
            |listen: Option<&str>| ServeArgs { listen: listen.map(|to| to.parse().unwrap()), ..ServeArgs::default() };
        let folder = FolderArgs { root: None, write: Some(false) };
        let held =
            ServeSettings::of(&args(Some("127.0.0.1:2")), &folder, &BoundsArgs::default(), file(), None).unwrap();
        assert_eq!((held.listen.to_string().as_str(), held.write, held.deadline.as_secs()), ("127.0.0.1:2", false, 1));
        let held =
            ServeSettings::of(&args(None), &FolderArgs::default(), &BoundsArgs::default(), file(), None).unwrap();
        assert_eq!((held.listen.to_string().as_str(), held.write, held.grace.as_secs()), ("127.0.0.1:1", true, 10));
    }

    #[test]
    fn state_is_in_memory_without_a_configuration_and_beside_it_with_one() {
        let place = |args: Option<&str>, text: Option<&str>| {
            let file: File = toml::from_str(text.unwrap_or_default()).unwrap();
            let document = text.map(|text| ConfigDocument { path: "/etc/redress.toml".into(), text: text.to_owned() });
            match kept(args.map(Path::new), file.state, document.as_ref()) {
                WhereState::Memory => "memory".to_owned(),
                WhereState::Folder(table) => table.folder.unwrap().display().to_string(),
            }
        };
        assert_eq!(place(None, None), "memory");
        assert_eq!(place(None, Some("")), "/etc/state");
        assert_eq!(place(None, Some("state = \"memory\"")), "memory");
        assert_eq!(place(None, Some("[state]\nsync = \"normal\"")), "/etc/state");
        assert_eq!(place(Some("here"), Some("state = \"memory\"")), "here");
        assert_eq!(place(Some("memory"), Some("[state]\nfolder = \"there\"")), "memory");
        assert_eq!(place(Some("here"), None), "here");
    }

    #[test]
    fn an_audit_that_nothing_would_keep_is_refused() {
        let wrong = |text: &str| held(text).map_or_else(|trouble| trouble.to_string(), |_| String::new());
        let says = "calls are recorded in a folder alone, and the state is in memory";
        assert_eq!(wrong("state = \"memory\"\n[audit]\nenabled = true\n"), format!("redress.toml, line 3: {says}"));
        assert_eq!(wrong("state = \"memory\"\naudit.retention = \"9d\"\n"), format!("redress.toml, line 2: {says}"));
        assert_eq!(wrong("state = \"memory\"\n[audit]\nenabled = false\n"), "");
        assert_eq!(wrong("[audit]\nenabled = true\n"), "");
    }

    #[test]
    fn a_quota_that_nothing_would_keep_is_refused() {
        let wrong = |text: &str| held(text).map_or_else(|trouble| trouble.to_string(), |_| String::new());
        let says = "quotas are counted in a folder alone, and the state is in memory";
        let rule = "rules = [{ operations = [\"a.b\"], quota = \"1/day\" }]\n";
        assert_eq!(wrong("state = \"memory\"\n[limits]\nquota = \"1/day\"\n"), format!("redress.toml, line 3: {says}"));
        assert_eq!(wrong(&format!("state = \"memory\"\n[limits]\n{rule}")), format!("redress.toml, line 3: {says}"));
        assert_eq!(wrong(&format!("[limits]\nquota = \"1/day\"\n{rule}")), "");
    }

    #[test]
    fn what_cannot_change_while_running_is_what_the_table_says() {
        let fixed: BTreeSet<&str> = held("").unwrap().fixed().into_iter().map(|(path, _)| path).collect();
        let known: BTreeSet<&str> =
            SETTINGS.iter().filter(|setting| setting.fixed).map(|setting| setting.path).collect();
        assert_eq!(fixed, known);
    }
}
