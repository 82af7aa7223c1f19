//! A program with commands: its name, where its operations come from, and what was typed.

use std::{
    env, error::Error, ffi::OsString, io, path::Path, path::PathBuf, process::ExitCode, sync::Arc, time::Duration,
};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use redress_contract::ProgramInfo;
use redress_core::{BuildError, Operation, Registry};
use redress_telemetry::{Otlp, OwnCrates};
use tokio::runtime::Handle;

use crate::{
    apart,
    arguments::{self, Bounds, Color, Command, Folder, Openapi},
    audit, call,
    config::{Document, File, Format, Level, Settings},
    consent, doctor, explain, generated, logs, mcp, new,
    opening::{Context, IntoProgram, Opening, SetupError},
    ops, parts, quota, serve,
    terminal::{Stream, Terminal},
    token,
    trouble::Trouble,
    typed::{self, Typed},
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
/// let builder = redress_serve::discovery().into_iter().fold(Registry::builder(), |builder, operation| builder.add(operation));
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
    source: Source,
    /// The crates whose log is told as they wrote it, beside those of redress.
    crates: Vec<String>,
}

/// Where the operations come from.
#[derive(Clone)]
enum Source {
    Registry(Registry),
    Opening(Arc<Opening>),
    BuiltIn(fn(&BuiltIn) -> Result<Registry, Unserved>),
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
pub enum Unserved {
    /// The folder cannot be opened.
    #[error("the folder cannot be opened")]
    Root(#[source] Box<dyn Error + Send + Sync>),
    /// The declarations are not sound.
    #[error(transparent)]
    Registry(#[from] BuildError),
}

/// How a command ended that could run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Well,
    Badly,
}

/// What every command knows of what was typed.
pub(crate) struct Setup {
    pub(crate) program: Program,
    pub(crate) folder: Folder,
    pub(crate) bounds: Bounds,
    /// Documents of other services that were typed.
    pub(crate) openapi: Openapi,
    /// What to log, where it was typed.
    pub(crate) level: Option<Level>,
    /// The command.
    pub(crate) command: &'static str,
}

impl Program {
    /// The commands of a registry, under the name by which the program was started.
    pub fn of(registry: Registry) -> Program {
        Program::started(Source::Registry(registry))
    }

    /// The commands of the registry that `open` makes. It is run once, by the first command that needs operations and in
    /// a runtime of tokio that lasts as long as the command; `--help`, `--version` and `completions` open nothing.
    pub fn opening<F>(open: F) -> Program
    where
        F: AsyncFnOnce(Context) -> Result<Registry, SetupError> + Send + 'static,
    {
        Program::started(Source::Opening(Arc::new(Opening::new(open))))
    }

    fn started(source: Source) -> Program {
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
    pub fn built_in(make: fn(&BuiltIn) -> Result<Registry, Unserved>) -> Program {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let info = ProgramInfo::new("redress", &version);
        Program { name: "redress".to_owned(), info, version, source: Source::BuiltIn(make), crates: Vec::new() }
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
            Ok(Ended::Well) => 0,
            Ok(Ended::Badly) => 1,
            // Whoever closed the output has read enough.
            Err(Trouble::OutputUnwritable(cause)) if cause.kind() == io::ErrorKind::BrokenPipe => 0,
            Err(trouble) => {
                // Where nothing can be written, the exit code still tells.
                let _ = trouble.tell(terminal, &self.name);
                2
            }
        }
    }

    fn command(&self, words: Vec<OsString>, terminal: &mut Terminal<'_>) -> Result<Ended, Trouble> {
        // What cannot be read as a whole may still ask for JSON, and then gets it.
        terminal.set(words.iter().any(|word| word == "--json"), Color::Auto);
        let command = arguments::command(self);
        let typed = match typed::read(command, words, self.is_built_in()) {
            Ok(typed) => typed,
            Err(error) => return self.untyped(&error, terminal),
        };
        terminal.set(typed.arguments.json, typed.arguments.color);
        let command = format!("{} {}", self.name, typed.arguments.command.word());
        self.carry_out(typed, terminal).map_err(|trouble| trouble.of_command(&command))
    }

