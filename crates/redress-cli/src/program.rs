//! A program with commands: its name, where its operations come from, and what was typed.
//!
//! Why so: docs/decisions/0010-the-command-is-two-crates.md.

use std::{
    env, error::Error, ffi::OsString, io, path::Path, path::PathBuf, process::ExitCode, sync::Arc, time::Duration,
};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use redress_contract::ProgramInfo;
use redress_core::{BuildError, Operation, Registry};
use redress_telemetry::LogTargets;
use tokio::runtime::Handle;

#[cfg(feature = "state")]
use crate::commands::{audit, quota};
#[cfg(not(feature = "state"))]
use crate::config::without;
use crate::{
    arguments::{self, BoundsArgs, Color, Command, FolderArgs, Openapi},
    commands::{call, consent, doctor, explain, generated, mcp, new, ops, serve, token},
    config::{ConfigDocument, File, Format, LogLevel, ServeSettings, secrets_outside_root},
    error::{CliError, without_number},
    layers::{self, Otlp},
    logs,
    opening::{Context, IntoProgram, RegistryOpener, SetupError},
    panics,
    parsed_args::{self, ParsedArgs},
    terminal::output::{Stream, Terminal},
};

/// What all programs with these commands have in common.
const OURS: &str = concat!("redress ", env!("CARGO_PKG_VERSION"));

/// Runs the commands for the operations of a registry, or of what makes one, with what was typed, and ends with
/// their exit code: 0 ended well, 1 the operation failed or something was found, 2 could
/// not run.
///
/// A function cannot know what your package is called: the macro of the same name, `redress::main!`, does.
pub fn main<Way>(operations: impl IntoProgram<Way>) -> ExitCode {
    operations.into_program().main()
}

/// A program with commands.
///
/// ```
/// use redress_cli::Program;
/// use redress_core::Registry;
///
/// let builder = Registry::builder().add_all(redress_serve::discovery());
/// let registry = builder.build().unwrap();
/// let (mut out, mut err) = (Vec::new(), Vec::new());
/// let code = Program::of(registry).named("mine").run(["mine", "ops"], &mut out, &mut err);
/// assert_eq!(code, 0);
/// assert!(String::from_utf8(out).unwrap().starts_with("services.list"));
/// ```
#[derive(Clone, Debug)]
pub struct Program {
    /// What is typed to start it.
    name: String,
    /// What it says of itself.
    info: ProgramInfo,
    /// Which of its own version and that of redress `--version` shows.
    version: String,
    source: OperationSource,
    /// The crates whose log is told as they wrote it, beside those of redress.
    crates: Vec<String>,
}

/// Where the operations come from.
#[derive(Clone)]
enum OperationSource {
    Registry(Registry),
    Opening(Arc<RegistryOpener>),
    BuiltIn(fn(&BuiltIn) -> Result<Registry, NotServed>),
}

/// What the built-in operations are made from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BuiltIn {
    /// The folder of the file operations.
    pub root: PathBuf,
    /// Whether those that change files are offered.
    pub write: bool,
    /// How long a call may take where its operation does not say.
    pub deadline: Duration,
    /// Operations of other services, to be added beside the built-in ones.
    pub operations: Vec<Operation>,
}

/// Why there are no built-in operations.
#[derive(Debug, thiserror::Error)]
pub enum NotServed {
    /// The folder cannot be opened.
    #[error("the folder cannot be opened")]
    Root(#[source] Box<dyn Error + Send + Sync>),
    /// The declarations are not sound.
    #[error(transparent)]
    Registry(#[from] BuildError),
}

/// How a command ended that could run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandEnd {
    Well,
    Badly,
}

/// What every command knows of what was typed.
pub(crate) struct Setup {
    pub(crate) program: Program,
    pub(crate) folder: FolderArgs,
    pub(crate) bounds: BoundsArgs,
    /// Documents of other services that were typed.
    pub(crate) openapi: Openapi,
    /// What to log, where it was typed.
    pub(crate) level: Option<LogLevel>,
    /// The command.
    pub(crate) command: &'static str,
}

impl Program {
    /// The commands of a registry, under the name by which the program was started.
    pub fn of(registry: Registry) -> Program {
        Program::started(OperationSource::Registry(registry))
    }

