//! How a contract and its outcomes look to the clients of the Model Context Protocol: tools,
//! results and errors, for both eras of the protocol. Written straight to bytes.
//!
//! What the specification leaves open is settled like this:
//!
//! - A bad ending is a tool result with `isError`: as text one sentence and what a model can act
//!   on, with tools' names ([`told`]); the envelope in `_meta` under [`ERROR_META`], and as
//!   `structuredContent` only where the schema that the tool advertises admits it. Clients that
//!   check the one against the other would throw everything else away.
//! - A message that is no request, and a tool that does not exist, are protocol errors. Their
//!   numbers are those that the protocol defines and no others.
//! - A schema stands on its own: references are put in place, and what only some vendors know
//!   is left out, because hosts refuse whole lists for one word that they do not know. What a tool
//!   takes is said in the [`dialect`] that every framework's converter understands.

mod client;
mod cost;
mod describe;
mod dialect;
mod error;
mod failure_text;
mod info;
mod listing;
mod members;
mod output;
mod params;
mod prompt;
mod prose;
mod protocol;
mod resource;
mod result;
mod schema;
mod shared;
mod text;
mod tool;

pub use client::ClientCapabilities;
pub use cost::{Cost, cost};
pub use describe::{ToolReader, mentions};
pub use dialect::dialect;
pub use error::{ProtocolError, write_error};
pub use failure_text::told;
pub use info::{Capabilities, ServerInfo, discover_result, initialize_result, instructions};
pub use listing::{CacheScope, Caching, ListKind, ListPages};
pub use members::ObjectMembers;
pub use output::{EnvelopeUse, OutputForm, OutputSchema};
pub use params::{
    CallParams, CompleteParams, CompletionArgument, CompletionContext, InitializeParams, LevelParams, ListParams,
    ListenParams, ReadParams, Reference, RequestMeta, RoundParams, SubscriptionFilter, read_params,
};
pub use prompt::{prompt, write_messages};
pub use prose::{Spoken, spoken};
pub use protocol::{Era, LATEST_LEGACY, MODERN, VERSIONS, header, method, negotiate};
pub use resource::{resource, resource_template, write_contents};
pub use result::{ResultOptions, open_result, write_call, write_output};
pub use schema::plain;
pub use shared::SharedFailures;
pub use tool::{Tool, ToolText};

/// Where a result carries the envelope of a bad ending.
pub const ERROR_META: &str = "dev.redress/error";
/// Where, in the `_meta` of a result, an output is marked that breaks its schema.
pub const BREACH_META: &str = "dev.redress/output_breach";
/// Where a tool carries the failures that it declares.
pub const FAILURES_META: &str = "dev.redress/failures";
/// The member of a tool's `_meta` that says how to find out whether a call that was cut off took place.
pub const VERIFY_META: &str = "dev.redress/verify";
/// Where a request may carry a key that makes the call safe to repeat.
pub const IDEMPOTENCY_META: &str = "dev.redress/idempotency_key";
/// Where what a stream of changes tells carries the id of the request that opened it.
pub const SUBSCRIPTION_META: &str = "io.modelcontextprotocol/subscriptionId";
