//! JSON Web Tokens (RFC 7519), signed ones (RFC 7515) alone.

#[cfg(not(feature = "jwt"))]
mod absent;
mod algorithm;
#[cfg(feature = "jwt")]
mod claims;
#[cfg(feature = "jwks-url")]
mod jwks_url;
#[cfg(feature = "jwt")]
mod key_provider;
#[cfg(feature = "jwt")]
mod keys;
#[cfg(feature = "jwks-url")]
mod remote;
#[cfg(feature = "jwt")]
mod unique_object;
#[cfg(feature = "jwt")]
mod verify;

#[cfg(not(feature = "jwt"))]
pub(crate) use absent::{VerificationKeys, Verifier};
pub use algorithm::{Algorithm, UnknownAlgorithm};
#[cfg(feature = "jwks-url")]
pub(crate) use jwks_url::JwksUrl;
#[cfg(feature = "jwt")]
pub(crate) use keys::VerificationKeys;
#[cfg(feature = "jwt")]
pub(crate) use verify::Verifier;

/// Whether a text has the shape of a token: three parts.
pub(crate) fn looks_like(token: &str) -> bool {
    token.bytes().filter(|byte| *byte == b'.').count() == 2
}
