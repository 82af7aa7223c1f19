//! What may be typed.
//!
//! Why so: docs/decisions/0029-not-every-setting-is-a-flag.md.

use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use redress_wire::http::header;

use crate::{
    config::{
        ByteSize, EnvelopeSetting, Format, ListenSetting, LogLevel, NamedProfile, OutputSchemaSetting, Span,
        UpstreamTable, moment::Moment,
    },
    program::Program,
};

/// What was typed.
#[derive(Debug, Parser)]
#[command(
    about = "Call, serve and explain operations that say how they fail.",
    after_help = "Exit codes: 0 ended well, 1 the operation failed or something was found, 2 could not run.",
    disable_help_subcommand = true,
    arg_required_else_help = true
)]
pub(crate) struct Arguments {
    /// Write for programs: one stable JSON document
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// When to use colours: auto, always or never
    #[arg(long, global = true, value_enum, hide_possible_values = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
    /// What to log: off, error, warn, info, debug or trace
    #[arg(
        long,
        global = true,
        value_enum,
        hide_possible_values = true,
        value_name = "LEVEL",
        env = "REDRESS_LOG_LEVEL",
        hide_env_values = true
    )]
    pub(crate) log_level: Option<LogLevel>,
    /// How to log, on the error stream: text or json
    #[arg(
        long,
        global = true,
        value_enum,
        hide_possible_values = true,
        value_name = "FORMAT",
        env = "REDRESS_LOG_FORMAT",
        hide_env_values = true
    )]
    pub(crate) log_format: Option<Format>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve every face on one port
    Serve(ServeArgs),
    /// Serve the MCP face on the standard input and output
    Mcp(McpArgs),
    /// Call one operation and show its outcome
    Call(CallArgs),
    /// List the operations that may be called
    Ops(OpsArgs),
    /// Show the page of a code or a rule
    Explain(ExplainArgs),
    /// Look whether everything needed is there
    Doctor(DoctorArgs),
    /// Make, list and revoke the tokens by which callers are known
    Token(TokenArgs),
    /// Give, list and take back a person's consent
    Consent(ConsentArgs),
    /// Show who called what
    Audit(AuditArgs),
    /// Show how much callers have used of their quotas
    Quota(QuotaArgs),
    /// Write a file that is made from the operations
    Gen(GenArgs),
    /// Show what an OpenAPI document would become, and how to serve it
    #[cfg(feature = "gateway")]
    Import(Import),
    /// Make a project of your own that builds, serves and passes its tests
    New(NewArgs),
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Write the manual pages into a folder
    #[command(hide = true)]
    Man(ManArgs),
}

impl Command {
    /// What is typed for it.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Command::Serve(_) => "serve",
            Command::Mcp(_) => "mcp",
            Command::Call(_) => "call",
            Command::Ops(_) => "ops",
            Command::Explain(_) => "explain",
            Command::Doctor(_) => "doctor",
            Command::Token(_) => "token",
            Command::Consent(_) => "consent",
            Command::Audit(_) => "audit",
            Command::Quota(_) => "quota",
            Command::Gen(_) => "gen",
            #[cfg(feature = "gateway")]
            Command::Import(_) => "import",
            Command::New(_) => "new",
            Command::Completions(_) => "completions",
            Command::Man(_) => "man",
        }
    }
}

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ServeArgs {
    /// The configuration; without one, the defaults hold
    #[arg(value_name = "redress.toml")]
    pub(crate) config: Option<PathBuf>,
    /// Where to listen: an address, unix:PATH or systemd [default: 127.0.0.1:7717]
    #[arg(long, value_name = "ADDRESS", env = "REDRESS_LISTEN", hide_env_values = true)]
    pub(crate) listen: Option<ListenSetting>,
    /// The file of the tokens by which callers are known
    #[arg(long, value_name = "FILE", env = "REDRESS_TOKENS", hide_env_values = true)]
    pub(crate) tokens: Option<PathBuf>,
    /// The certificate that the server shows, in PEM form
    #[arg(long, value_name = "FILE", env = "REDRESS_TLS_CERTIFICATE", hide_env_values = true)]
    pub(crate) tls_certificate: Option<PathBuf>,
    /// The private key of the certificate, in PEM form
    #[arg(long, value_name = "FILE", env = "REDRESS_TLS_KEY", hide_env_values = true)]
    pub(crate) tls_key: Option<PathBuf>,
    /// The most bytes a message may have, such as 2MiB [default: what the largest input needs]
    #[arg(long, value_name = "SIZE", env = "REDRESS_MAX_BODY", hide_env_values = true)]
    pub(crate) max_body: Option<ByteSize>,
    /// How long running calls have to end at a stop [default: 10s]
    #[arg(long, value_name = "TIME", env = "REDRESS_SHUTDOWN_GRACE", hide_env_values = true)]
    pub(crate) shutdown_grace: Option<Span>,
    #[command(flatten)]
    pub(crate) kept: KeptArgs,
    #[command(flatten)]
    pub(crate) tools: ToolsArgs,
}

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// The configuration; without one, the defaults hold
    #[arg(value_name = "redress.toml")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) kept: KeptArgs,
    #[command(flatten)]
    pub(crate) tools: ToolsArgs,
}

