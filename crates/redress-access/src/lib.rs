//! *Who calls*: bearer tokens kept as hashes, JSON Web Tokens and client certificates.
//!
//! [`Authenticator`] is the identity provider of a registry: it reads what [`AccessOptions`] name, keeps up with files and
//! keys that change, and tells from a token who calls. [`TokenFile`] is the file of bearer tokens, for whoever
//! makes and revokes them. [`Certificates`] tells who calls from a client certificate that TLS has verified.
//!
//! **Invariant:** this crate never stores, logs or shows a credential: what it stores is a hash, and what it compares
//! with a stored one, it compares in constant time. What was verified is remembered in memory only, as long as it holds.

mod access;
mod certificates;
mod error;
mod instant;
mod jwt;
mod names;
mod options;
mod token_cache;
mod tokens;
mod watch;

pub use access::{Authenticator, CheckedFiles};
pub use certificates::{CertificateRule, Certificates};
pub use error::AccessError;
pub use jwt::{Algorithm, UnknownAlgorithm};
pub use options::{AccessOptions, JwtOptions, KeySource, TokenHash};
pub use tokens::{NewToken, TokenEntry, TokenFile};
