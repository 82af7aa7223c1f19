//! What may be typed.

use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::config::{Envelope, Format, Level, NamedProfile, OutputSchema, Size, Span};

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
    pub(crate) log_level: Option<Level>,
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
    Serve(Serve),
    /// Serve the MCP face on the standard input and output
    Mcp(Mcp),
    /// Call one operation and show its outcome
    Call(Call),
    /// List the operations that may be called
    Ops(Ops),
    /// Show the page of a code or a rule
    Explain(Explain),
    /// Look whether everything needed is there
    Doctor(Doctor),
    /// Print completions for a shell
    Completions(Completions),
    /// Write the manual pages into a folder
    #[command(hide = true)]
    Man(Man),
}

#[derive(Debug, Default, Args)]
pub(crate) struct Serve {
    /// The configuration; without one, the defaults hold
    #[arg(value_name = "redress.toml")]
    pub(crate) config: Option<PathBuf>,
    /// Where to listen [default: 127.0.0.1:7717]
    #[arg(long, value_name = "ADDRESS", env = "REDRESS_LISTEN", hide_env_values = true)]
    pub(crate) listen: Option<String>,
    /// The most bytes a message may have, such as 2MiB [default: what the largest input needs]
    #[arg(long, value_name = "SIZE", env = "REDRESS_MAX_BODY", hide_env_values = true)]
    pub(crate) max_body: Option<Size>,
    /// How long running calls have to end at a stop [default: 10s]
    #[arg(long, value_name = "TIME", env = "REDRESS_SHUTDOWN_GRACE", hide_env_values = true)]
    pub(crate) shutdown_grace: Option<Span>,
    #[command(flatten)]
    pub(crate) tools: Tools,
}

#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// The configuration; without one, the defaults hold
    #[arg(value_name = "redress.toml")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) tools: Tools,
}

// How operations become tools. A doc comment would become the text of the help.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Tools {
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
    pub(crate) output_schema: Option<OutputSchema>,
    /// Which tool results come in an envelope: failures or always [default: failures]
    #[arg(
        long,
        value_enum,
        hide_possible_values = true,
        value_name = "WHICH",
        env = "REDRESS_ENVELOPE",
        hide_env_values = true
    )]
    pub(crate) envelope: Option<Envelope>,
    /// Above how many tools four that find them are listed instead [default: 200]
    #[arg(long, value_name = "TOOLS", env = "REDRESS_DISCOVERY_ABOVE", hide_env_values = true)]
    pub(crate) discovery_above: Option<usize>,
}

// The folder of the built-in operations. A doc comment would become the text of the help.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Folder {
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
pub(crate) struct Bounds {
    /// How long a call may take where its operation does not say [default: 30s]
    #[arg(long, value_name = "TIME", env = "REDRESS_DEADLINE", hide_env_values = true)]
    pub(crate) deadline: Option<Span>,
    /// How many calls may run at once [default: 1024]
    #[arg(long, value_name = "CALLS", env = "REDRESS_MAX_IN_FLIGHT", hide_env_values = true)]
    pub(crate) max_in_flight: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct Call {
    /// The operation, such as files.read
    #[arg(value_name = "OPERATION")]
    pub(crate) operation: String,
    /// Its input: JSON, @FILE, or - for the standard input
    #[arg(value_name = "INPUT", allow_hyphen_values = true)]
    pub(crate) input: Option<String>,
    #[command(flatten)]
    pub(crate) server: Server,
    /// How long to wait for an answer, such as 5s
    #[arg(long, value_name = "TIME")]
    pub(crate) deadline: Option<Span>,
    /// Make the call safe to repeat
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
    /// Agree to the operation first, where it asks for consent
    #[arg(long, value_name = "REASON", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) consent: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Ops {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Show what each costs as an MCP tool, in bytes and tokens
    #[arg(long, conflicts_with = "url")]
    pub(crate) cost: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Server {
    /// Ask a server, such as http://127.0.0.1:7717, instead of running it here
    #[arg(long = "server", value_name = "URL", env = "REDRESS_SERVER", hide_env_values = true)]
    pub(crate) url: Option<String>,
    /// Trust the authorities in this file too, at an https server: certificates in PEM form
    #[cfg(feature = "tls")]
    #[arg(long, value_name = "FILE", env = "REDRESS_CA", hide_env_values = true)]
    pub(crate) ca: Option<PathBuf>,
}

impl Server {
    /// The file of the authorities that are trusted too.
    pub(crate) fn ca(&self) -> Option<&Path> {
        #[cfg(feature = "tls")]
        return self.ca.as_deref();
        #[cfg(not(feature = "tls"))]
        return None;
    }
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// A code such as INVALID_INPUT, or a rule such as no-recovery
    #[arg(value_name = "CODE|RULE")]
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Where `serve` would listen [default: 127.0.0.1:7717]
    #[arg(long, value_name = "ADDRESS", env = "REDRESS_LISTEN", hide_env_values = true)]
    pub(crate) listen: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The folder
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

/// All that was typed.
#[derive(Debug)]
pub(crate) struct Typed {
    pub(crate) arguments: Arguments,
    pub(crate) folder: Folder,
    pub(crate) bounds: Bounds,
}

/// The command line of a program: of one with the built-in operations, or of a registry that
/// the program brings along, to which a folder and bounds mean nothing.
pub(crate) fn command(name: &str, version: &str, built_in: bool) -> clap::Command {
    let command = Arguments::command().name(name.to_owned()).bin_name(name.to_owned()).version(version.to_owned());
    if !built_in {
        return command;
    }
    Folder::augment_args(command)
        .mut_subcommand("serve", Bounds::augment_args)
        .mut_subcommand("mcp", Bounds::augment_args)
}

/// Reads what was typed.
pub(crate) fn read(
    command: clap::Command,
    words: Vec<std::ffi::OsString>,
    built_in: bool,
) -> Result<Typed, clap::Error> {
    let matches = command.try_get_matches_from(words)?;
    let arguments = Arguments::from_arg_matches(&matches)?;
    let mut typed = Typed { arguments, folder: Folder::default(), bounds: Bounds::default() };
    if built_in {
        typed.folder = Folder::from_arg_matches(&matches)?;
        if let Some(("serve" | "mcp", bounded)) = matches.subcommand() {
            typed.bounds = Bounds::from_arg_matches(bounded)?;
        }
    }
    Ok(typed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        command("redress", "0.1.0", true).debug_assert();
        command("mine", "0.1.0", false).debug_assert();
    }

    #[test]
    fn a_folder_is_taken_before_and_after_the_command() {
        for words in [["r", "--root", "a", "ops"], ["r", "ops", "--root", "a"]] {
            let words = words.map(Into::into).to_vec();
            let typed = read(command("r", "0", true), words, true).unwrap();
            assert_eq!(typed.folder.root.as_deref(), Some("a".as_ref()));
        }
        let mine = ["r", "ops", "--root", "a"].map(Into::into).to_vec();
        assert!(read(command("r", "0", false), mine, false).is_err());
    }
}