    /// The commands of the registry that `open` makes. It is run once, by the first command that needs operations and in
    /// a runtime of tokio that lasts as long as the command; `--help`, `--version` and `completions` open nothing.
    pub fn opening<F>(open: F) -> Program
    where
        F: AsyncFnOnce(Context) -> Result<Registry, SetupError> + Send + 'static,
    {
        Program::started(OperationSource::Opening(Arc::new(RegistryOpener::new(open))))
    }

    fn started(source: OperationSource) -> Program {
        let started = env::args_os().next().unwrap_or_default();
        let name = Path::new(&started).file_stem().unwrap_or("redress".as_ref()).to_string_lossy().into_owned();
        let version = format!("({OURS})");
        let info = ProgramInfo::new(&name, &version);
        Program { crates: vec![crate_name(&name)], name, info, version, source }
    }

    /// The same program, which says this of itself in its documents, to MCP clients and for `--version`.
    #[must_use]
    pub fn info(mut self, info: ProgramInfo) -> Program {
        self.crates.push(crate_name(info.name()));
        self.version = format!("{} ({OURS})", info.version());
        self.info = info;
        self
    }

    /// The commands of `redress` itself, over the operations that `make` makes.
    pub fn built_in(make: fn(&BuiltIn) -> Result<Registry, NotServed>) -> Program {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let info = ProgramInfo::new("redress", &version);
        Program {
            name: "redress".to_owned(),
            info,
            version,
            source: OperationSource::BuiltIn(make),
            crates: Vec::new(),
        }
    }

    /// The same program, under another name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Program {
        let name = name.into();
        if self.info.name() == self.name {
            self.info = ProgramInfo::new(&name, self.info.version());
        }
        self.name = name;
        self
    }

    /// The same program, whose log holds what these crates say as they say it. Without it, that is so for crates of
    /// redress and the one that the program is called after; of every other, warnings and errors are logged, and none
    /// of their words reach a collector: libraries log what clients have sent.
    #[must_use]
    pub fn logs_of<N: Into<String>>(mut self, crates: impl IntoIterator<Item = N>) -> Program {
        self.crates.extend(crates.into_iter().map(Into::into));
        self
    }

