//! Operations that say how they fail.
//!
//! An operation is an async function. Its input and output are types, its failures are an enum, and
//! everything a caller can learn about it is declared there, once.
//!
//! ```
//! use redress::{Caller, Ctx, Failure, Outcome, Registry, Request, data, operation};
//!
//! #[data] // serde and a JSON Schema, in one line
//! struct Withdraw {
//!     account: String,
//!     cents: u64,
//! }
//!
//! #[derive(Debug, Failure)]
//! enum WithdrawFailure {
//!     /// The account holds less than was asked for.
//!     #[failure(kind = conflict, message = "{account} holds only {cents} cents", effect = none,
//!               recover(fix_input = "/cents", hint = "Ask for no more than the account holds."))]
//!     NotEnough { account: String, cents: u64, #[failure(private)] owner: String },
//! }
//!
//! /// Take money out of an account.
//! #[operation(mutation, name = "bank.withdraw", access(scopes = "bank:write"), deadline = "5s")]
//! async fn withdraw(ctx: &Ctx, input: Withdraw) -> Outcome<u64, WithdrawFailure> {
//!     if input.cents > 100 {
//!         // Declared: the caller gets the code, the public fields and what to do.
//!         let owner = "never leaves".to_owned();
//!         return Err(WithdrawFailure::NotEnough { account: input.account, cents: 100, owner }.into());
//!     }
//!     // Not declared: contained. The caller gets INTERNAL and a request id, the log gets the rest.
//!     let parsed: u64 = input.account.parse()?;
//!     Ok(parsed - input.cents)
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let registry = Registry::builder().add(withdraw).build()?;
//! let ada = || Caller::new("ada").scope("bank:write");
//! let call = |input: &'static str| registry.call("bank.withdraw", Request::new(input.as_bytes()).with_caller(ada()));
//!
//! // The four ways a call can end:
//! assert_eq!(call(r#"{"account":"400","cents":60}"#).await.output(), Some(b"340".as_slice()));
//! assert_eq!(call(r#"{"account":"400","cents":900}"#).await.code(), Some("NOT_ENOUGH"));
//! assert_eq!(call(r#"{"account":"my savings","cents":1}"#).await.code(), Some("INTERNAL"));
//!
//! let refused = call(r#"{"account":"400","cent":"60"}"#).await;
//! assert_eq!(refused.code(), Some("INVALID_INPUT"));
//! let details = refused.problem().and_then(|problem| problem.details.as_ref()).map(|raw| raw.get());
//! assert!(details.is_some_and(|json| json.contains(r#""fix""#))); // a JSON Patch that makes it right
//!
//! // It stays an ordinary function, which a unit test can call.
//! # #[cfg(feature = "testing")] {
//! let outcome = withdraw(&redress::testing::ctx(), Withdraw { account: "400".into(), cents: 900 }).await;
//! assert!(matches!(outcome.unwrap_err().failure(), Some(WithdrawFailure::NotEnough { cents: 100, .. })));
//! # }
//! # Ok::<(), redress::BuildError>(())
//! # }).unwrap();
//! ```
//!
//! # Where to go from here
//!
//! | you want to | look at |
//! |---|---|
//! | declare an operation, its access and what it calls | [`macro@operation`], [`Ctx`], [`State`] |
//! | declare failures | [`macro@Failure`], [`Outcome`], [`Fail`] |
//! | gather and check them | [`Registry`], [`Builder`] |
//! | call one | [`Request`], [`Envelope`] |
//! | stream | [`Events`], [`Subscription`] |
//! | report, ask the caller, show pictures, offer prompts and documents | [`Progress`], [`Question`], [`Blocks`], [`PromptMessages`], [`Changes`] |
//! | declare as data, or bundle | [`Operation`], [`Extension`], [`contract`] |
//! | refuse, limit, watch | [`Guard`], [`Limit`], [`ContentGuard`], [`Observer`] |
//! | limit rates, quotas, concurrency and load, per caller | `redress::limits::Limits`, with the feature `limits` |
//! | serve, or mount in your own axum app | `redress::serve::Faces`, with the feature `serve` |
//! | be an MCP server, over HTTP or stdio | `redress::mcp::Mcp`, with the feature `mcp` |
//! | say who calls, by token, JSON Web Token or certificate | `redress::access::Authenticator`, with the feature `access` |
//! | keep consents, idempotency keys and an audit | `redress::state::StateStore`, with the feature `state` |
//! | count calls, log them, trace them | `redress::telemetry`, with the features `telemetry` and `otlp` |
//! | have the whole command in your own binary | `redress::main!`, with the feature `cli` |
//! | test | `redress::testing`, with the feature of that name |
//!
//! **Invariant:** this crate holds no logic; it is the door to the other crates.