// What is kept of calls, here and elsewhere. A doc comment would become the text of the help.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct KeptArgs {
    /// The folder of the state, or memory [default: memory, and with a configuration a folder beside it]
    #[arg(long, value_name = "DIR", env = "REDRESS_STATE", hide_env_values = true)]
    pub(crate) state: Option<PathBuf>,
    /// Where traces, metrics and logs go by OTLP, such as http://127.0.0.1:4318
    #[arg(long, value_name = "URL", env = "REDRESS_OTLP", hide_env_values = true)]
    pub(crate) otlp: Option<String>,
}

// How operations become tools. A doc comment would become the text of the help.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ToolsArgs {
    /// The profile whose operations are tools [default: all operations]
    #[arg(long, value_name = "NAME", env = "REDRESS_PROFILE", hide_env_values = true)]
    pub(crate) profile: Option<String>,
    /// Profiles, such as 'reading=files.read,files.list;notes=notes.*'
    #[arg(long, value_name = "PROFILES", env = "REDRESS_PROFILES", hide_env_values = true, value_delimiter = ';')]
    pub(crate) profiles: Vec<NamedProfile>,
    /// What a tool's output schema admits: success, union or none [default: success]
    #[arg(
        long,
        value_enum,
        hide_possible_values = true,
        value_name = "WHAT",
        env = "REDRESS_OUTPUT_SCHEMA",
        hide_env_values = true
    )]
    pub(crate) output_schema: Option<OutputSchemaSetting>,
    /// Which tool results come in an envelope: failures or always [default: failures]
    #[arg(
        long,
        value_enum,
        hide_possible_values = true,
        value_name = "WHICH",
        env = "REDRESS_ENVELOPE",
        hide_env_values = true
    )]
    pub(crate) envelope: Option<EnvelopeSetting>,
    /// Above how many tools four that find them are listed instead [default: 200]
    #[arg(long, value_name = "TOOLS", env = "REDRESS_DISCOVERY_ABOVE", hide_env_values = true)]
    pub(crate) discovery_above: Option<usize>,
}

// The folder of the built-in operations. A doc comment would become the text of the help.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct FolderArgs {
    /// The folder of the file operations [default: the current one]
    #[arg(long, global = true, value_name = "DIR", env = "REDRESS_ROOT", hide_env_values = true)]
    pub(crate) root: Option<PathBuf>,
    /// Offer the operations that change files
    #[arg(long, global = true, value_name = "YES", env = "REDRESS_WRITE", hide_env_values = true,
          num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    pub(crate) write: Option<bool>,
}

// What bounds the built-in operations when they are served.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct BoundsArgs {
    /// How long a call may take where its operation does not say [default: 30s]
    #[arg(long, value_name = "TIME", env = "REDRESS_DEADLINE", hide_env_values = true)]
    pub(crate) deadline: Option<Span>,
    /// How many calls may run at once [default: 1024]
    #[arg(long, value_name = "CALLS", env = "REDRESS_MAX_IN_FLIGHT", hide_env_values = true)]
    pub(crate) max_in_flight: Option<usize>,
}

// Services whose operations are served beside the built-in ones. A doc comment would become the text of the help.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Openapi {
    /// Serve the operations of the service with this OpenAPI document too; again for each
    #[arg(long, value_name = "FILE")]
    pub(crate) openapi: Vec<PathBuf>,
    /// Where that service is [default: the first server of the document]
    #[arg(long, value_name = "URL", requires = "openapi")]
    pub(crate) openapi_url: Option<String>,
}