    /// Runs what was typed on this process's own streams. It may be called from an `async fn main` of tokio too; what
    /// is opened there belongs to that runtime, and what [`opening`](Program::opening) opens does not.
    pub fn main(&self) -> ExitCode {
        panics::tell_in_the_log();
        let run = || {
            let (mut out, mut err) = (io::stdout(), io::stderr());
            let mut terminal = Terminal::new(Stream::stdout(&mut out), Stream::stderr(&mut err));
            ExitCode::from(self.run_on(env::args_os().collect(), &mut terminal))
        };
        if Handle::try_current().is_err() {
            return run();
        }
        // Commands have runtimes of their own, and none can be started on a thread of another.
        match std::thread::scope(|scope| scope.spawn(run).join()) {
            Ok(code) => code,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// Runs `words`, of which the first is the program itself, and gives the exit code. It
    /// blocks until the command has ended, so it must not be called on a runtime's thread.
    pub fn run<W: Into<OsString>>(
        &self,
        words: impl IntoIterator<Item = W>,
        out: &mut dyn io::Write,
        err: &mut dyn io::Write,
    ) -> u8 {
        let mut terminal = Terminal::new(Stream::plain(out), Stream::plain(err));
        self.run_on(words.into_iter().map(Into::into).collect(), &mut terminal)
    }

    fn run_on(&self, words: Vec<OsString>, terminal: &mut Terminal<'_>) -> u8 {
        match self.command(words, terminal) {
            Ok(CommandEnd::Well) => 0,
            Ok(CommandEnd::Badly) => 1,
            // Whoever closed the output has read enough.
            Err(CliError::OutputUnwritable(cause)) if cause.kind() == io::ErrorKind::BrokenPipe => 0,
            Err(trouble) => {
                // Where nothing can be written, the exit code still tells.
                let _ = trouble.tell(terminal, &self.name);
                2
            }
        }
    }

    fn command(&self, words: Vec<OsString>, terminal: &mut Terminal<'_>) -> Result<CommandEnd, CliError> {
        // What cannot be read as a whole may still ask for JSON, and then gets it.
        terminal.set(words.iter().any(|word| word == "--json"), Color::Auto);
        let command = arguments::command(self);
        let args = match parsed_args::read(command, words, self.is_built_in()) {
            Ok(args) => args,
            Err(error) => return self.untyped(&error, terminal),
        };
        terminal.set(args.arguments.json, args.arguments.color);
        let command = format!("{} {}", self.name, args.arguments.command.word());
        self.carry_out(args, terminal).map_err(|trouble| trouble.of_command(&command))
    }

    fn carry_out(&self, args: ParsedArgs, terminal: &mut Terminal<'_>) -> Result<CommandEnd, CliError> {
        let ParsedArgs { arguments, folder, bounds, openapi } = args;
        let command = arguments.command.word();
        let setup = Setup { program: self.clone(), folder, bounds, openapi, level: arguments.log_level, command };
        let colored = terminal.err().is_colored();
        let log = |file: (Option<LogLevel>, Option<Format>), default, otlp: Option<&Otlp>| {
            let level = arguments.log_level.or(file.0).unwrap_or(default);
            logs::start(level, arguments.log_format.or(file.1).unwrap_or(Format::Text), colored, self.own(), otlp)
        };
        if let Command::Serve(args) = arguments.command {
            let settings = setup.settings(&args)?;
            let otlp = layers::collector(&settings, self)?;
            let log = log((settings.level, settings.format), LogLevel::Info, otlp.as_ref());
            return serve::ServeStart { setup: Arc::new(setup), args, settings, log, otlp }.run(terminal);
        }
        if let Command::Mcp(args) = &arguments.command {
            // The output is the protocol's alone, so that what goes wrong is told elsewhere.
            terminal.set(false, arguments.color);
            let args = arguments::ServeArgs {
                config: args.config.clone(),
                kept: args.kept.clone(),
                tools: args.tools.clone(),
                ..Default::default()
            };
            let settings = setup.settings(&args)?;
            let otlp = layers::collector(&settings, self)?;
            log((settings.level, settings.format), LogLevel::Error, otlp.as_ref());
            return mcp::run(&setup, &settings, otlp, terminal);
        }
        log((None, None), LogLevel::Error, None);
        match arguments.command {
            Command::Serve(_) | Command::Mcp(_) => Ok(CommandEnd::Well),
            Command::Call(args) => call::run(&setup, &args, terminal),
            Command::Ops(args) => ops::run(&setup, &args, terminal),
            Command::Explain(args) => explain::run(&setup, &args, terminal),
            Command::Token(args) => token::run(&args, terminal),
            Command::Consent(args) => consent::run(&setup, &args, terminal),
            #[cfg(feature = "state")]
            Command::Audit(args) => audit::run(&setup, &args, terminal),
            #[cfg(feature = "state")]
            Command::Quota(args) => quota::run(&setup, &args, terminal),
            #[cfg(not(feature = "state"))]
            Command::Audit(_) | Command::Quota(_) => {
                let says = without(&format!("`{command}`"), "state");
                Err(CliError::Usage { says, tip: None, command: self.name.clone() })
            }
            Command::Gen(args) => generated::contract(&setup, &args, terminal),
            Command::Doctor(args) => doctor::run(&setup, &args, terminal),
            #[cfg(feature = "gateway")]
            Command::Import(args) => crate::import::run(&setup, &args, terminal),
            Command::New(args) => new::run(&args, terminal),
            Command::Completions(args) => generated::completions(&setup, &args, terminal),
            Command::Man(args) => generated::man(&setup, &args, terminal),
        }
    }

    /// What clap says instead of running a command: its help, its version, or what is wrong.
    fn untyped(&self, error: &clap::Error, terminal: &mut Terminal<'_>) -> Result<CommandEnd, CliError> {
        let colored = terminal.out().is_colored();
        let rendered = error.render();
        let text = if colored { rendered.ansi().to_string() } else { rendered.to_string() };
        if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
            terminal.out().line(text.trim_end_matches('\n'))?;
            return Ok(CommandEnd::Well);
        }
        let plain = rendered.to_string();
        let tip = plain.lines().find_map(|line| line.trim().strip_prefix("tip: ")).map(str::to_owned);
        let first = plain.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
        let says = if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            "no command was given".to_owned()
        } else {
            first.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        Err(CliError::Usage { says, tip, command: self.usage(error) })
    }

    /// The command whose help says more.
    fn usage(&self, error: &clap::Error) -> String {
        let usage = match error.get(ContextKind::Usage) {
            Some(ContextValue::StyledStr(usage)) => usage.to_string(),
            Some(_) | None => String::new(),
        };
        let words = usage.split_whitespace().skip_while(|word| *word != self.name).skip(1);
        let sub = words.take(1).filter(|word| word.bytes().all(|byte| byte.is_ascii_lowercase()));
        [self.name.as_str()].into_iter().chain(sub).collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn own(&self) -> LogTargets {
        LogTargets::new(&self.crates)
    }

    /// Its version, as `--version` shows it.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// What it says of itself.
    pub(crate) fn about(&self) -> &ProgramInfo {
        &self.info
    }

    pub(crate) fn is_built_in(&self) -> bool {
        matches!(self.source, OperationSource::BuiltIn(_))
    }
}

impl Setup {
    /// What holds for `serve`: what was typed, then the environment, the file, the defaults.
    pub(crate) fn settings(&self, args: &arguments::ServeArgs) -> Result<ServeSettings, CliError> {
        let document = args.config.as_deref().map(ConfigDocument::at).transpose()?;
        self.settings_of(args, document)
    }

    /// What holds for `serve` by this configuration, whatever is in its file by now.
    pub(crate) fn settings_of(
        &self,
        args: &arguments::ServeArgs,
        document: Option<ConfigDocument>,
    ) -> Result<ServeSettings, CliError> {
        let mut file = File::default();
        if let Some(written) = &document {
            let read = File::in_place(written)?;
            file = if self.program.is_built_in() { read } else { read.for_a_registry(written)? };
        }
        let mut settings = self.with_openapi(ServeSettings::of(args, &self.folder, &self.bounds, file, document)?)?;
        // A program of one's own has the bounds that its registry was built with.
        settings.max_in_flight = settings.max_in_flight.filter(|_| self.program.is_built_in());
        Ok(settings)
    }

    /// The operations, bound as `settings` say where they are the built-in ones.
    pub(crate) fn registry(&self, settings: &ServeSettings) -> Result<Registry, CliError> {
        self.registry_of(settings, self.upstream_operations(settings)?)
    }

    /// The same, with these operations of other services.
    pub(crate) fn registry_of(
        &self,
        settings: &ServeSettings,
        operations: Vec<Operation>,
    ) -> Result<Registry, CliError> {
        let make = match &self.program.source {
            OperationSource::Registry(registry) => return Ok(registry.clone()),
            OperationSource::Opening(opening) => {
                return opening
                    .registry(self.context(settings.document.as_ref().map(|document| document.path.clone())));
            }
            OperationSource::BuiltIn(make) => make,
        };
        secrets_outside_root::check(settings)?;
        let built_in =
            BuiltIn { root: settings.root.clone(), write: settings.write, deadline: settings.deadline, operations };
        make(&built_in).map_err(|unserved| match unserved {
            NotServed::Registry(error) => CliError::RegistryInvalid(error),
            NotServed::Root(error) => {
                let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                let says = without_number(&cause).to_owned();
                CliError::RootUnusable { path: settings.root.display().to_string(), says }
            }
        })
    }

    /// The registry that the program brings along, where it does.
    #[cfg(feature = "state")]
    pub(crate) fn own_registry(&self) -> Result<Option<Registry>, CliError> {
        match &self.program.source {
            OperationSource::Registry(registry) => Ok(Some(registry.clone())),
            OperationSource::Opening(opening) => opening.registry(self.context(None)).map(Some),
            OperationSource::BuiltIn(_) => Ok(None),
        }
    }

    fn context(&self, config: Option<PathBuf>) -> Context {
        Context { command: self.command, config, program: self.program.info.clone() }
    }

    /// The operations as this process itself runs them.
    pub(crate) fn local(&self) -> Result<Registry, CliError> {
        self.registry(&self.with_openapi(ServeSettings::local(&self.folder)?)?)
    }

    /// The same settings, with the services that were typed.
    fn with_openapi(&self, mut settings: ServeSettings) -> Result<ServeSettings, CliError> {
        let usage =
            |says: &str| CliError::Usage { says: says.to_owned(), tip: None, command: self.program.name.clone() };
        if self.openapi.openapi_url.is_some() && self.openapi.openapi.len() > 1 {
            return Err(usage("`--openapi-url` says where one service is, and several documents were given"));
        }
        let args = self.openapi.tables();
        if !args.is_empty() {
            settings.upstreams.extend(args);
            settings.check()?;
        }
        Ok(settings)
    }

    /// The services behind the gateway, which only the built-in operations have beside them.
    #[cfg(feature = "gateway")]
    pub(crate) fn gateway(&self, settings: &ServeSettings) -> Result<crate::gateway::Gateway, CliError> {
        crate::gateway::Gateway::open(settings)
    }

    /// The operations of other services.
    fn upstream_operations(&self, settings: &ServeSettings) -> Result<Vec<Operation>, CliError> {
        #[cfg(feature = "gateway")]
        return Ok(self.gateway(settings)?.operations());
        #[cfg(not(feature = "gateway"))]
        match settings.upstreams.first() {
            None => Ok(Vec::new()),
            Some(upstream) => Err(CliError::UpstreamUnusable {
                name: upstream.name.clone(),
                says: "this program was built without the feature `gateway`".to_owned(),
            }),
        }
    }

    /// The flags that make another call see the same operations.
    pub(crate) fn flags(&self, server: &arguments::ServerArgs) -> Vec<String> {
        let mut flags = Vec::new();
        if let Some(url) = &server.url {
            if let Some(file) = server.ca() {
                flags.extend(["--ca".to_owned(), file.display().to_string()]);
            }
            flags.extend(["--server".to_owned(), url.clone()]);
            return flags;
        }
        if let Some(root) = &self.folder.root {
            flags.extend(["--root".to_owned(), root.display().to_string()]);
        }
        if self.folder.write == Some(true) {
            flags.push("--write".to_owned());
        }
        for path in &self.openapi.openapi {
            flags.extend(["--openapi".to_owned(), path.display().to_string()]);
        }
        if let Some(url) = &self.openapi.openapi_url {
            flags.extend(["--openapi-url".to_owned(), url.clone()]);
        }
        flags
    }
}

/// The crate of a package or a binary of this name.
fn crate_name(name: &str) -> String {
    name.replace('-', "_")
}

/// Waits for `work` on this thread.
pub(crate) fn wait<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(CliError::RuntimeUnavailable)?;
    let ended = runtime.block_on(work);
    // A handler may have left work behind; the command has its answer and does not wait.
    runtime.shutdown_background();
    ended
}

impl std::fmt::Debug for OperationSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            OperationSource::Registry(_) => "Registry",
            OperationSource::Opening(_) => "Opening",
            OperationSource::BuiltIn(_) => "BuiltIn",
        })
    }
}
