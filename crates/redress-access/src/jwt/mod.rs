//! JSON Web Tokens (RFC 7519), signed ones (RFC 7515) alone.

mod algorithm;
mod claims;
#[cfg(feature = "jwks-url")]
mod jwks_url;
mod key_provider;
mod keys;
#[cfg(feature = "jwks-url")]
mod remote;
mod unique_object;
mod verify;

pub use algorithm::{Algorithm, UnknownAlgorithm};
#[cfg(feature = "jwks-url")]
pub(crate) use jwks_url::JwksUrl;
pub(crate) use keys::VerificationKeys;
pub(crate) use verify::Verifier;

/// Whether a text has the shape of a token: three parts.
pub(crate) fn looks_like(token: &str) -> bool {
    token.bytes().filter(|byte| *byte == b'.').count() == 2
}
