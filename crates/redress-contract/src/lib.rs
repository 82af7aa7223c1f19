//! What an operation *is*: what it takes, what it gives, every way it can fail and
//! what to do then. Everything here is a plain value.
//!
//! **Invariant:** this crate knows no runtime, clock, file, socket or protocol. The
//! same input always gives the same output, and nothing here can run an operation.
//!
//! ```
//! use redress_contract::{Effect, FailureDeclaration, Kind, OperationDeclaration, Recovery};
//!
//! let missing = FailureDeclaration::new("FILE_NOT_FOUND", Kind::NotFound)
//!     .with_when("The file does not exist.")
//!     .with_message("no file at {path}")
//!     .with_effect(Effect::None)
//!     .with_recovery(
//!         Recovery::call("files.list", "List the folder and pick a path that exists.")
//!             .bind("path", "folder"),
//!     );
//! let read = OperationDeclaration::query("files.read").with_summary("Read a text file.").fails(missing);
//!
//! assert_eq!(read.tool_name(), "files_read");
//! assert_eq!(read.failure("FILE_NOT_FOUND").map(FailureDeclaration::http), Some(404));
//! ```

mod access;
mod allowance;
mod block;
mod breach;
mod caller;
mod code;
mod content;
mod contract;
mod deprecation;
mod disclosure;
mod encode;
mod engine;
mod engine_rows;
mod envelope;
mod example;
mod failure;
mod finding;
mod json;
mod kind;
mod members;
mod message;
mod name;
mod operation;
mod presented;
mod preserialized;
mod program_info;
mod recovery;
mod request_id;
mod reservation;
mod retry;
mod rule;
mod schema;
mod shape;
mod streaming;
mod template;
mod uri_template;
mod verification;

pub use access::{Access, Denied};
pub use allowance::Allowance;
pub use block::{Block, Blocks, ResourceContents};
pub use breach::{Breach, OutputBreach};
pub use caller::{CONSENT_GRANT, Caller};
pub use code::{Code, CodeError};
pub use content::Content;
pub use contract::Contract;
pub use deprecation::Deprecation;
pub use disclosure::{Disclosure, Reach};
pub use encode::EncodeError;
pub use engine::EngineCode;
pub use envelope::{Envelope, Meta, NextAction, OutputJson, Problem, RecoveryStep, Similar};
pub use example::{Example, ExampleEnding};
pub use failure::FailureDeclaration;
pub use finding::Finding;
pub use json::Json;
pub use kind::{Category, Kind};
pub use members::Members;
pub use message::{PromptMessage, PromptMessages, Speaker};
pub use name::{Name, NameError};
pub use operation::OperationDeclaration;
pub use presented::{Gives, Role};
pub use preserialized::Printed;
pub use program_info::ProgramInfo;
pub use recovery::{Binding, Recovery, Verb};
pub use request_id::RequestId;
pub use reservation::Reservation;
pub use retry::{Effect, Retry, Started};
pub use rule::{Rule, RuleLevel};
pub use schema::{BundleError, Holds, Schema};
pub use shape::{Origin, Shape, Visibility};
pub use streaming::{Overflow, Streaming};
pub use template::{Template, TemplateError};
pub use uri_template::{UriTemplate, UriTemplateError};
pub use verification::{Done, Verification};