impl Openapi {
    /// What was typed, as tables of the configuration.
    pub(crate) fn tables(&self) -> Vec<UpstreamTable> {
        let table = |path: &PathBuf| UpstreamTable {
            name: upstream_name(path),
            openapi: path.clone(),
            url: self.openapi_url.clone(),
            ..UpstreamTable::default()
        };
        self.openapi.iter().map(table).collect()
    }
}

/// What a service is called after the file of its document: `My Shop.yaml` is `my_shop`.
pub(crate) fn upstream_name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    let words: Vec<&str> = stem.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut name = words.join("_");
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        name.insert_str(0, "api");
    }
    name.truncate(24);
    name.trim_end_matches('_').to_owned()
}

#[cfg(feature = "gateway")]
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The OpenAPI document: 2.0 to 3.2, JSON or YAML
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// What the service is called, before the names of its operations [default: after the file]
    #[arg(long, value_name = "NAME", value_parser = prefix)]
    pub(crate) name: Option<String>,
}

#[cfg(feature = "gateway")]
fn prefix(text: &str) -> Result<String, String> {
    match crate::config::is_prefix(text) {
        true => Ok(text.to_owned()),
        false => Err("expected a word of at most 24 lower-case letters, digits and `_`".to_owned()),
    }
}

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// The operation, such as files.read
    #[arg(value_name = "OPERATION")]
    pub(crate) operation: String,
    /// Its input: JSON, @FILE, or - for the standard input
    #[arg(value_name = "INPUT", allow_hyphen_values = true)]
    pub(crate) input: Option<String>,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// How long to wait for an answer, such as 5s
    #[arg(long, value_name = "TIME")]
    pub(crate) deadline: Option<Span>,
    /// Make the call safe to repeat
    #[arg(long, value_name = "KEY", value_parser = idempotency_key)]
    pub(crate) idempotency_key: Option<String>,
    /// As a person, agree to the operation first, where it asks for consent
    #[arg(long, value_name = "REASON", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) consent: Option<String>,
}

fn idempotency_key(text: &str) -> Result<String, String> {
    match header::is_idempotency_key(text) {
        true => Ok(text.to_owned()),
        false => Err(format!("expected {}", header::A_KEY)),
    }
}

#[derive(Debug, Args)]
pub(crate) struct OpsArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Show what each costs as an MCP tool, in bytes and tokens
    #[arg(long, conflicts_with = "url")]
    pub(crate) cost: bool,
    #[command(flatten)]
    pub(crate) tools: ToolsArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    /// Ask a server, such as http://127.0.0.1:7717, instead of running it here
    #[arg(long = "server", value_name = "URL", env = "REDRESS_SERVER", hide_env_values = true)]
    pub(crate) url: Option<String>,
    /// The token to call the server with; better in the environment than on the line
    #[arg(long, value_name = "TOKEN", env = "REDRESS_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    /// Trust the authorities in this file too, at an https server: certificates in PEM form
    #[cfg(feature = "tls")]
    #[arg(long, value_name = "FILE", env = "REDRESS_CA", hide_env_values = true)]
    pub(crate) ca: Option<PathBuf>,
}

impl ServerArgs {
    /// The file of the authorities that are trusted too.
    pub(crate) fn ca(&self) -> Option<&Path> {
        #[cfg(feature = "tls")]
        return self.ca.as_deref();
        #[cfg(not(feature = "tls"))]
        return None;
    }
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// A code such as INVALID_INPUT, or a rule such as no-recovery
    #[arg(value_name = "CODE|RULE")]
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    pub(crate) what: TokenCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token and print it, this once
    New(NewTokenArgs),
    /// List the tokens, without their secrets
    List(TokenFileArgs),
    /// Take a token back
    Revoke(RevokeTokenArgs),
}

