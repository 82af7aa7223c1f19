//! The operations of a program that has to open something first, such as a database: they are made when a command needs
//! them, once, and by no command that does not.
//!
//! Why so: docs/decisions/0073-a-program-is-opened-when-it-is-needed.md.

use std::{
    any::Any,
    error::Error,
    fmt,
    path::{Path, PathBuf},
    pin::Pin,
    sync::OnceLock,
};

use parking_lot::Mutex;
use redress_contract::ProgramInfo;
use redress_core::{BuildError, LoggedCause, Registry};
use tokio::runtime::{Handle, Runtime, RuntimeFlavor};

use crate::error::CliError;

/// What is known of the command for which the operations are made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Context {
    pub(crate) command: &'static str,
    pub(crate) config: Option<PathBuf>,
    pub(crate) program: ProgramInfo,
}

impl Context {
    /// The command, such as `serve`, `mcp` or `call`.
    pub fn command(&self) -> &str {
        self.command
    }

    /// Whether the program is going to serve others, and not to answer one question of whoever has started it.
    pub fn is_serving(&self) -> bool {
        matches!(self.command, "serve" | "mcp")
    }

    /// The configuration file that was named, if one was.
    pub fn config(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// What the program says of itself.
    pub fn program(&self) -> &ProgramInfo {
        &self.program
    }
}

/// Why a program could not make its operations. `?` turns every error into one, a [`BuildError`] included.
///
/// ```
/// use redress_cli::SetupError;
///
/// fn url() -> Result<String, SetupError> {
///     std::env::var("NO_SUCH_URL").map_err(|error| SetupError::new(error).hint("Set NO_SUCH_URL to the database's."))
/// }
/// assert_eq!(url().unwrap_err().to_string(), "environment variable not found");
/// ```
pub struct SetupError {
    cause: Box<dyn Error + Send + Sync>,
    hint: Option<String>,
}

impl SetupError {
    /// What this error, or this sentence, says.
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> SetupError {
        SetupError { cause: cause.into(), hint: None }
    }

    /// Says what whoever has started the program should do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> SetupError {
        self.hint = Some(hint.into());
        self
    }
}

// It is no `Error` itself: that is what lets one conversion take them all.
impl<E: Error + Send + Sync + 'static> From<E> for SetupError {
    fn from(error: E) -> SetupError {
        SetupError::new(error)
    }
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cause: &(dyn Error + 'static) = &*self.cause;
        fmt::Display::fmt(&LoggedCause::of(cause), f)
    }
}

impl fmt::Debug for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The author's own function, and what became of it.
pub(crate) struct RegistryOpener {
    open: Mutex<Option<OpenFn>>,
    opened: OnceLock<Result<Registry, Unopened>>,
    /// Where the author's resources live, when the command has no runtime that will do.
    runtime: OnceLock<KeptRuntime>,
}

type OpenFn = Box<dyn FnOnce(Context) -> OpenFuture + Send>;
type OpenFuture = Pin<Box<dyn Future<Output = Result<Registry, SetupError>>>>;

/// Why there are no operations, kept for every command that asks again.
#[derive(Clone)]
enum Unopened {
    Unsound(BuildError),
    Failed { says: String, hint: Option<String> },
}

/// A runtime that may end wherever its last owner does.
struct KeptRuntime(Option<Runtime>);

impl Drop for KeptRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl RegistryOpener {
    pub(crate) fn new<F>(open: F) -> RegistryOpener
    where
        F: AsyncFnOnce(Context) -> Result<Registry, SetupError> + Send + 'static,
    {
        let open: OpenFn = Box::new(move |context| Box::pin(async move { open(context).await }));
        RegistryOpener { open: Mutex::new(Some(open)), opened: OnceLock::new(), runtime: OnceLock::new() }
    }

    /// The operations, made when they are asked for first.
    pub(crate) fn registry(&self, context: Context) -> Result<Registry, CliError> {
        let opened = self.opened.get_or_init(|| self.open(context));
        opened.clone().map_err(|unopened| match unopened {
            Unopened::Unsound(error) => CliError::RegistryInvalid(error),
            Unopened::Failed { says, hint } => CliError::SetupFailed { says, hint },
        })
    }

    fn open(&self, context: Context) -> Result<Registry, Unopened> {
        let failed = |says: String| Unopened::Failed { says, hint: None };
        let taken = self.open.lock().take();
        let Some(open) = taken else { return Err(failed("it was begun before, and did not end".to_owned())) };
        let handle = self.handle().map_err(|error| failed(format!("the system gave no threads: {error}")))?;
        // On a thread of its own, since the command may be asked from inside a runtime, where nothing can be waited for.
        let made = std::thread::scope(|scope| scope.spawn(move || handle.block_on(open(context))).join());
        match made {
            Ok(Ok(registry)) => Ok(registry),
            Ok(Err(error)) => Err(match error.cause.downcast::<BuildError>() {
                Ok(unsound) => Unopened::Unsound(*unsound),
                Err(cause) => {
                    let error = SetupError { cause, hint: error.hint };
                    Unopened::Failed { says: error.to_string(), hint: error.hint }
                }
            }),
            Err(panic) => Err(failed(format!("it panicked: {}", said(&*panic)))),
        }
    }

    /// The runtime in which the resources are opened: that of the command, so that a server has one, unless nothing
    /// would run there while this waits.
    fn handle(&self) -> std::io::Result<Handle> {
        if let Ok(handle) = Handle::try_current()
            && handle.runtime_flavor() == RuntimeFlavor::MultiThread
        {
            return Ok(handle);
        }
        if let Some(KeptRuntime(Some(runtime))) = self.runtime.get() {
            return Ok(runtime.handle().clone());
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let handle = runtime.handle().clone();
        self.runtime.get_or_init(|| KeptRuntime(Some(runtime)));
        Ok(handle)
    }
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it did not say why").to_owned()
}

/// What a program can be made of: a registry, what `build` gives, or a function that opens what the operations need.
#[diagnostic::on_unimplemented(
    message = "`{Self}` makes no program",
    label = "expected a `Registry`, what `.build()` gives, or an async function from a `Context`",
    note = "write `redress::main!(async |context| {{ … Ok(registry) }})`"
)]
pub trait IntoProgram<Way> {
    /// The program, under the name by which it was started.
    fn into_program(self) -> crate::Program;
}

/// By a function.
#[derive(Debug)]
pub struct ByFunction;
/// By a registry that is there.
#[derive(Debug)]
pub struct ByRegistry;

impl IntoProgram<ByRegistry> for Registry {
    fn into_program(self) -> crate::Program {
        crate::Program::of(self)
    }
}

impl IntoProgram<ByRegistry> for Result<Registry, BuildError> {
    fn into_program(self) -> crate::Program {
        crate::Program::opening(async move |_| Ok(self?))
    }
}

impl<F> IntoProgram<ByFunction> for F
where
    F: AsyncFnOnce(Context) -> Result<Registry, SetupError> + Send + 'static,
{
    fn into_program(self) -> crate::Program {
        crate::Program::opening(self)
    }
}
