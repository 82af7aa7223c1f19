//! JSON Web Tokens (RFC 7519), signed ones (RFC 7515) alone.

#[cfg(feature = "jwks-url")]
mod jwks_url;
mod algorithm;
mod claims;
mod keys;
mod unique_object;
#[cfg(feature = "jwks-url")]
mod remote;
mod key_provider;
mod verify;

#[cfg(feature = "jwks-url")]
pub(crate) use jwks_url::JwksUrl;
pub use algorithm::{Algorithm, UnknownAlgorithm};
pub(crate) use keys::VerificationKeys;
pub(crate) use verify::Verifier;

/// Whether a text has the shape of a token: three parts.
pub(crate) fn looks_like(token: &str) -> bool {
    token.bytes().filter(|byte| *byte == b'.').count() == 2
}