    fn carry_out(&self, typed: Typed, terminal: &mut Terminal<'_>) -> Result<Ended, Trouble> {
        let Typed { arguments, folder, bounds, openapi } = typed;
        let command = arguments.command.word();
        let setup = Setup { program: self.clone(), folder, bounds, openapi, level: arguments.log_level, command };
        let colored = terminal.err().is_colored();
        let log = |file: (Option<Level>, Option<Format>), default, otlp: Option<&Otlp>| {
            let level = arguments.log_level.or(file.0).unwrap_or(default);
            logs::start(level, arguments.log_format.or(file.1).unwrap_or(Format::Text), colored, self.own(), otlp)
        };
        if let Command::Serve(typed) = arguments.command {
            let settings = setup.settings(&typed)?;
            let otlp = parts::collector(&settings, self)?;
            let log = log((settings.level, settings.format), Level::Info, otlp.as_ref());
            return serve::Start { setup: Arc::new(setup), typed, settings, log, otlp }.run(terminal);
        }
        if let Command::Mcp(typed) = &arguments.command {
            // The output is the protocol's alone, so that what goes wrong is told elsewhere.
            terminal.set(false, arguments.color);
            let typed = arguments::Serve {
                config: typed.config.clone(),
                kept: typed.kept.clone(),
                tools: typed.tools.clone(),
                ..Default::default()
            };
            let settings = setup.settings(&typed)?;
            let otlp = parts::collector(&settings, self)?;
            log((settings.level, settings.format), Level::Error, otlp.as_ref());
            return mcp::run(&setup, &settings, otlp, terminal);
        }
        log((None, None), Level::Error, None);
        match arguments.command {
            Command::Serve(_) | Command::Mcp(_) => Ok(Ended::Well),
            Command::Call(typed) => call::run(&setup, &typed, terminal),
            Command::Ops(typed) => ops::run(&setup, &typed, terminal),
            Command::Explain(typed) => explain::run(&setup, &typed, terminal),
            Command::Token(typed) => token::run(&typed, terminal),
            Command::Consent(typed) => consent::run(&setup, &typed, terminal),
            Command::Audit(typed) => audit::run(&setup, &typed, terminal),
            Command::Quota(typed) => quota::run(&setup, &typed, terminal),
            Command::Gen(typed) => generated::contract(&setup, &typed, terminal),
            Command::Doctor(typed) => doctor::run(&setup, &typed, terminal),
            #[cfg(feature = "gateway")]
            Command::Import(typed) => crate::import::run(&setup, &typed, terminal),
            Command::New(typed) => new::run(&typed, terminal),
            Command::Completions(typed) => generated::completions(&setup, &typed, terminal),
            Command::Man(typed) => generated::man(&setup, &typed, terminal),
        }
    }

    /// What clap says instead of running a command: its help, its version, or what is wrong.
    fn untyped(&self, error: &clap::Error, terminal: &mut Terminal<'_>) -> Result<Ended, Trouble> {
        let colored = terminal.out().is_colored();
        let rendered = error.render();
        let text = if colored { rendered.ansi().to_string() } else { rendered.to_string() };
        if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
            terminal.out().line(text.trim_end_matches('\n'))?;
            return Ok(Ended::Well);
        }
        let plain = rendered.to_string();
        let tip = plain.lines().find_map(|line| line.trim().strip_prefix("tip: ")).map(str::to_owned);
        let first = plain.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
        let says = if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            "no command was given".to_owned()
        } else {
            first.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        Err(Trouble::Usage { says, tip, command: self.usage(error) })
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

    pub(crate) fn own(&self) -> OwnCrates {
        OwnCrates::new(&self.crates)
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
        matches!(self.source, Source::BuiltIn(_))
    }
}

impl Setup {
    /// What holds for `serve`: what was typed, then the environment, the file, the defaults.
    pub(crate) fn settings(&self, typed: &arguments::Serve) -> Result<Settings, Trouble> {
        let document = typed.config.as_deref().map(Document::at).transpose()?;
        self.settings_of(typed, document)
    }

