//! *Connections outward*: the services behind a gateway, with their clients, breakers, limits and credentials.
//!
//! [`Upstream`] is made of what a document says ([`redress_import::Import`]) and what an operator says
//! ([`UpstreamConfig`]), and gives operations to be added to a registry. There they are operations like any other: what
//! a service answers becomes their output, one of their declared failures, or an engine code that says that the service
//! was the reason.
//!
//! **Invariant:** no address, header or credential is a caller's choice; no credential is seen on a face, in a log or in a
//! metric; no mutation is sent twice unless a key makes that safe; and whatever a service sends, a call ends with an
//! outcome within its deadline.

mod address;
mod advice;
mod body;
mod breaker;
mod client;
mod config;
mod credentials;
mod document;
mod error;
mod exchange;
mod fails_when;
mod gate;
mod outcome;
mod planned;
mod redact;
mod request;
mod status;
mod stream;
mod upstream;

pub use breaker::{BreakerConfig, BreakerState};
pub use config::{TraceHeaders, UpstreamConfig};
pub use credentials::{ClientCredentials, Credential, CredentialStatus, SecretFrom, SecretMissing};
pub use document::{DocumentFetch, DocumentTag, DocumentUnreachable};
pub use error::UpstreamError;
pub use status::{UpstreamHealth, UpstreamStatus};
pub use upstream::Upstream;
