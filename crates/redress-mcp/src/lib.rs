//! The MCP face of a registry: every external operation is a tool, a prompt or a document, over
//! streamable HTTP and over standard input and output, for clients of both eras of the protocol.
//!
//! One function answers every request, from bytes to bytes. What differs is what carries them: a
//! body of JSON, an event stream of a request or of a session, or lines.
//!
//! **Invariant:** this crate decides nothing about an outcome: `redress-wire` says how messages
//! look, `Registry` what they say.
//!
//! ```
//! use redress_core::{Registry, consent_grant};
//! use redress_mcp::{Mcp, McpOptions};
//!
//! let registry = Registry::builder().add(consent_grant()).build().unwrap();
//! let mcp = Mcp::new(registry, McpOptions::default()).unwrap();
//! assert_eq!(mcp.costs(None).len(), 0, "to consent is for persons, and no tool");
//! ```

mod arguments;
mod auth;
mod builtin;
mod call;
mod catalogue;
mod client_channel;
mod client_questions;
mod complete;
mod discovery;
mod http;
mod listen;
mod mcp;
mod near;
mod options;
mod owner;
mod profile;
mod prompts;
mod prompts_and_resources;
mod refusal;
mod reply;
mod request;
mod request_checks;
mod request_context;
mod requests;
mod resources;
mod rounds;
mod session;
mod stdio;
mod stdout;
mod stream;

pub use arguments::{DroppedFields, HOST_FIELDS, HostField};
pub use auth::Metadata;
pub use http::{Body, HttpFace, HttpOptions, OpenSessions, PageTrust, SentByTls, StreamPermit, StreamPermits};
pub use mcp::{Mcp, McpError};
pub use options::{McpOptions, StreamBounds};
pub use profile::Profile;
pub use redress_wire::mcp::{Cost, EnvelopeUse, OutputForm, OutputSchema};
pub use request_context::RequestContext;