    /// What holds for `serve` by this configuration, whatever is in its file by now.
    pub(crate) fn settings_of(
        &self,
        typed: &arguments::Serve,
        document: Option<Document>,
    ) -> Result<Settings, Trouble> {
        let mut file = File::default();
        if let Some(written) = &document {
            let read = File::in_place(written)?;
            file = if self.program.is_built_in() { read } else { read.for_a_registry(written)? };
        }
        let mut settings = self.with_openapi(Settings::of(typed, &self.folder, &self.bounds, file, document)?)?;
        // A program of one's own has the bounds that its registry was built with.
        settings.max_in_flight = settings.max_in_flight.filter(|_| self.program.is_built_in());
        Ok(settings)
    }

    /// The operations, bound as `settings` say where they are the built-in ones.
    pub(crate) fn registry(&self, settings: &Settings) -> Result<Registry, Trouble> {
        let make = match &self.program.source {
            Source::Registry(registry) => return Ok(registry.clone()),
            Source::Opening(opening) => {
                return opening
                    .registry(self.context(settings.document.as_ref().map(|document| document.path.clone())));
            }
            Source::BuiltIn(make) => make,
        };
        apart::check(settings)?;
        let built_in = BuiltIn {
            root: settings.root.clone(),
            write: settings.write,
            deadline: settings.deadline,
            operations: self.upstream_operations(settings)?,
        };
        make(&built_in).map_err(|unserved| match unserved {
            Unserved::Registry(error) => Trouble::RegistryInvalid(error),
            Unserved::Root(error) => {
                let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                let says = cause.split(" (os error").next().unwrap_or_default().to_owned();
                Trouble::RootUnusable { path: settings.root.display().to_string(), says }
            }
        })
    }

    /// The registry that the program brings along, where it does.
    pub(crate) fn own_registry(&self) -> Result<Option<Registry>, Trouble> {
        match &self.program.source {
            Source::Registry(registry) => Ok(Some(registry.clone())),
            Source::Opening(opening) => opening.registry(self.context(None)).map(Some),
            Source::BuiltIn(_) => Ok(None),
        }
    }

    fn context(&self, config: Option<PathBuf>) -> Context {
        Context { command: self.command, config, program: self.program.info.clone() }
    }

    /// The operations as this process itself runs them.
    pub(crate) fn local(&self) -> Result<Registry, Trouble> {
        self.registry(&self.with_openapi(Settings::local(&self.folder)?)?)
    }

    /// The same settings, with the services that were typed.
    fn with_openapi(&self, mut settings: Settings) -> Result<Settings, Trouble> {
        let usage =
            |says: &str| Trouble::Usage { says: says.to_owned(), tip: None, command: self.program.name.clone() };
        if self.openapi.openapi_url.is_some() && self.openapi.openapi.len() > 1 {
            return Err(usage("`--openapi-url` says where one service is, and several documents were given"));
        }
        let typed = self.openapi.tables();
        if !typed.is_empty() {
            settings.upstreams.extend(typed);
            settings.check()?;
        }
        Ok(settings)
    }

    /// The operations of other services.
    fn upstream_operations(&self, settings: &Settings) -> Result<Vec<Operation>, Trouble> {
        #[cfg(feature = "gateway")]
        return Ok(crate::gateway::open(settings)?.iter().flat_map(|upstream| upstream.operations()).collect());
        #[cfg(not(feature = "gateway"))]
        match settings.upstreams.first() {
            None => Ok(Vec::new()),
            Some(upstream) => Err(Trouble::UpstreamUnusable {
                name: upstream.name.clone(),
                says: "this program was built without the feature `gateway`".to_owned(),
            }),
        }
    }

    /// The flags that make another call see the same operations.
    pub(crate) fn flags(&self, server: &arguments::Server) -> Vec<String> {
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
pub(crate) fn wait<T>(work: impl Future<Output = Result<T, Trouble>>) -> Result<T, Trouble> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Trouble::RuntimeUnavailable)?;
    let ended = runtime.block_on(work);
    // A handler may have left work behind; the command has its answer and does not wait.
    runtime.shutdown_background();
    ended
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Source::Registry(_) => "Registry",
            Source::Opening(_) => "Opening",
            Source::BuiltIn(_) => "BuiltIn",
        })
    }
}