#[cfg(feature = "access")]
pub use redress_access as access;
#[cfg(feature = "cli")]
pub use redress_cli::{Context, Program, SetupError, main};
pub use redress_contract as contract;
pub use redress_contract::{
    Access, Allowance, Block, Blocks, CONSENT_GRANT, Caller, Code, Effect, EngineCode, Envelope, Kind, ProgramInfo,
    PromptMessage, PromptMessages, Recovery, ResourceContents, Retry, Shape, Verification,
};
#[cfg(feature = "testing")]
pub use redress_core::testing;
pub use redress_core::{
    Answer, AskError, Asker, Asks, Audit, AuditedCall, Begin, Blocked, BuildError, Builder, CallFailed, Change,
    ChangeReader, Changes, Classification, Classifier, ClassifierRow, ClassifierTable, Completion, Consent,
    ConsentMemory, ConsentScope, ConsentScopeError, ConsentStore, ContentGuard, Conversation, Credentials, Ctx,
    DynamicFailure, EndedCall, Event, Events, Exhausted, Extension, Face, Fail, Failure, Fault, Field, Fingerprint,
    Form, Guard, GuardBroken, GuardedCall, HeldConsent, Hold, IdempotencyKey, IdempotencyMemory, IdempotencyStore,
    IdentityError, IdentityProvider, InFlight, Layers, Level, Limit, Limited, LimitedCall, LoadedExtension, NoFailure,
    Note, Nothing, Notification, Observer, Operation, Outcome, PatternError, Permit, Progress, ProgressListener,
    ProgressReceiver, ProgressSender, Question, QuestionKind, QuotaHold, QuotaRefused, QuotaShare, QuotaStore,
    QuotaWindow, Receipt, Recorded, Registry, Request, Root, Sample, Sampled, Secret, Settings, Settled, Shown, State,
    StateError, StoreError, Subscription, Turn, UpstreamFailure, Veto, WhenBroken, consent_grant, consent_list,
    consent_revoke, progress_channel,
};
#[cfg(feature = "limits")]
pub use redress_limits as limits;
pub use redress_macros::{Failure, check, data, operation};
#[cfg(feature = "mcp")]
pub use redress_mcp as mcp;
#[cfg(feature = "serve")]
pub use redress_serve as serve;
#[cfg(feature = "state")]
pub use redress_state as state;
#[cfg(feature = "telemetry")]
pub use redress_telemetry as telemetry;

/// What the program says of itself, as its `Cargo.toml` has it: the name of the binary (of the package, in a library), the
/// version and the description of the package.
///
/// ```
/// let info = redress::program_info!().with_title("The helpdesk");
/// assert_eq!(info.version(), env!("CARGO_PKG_VERSION"));
/// ```
#[macro_export]
macro_rules! program_info {
    () => {
        $crate::ProgramInfo::new(
            ::core::option_env!("CARGO_BIN_NAME").unwrap_or(::core::env!("CARGO_PKG_NAME")),
            ::core::env!("CARGO_PKG_VERSION"),
        )
        .with_description(::core::env!("CARGO_PKG_DESCRIPTION"))
    };
}

/// The whole command, with the name, version and description of your own package.
///
/// ```no_run
/// # use redress::{Outcome, Registry, operation};
/// # struct Database;
/// # impl Database { async fn open(_: &str) -> Result<Database, std::io::Error> { Ok(Database) } }
/// # /// Tell the time.
/// # #[operation(query, name = "clock.now", access(anyone))]
/// # async fn now() -> Outcome<u64> { Ok(0) }
/// fn main() -> std::process::ExitCode {
///     redress::main!(async |context| {
///         let database = Database::open("helpdesk.db").await?; // any error: one clear message, exit code 2
///         Ok(Registry::builder().state(database).add(now).build()?)
///     })
/// }
/// ```
///
/// The closure is run once, in a runtime of tokio, by the first command that needs operations; `--help`, `--version`,
/// `completions` and the pages of `explain` open nothing. An `async fn` of a [`Context`] does as well, and so does what
/// `.build()` gives, or a [`Registry`], where there is nothing to open. For a title, or another name, write
/// `Program::opening(async |context| …).info(redress::program_info!().with_title("…")).main()`.
#[cfg(feature = "cli")]
#[macro_export]
macro_rules! main {
    (async $($open:tt)*) => {
        $crate::Program::opening(async $($open)*).info($crate::program_info!()).main()
    };
    ($operations:expr $(,)?) => {
        $crate::__private::program($operations).info($crate::program_info!()).main()
    };
}

#[doc(hidden)]
pub mod __private {
    /// The program of whatever makes one.
    #[cfg(feature = "cli")]
    pub fn program<Way>(operations: impl redress_cli::IntoProgram<Way>) -> redress_cli::Program {
        operations.into_program()
    }

    pub use redress_contract as contract;
    pub use redress_core::{
        AnyFailure, Argument, CallerKnown, CallerUnknown, Checks, ChecksWhere, Ctx, Declared, DeclaredBy, Events,
        Failure, Input, IsEvents, IsOutcome, Nothing, Once, Operation, Outcome, Output, PublicField, Streams, Tagged,
        plain,
    };
    pub use schemars;
    pub use serde;
    pub use serde_json;
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/asking.md")]
struct AskingGuide;

#[cfg(all(doctest, feature = "limits", feature = "state"))]
#[doc = include_str!("../../../docs/limits.md")]
struct LimitsGuide;

#[cfg(all(doctest, feature = "telemetry", feature = "serve"))]
#[doc = include_str!("../../../docs/telemetry.md")]
struct TelemetryGuide;
