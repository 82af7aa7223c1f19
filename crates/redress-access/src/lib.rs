//! *Who calls*: bearer tokens kept as hashes, JSON Web Tokens and client certificates.
//!
//! [`Authenticator`] is the identity provider of a registry: it reads what [`AccessOptions`] name, keeps up with files and
//! keys that change, and tells from a token who calls. [`TokenFile`] is the file of bearer tokens, for whoever
//! makes and revokes them. With the feature `certificates`, `Certificates` tells who calls from a client certificate that
//! TLS has verified; with `jwt`, JSON Web Tokens are verified, and with `jwks-url` their keys are fetched.
//!
//! **Invariant:** this crate never stores, logs or shows a credential: what it stores is a hash, and what it compares
//! with a stored one, it compares in constant time. What was verified is remembered in memory only, as long as it holds.

mod access;
#[cfg(feature = "certificates")]
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
#[cfg(feature = "certificates")]
pub use certificates::{CertificateRule, Certificates};
pub use error::AccessError;
pub use jwt::{Algorithm, UnknownAlgorithm};
pub use options::{AccessOptions, TokenHash};
#[cfg(feature = "jwt")]
pub use options::{JwtOptions, KeySource};
pub use tokens::{NewToken, TokenEntry, TokenFile};