#[derive(Debug, Args)]
pub(crate) struct NewTokenArgs {
    /// Who calls with it
    #[arg(value_name = "CALLER")]
    pub(crate) caller: String,
    /// What the caller may do; again for each scope
    #[arg(long = "scope", value_name = "SCOPE")]
    pub(crate) scopes: Vec<String>,
    /// When it ends, such as 90d from now [default: never]
    #[arg(long, value_name = "TIME")]
    pub(crate) expires: Option<Span>,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    /// Keep it in no file, and print the table of the configuration that stands for it
    #[arg(long)]
    pub(crate) print_hash: bool,
    #[command(flatten)]
    pub(crate) file: TokenFileArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RevokeTokenArgs {
    /// The token, as `list` names it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) file: TokenFileArgs,
}

// Where tokens are kept. A doc comment would become the text of the help.
#[derive(Debug, Args)]
pub(crate) struct TokenFileArgs {
    /// The file of the tokens
    #[arg(long = "file", alias = "tokens", value_name = "FILE", env = "REDRESS_TOKENS", hide_env_values = true)]
    pub(crate) path: Option<PathBuf>,
    /// The configuration that names the file of the tokens
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ConsentArgs {
    #[command(subcommand)]
    pub(crate) what: ConsentCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConsentCommand {
    /// Agree that a caller calls an operation, for a time
    Grant(GrantConsentArgs),
    /// List the consents that hold
    List(ListConsentsArgs),
    /// Take a consent back
    Revoke(RevokeConsentArgs),
}

#[derive(Debug, Args)]
pub(crate) struct GrantConsentArgs {
    /// The operation, such as files.remove, or a whole namespace, such as 'files.*'
    #[arg(value_name = "OPERATION")]
    pub(crate) operation: String,
    /// For how long it holds, at most a day
    #[arg(long, value_name = "MINUTES", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=1440))]
    pub(crate) minutes: u64,
    /// Why
    #[arg(long, value_name = "TEXT", value_parser = reason)]
    pub(crate) reason: Option<String>,
    #[command(flatten)]
    pub(crate) place: ConsentPlace,
}

fn reason(text: &str) -> Result<String, String> {
    match text.chars().count() <= 500 {
        true => Ok(text.to_owned()),
        false => Err("expected at most 500 characters".to_owned()),
    }
}

#[derive(Debug, Args)]
pub(crate) struct ListConsentsArgs {
    /// Those of all callers, at a server; in a folder it lists them all
    #[arg(long, conflicts_with = "caller")]
    pub(crate) everyone: bool,
    #[command(flatten)]
    pub(crate) place: ConsentPlace,
}

#[derive(Debug, Args)]
pub(crate) struct RevokeConsentArgs {
    /// What was agreed to, as `list` shows it
    #[arg(value_name = "OPERATION")]
    pub(crate) operation: String,
    #[command(flatten)]
    pub(crate) place: ConsentPlace,
}

// Where consents are kept. A doc comment would become the text of the help.
#[derive(Debug, Args)]
pub(crate) struct ConsentPlace {
    /// Whose calls are meant [default: the token's own caller, and in a folder local]
    #[arg(long, value_name = "CALLER")]
    pub(crate) caller: Option<String>,
    /// The configuration of the server, whose state folder you may write
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The state folder itself
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// The configuration whose state is looked at [default: redress.toml]
    #[arg(value_name = "redress.toml")]
    pub(crate) config: Option<PathBuf>,
    /// The folder of the state [default: what the configuration says]
    #[arg(long, value_name = "DIR", env = "REDRESS_STATE", hide_env_values = true)]
    pub(crate) state: Option<PathBuf>,
    /// Only calls of this caller
    #[arg(long, value_name = "CALLER")]
    pub(crate) caller: Option<String>,
    /// Only calls of this operation
    #[arg(long, value_name = "OPERATION")]
    pub(crate) operation: Option<String>,
    /// Only calls that ended with this code; OK is one that ended well
    #[arg(long, value_name = "CODE")]
    pub(crate) code: Option<String>,
    /// Only calls since then: a time such as 2026-01-31T12:00:00Z, or how long ago, such as 1h
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<Moment>,
    /// Only calls until then
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<Moment>,
    /// Only the call of this id
    #[arg(long, value_name = "ID")]
    pub(crate) request_id: Option<String>,
    /// Only calls that came by this face: http, jsonrpc, websocket, mcp, command or process
    #[arg(long, value_name = "FACE")]
    pub(crate) face: Option<String>,
    /// Only calls with this input: JSON or @FILE; its hash is compared
    #[arg(long, value_name = "INPUT")]
    pub(crate) input: Option<String>,
    /// The most that is shown, the latest
    #[arg(long, value_name = "CALLS", default_value_t = 100)]
    pub(crate) limit: usize,
    /// Go on as calls end
    #[arg(long)]
    pub(crate) follow: bool,
}

#[derive(Debug, Args)]
pub(crate) struct QuotaArgs {
    /// The configuration whose state is looked at [default: redress.toml]
    #[arg(value_name = "redress.toml")]
    pub(crate) config: Option<PathBuf>,
    /// The folder of the state [default: what the configuration says]
    #[arg(long, value_name = "DIR", env = "REDRESS_STATE", hide_env_values = true)]
    pub(crate) state: Option<PathBuf>,
    /// Only what this caller has used
    #[arg(long, value_name = "CALLER")]
    pub(crate) caller: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct GenArgs {
    /// What to write: dashboard for Grafana, or alerts for Prometheus
    #[arg(value_enum, hide_possible_values = true, value_name = "WHAT")]
    pub(crate) what: Generated,
    /// The configuration whose operations they are; without one, the defaults hold
    #[arg(value_name = "redress.toml", conflicts_with = "from")]
    pub(crate) config: Option<PathBuf>,
    /// The server whose operations they are, such as http://127.0.0.1:7717
    #[arg(long, value_name = "URL")]
    pub(crate) from: Option<String>,
    /// The token to ask the server with; better in the environment than on the line
    #[arg(long, value_name = "TOKEN", env = "REDRESS_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    /// Trust the authorities in this file too, at an https server: certificates in PEM form
    #[cfg(feature = "tls")]
    #[arg(long, value_name = "FILE", env = "REDRESS_CA", hide_env_values = true)]
    pub(crate) ca: Option<PathBuf>,
    /// The file to write; - is the standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) out: PathBuf,
}

impl GenArgs {
    /// The file of the authorities that are trusted too.
    pub(crate) fn ca(&self) -> Option<&Path> {
        #[cfg(feature = "tls")]
        return self.ca.as_deref();
        #[cfg(not(feature = "tls"))]
        return None;
    }
}

/// What can be made from the operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Generated {
    /// A dashboard for Grafana
    Dashboard,
    /// Alert rules for Prometheus
    Alerts,
}

#[derive(Debug, Args)]
#[command(
    after_help = "redress is not published on crates.io yet, so that one of `--path` and `--git` has to be given."
)]
pub(crate) struct NewArgs {
    /// What it is called: the folder, the package and the command
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// The folder of a clone of redress, which Cargo.toml will name
    #[arg(long, value_name = "DIR", conflicts_with = "git")]
    pub(crate) path: Option<PathBuf>,
    /// The address of a git repository of redress, which Cargo.toml will name
    #[arg(long, value_name = "URL")]
    pub(crate) git: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The folder
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

/// The command line of a program: of one with the built-in operations, or of a registry that
/// the program brings along, to which a folder and bounds mean nothing.
pub(crate) fn command(program: &Program) -> clap::Command {
    let command = Arguments::command()
        .name(program.about().name().to_owned())
        .bin_name(program.name().to_owned())
        .version(program.version().to_owned());
    if !program.is_built_in() {
        // A project is made by `redress` itself.
        let command = command.mut_subcommand("new", |new| new.hide(true));
        // And it alone serves other services from a configuration.
        #[cfg(feature = "gateway")]
        let command = command.mut_subcommand("import", |import| import.hide(true));
        return match program.about().description() {
            Some(text) => command.about(text.to_owned()),
            None => command,
        };
    }
    let command = FolderArgs::augment_args(command)
        .mut_subcommand("serve", BoundsArgs::augment_args)
        .mut_subcommand("mcp", BoundsArgs::augment_args)
        .mut_subcommand("doctor", BoundsArgs::augment_args);
    if !cfg!(feature = "gateway") {
        return command;
    }
    WITH_OPENAPI.iter().fold(command, |command, name| command.mut_subcommand(name, Openapi::augment_args))
}

/// The commands that take the document of another service.
pub(crate) const WITH_OPENAPI: [&str; 5] = ["serve", "mcp", "call", "ops", "doctor"];

#[cfg(test)]
mod tests {
    use redress_core::Registry;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        command(&Program::built_in(|_| Ok(Registry::builder().build()?))).debug_assert();
        command(&Program::of(Registry::builder().build().unwrap())).debug_assert();
    }
}
