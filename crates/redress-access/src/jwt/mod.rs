//! JSON Web Tokens (RFC 7519), signed ones (RFC 7515) alone.

#[cfg(feature = "jwks-url")]
mod address;
mod algorithm;
mod claims;
mod keys;
mod object;
#[cfg(feature = "jwks-url")]
mod remote;
mod source;
mod verify;

#[cfg(feature = "jwks-url")]
pub(crate) use address::JwksUrl;
pub use algorithm::{Algorithm, UnknownAlgorithm};
pub(crate) use keys::VerificationKeys;
pub(crate) use verify::Verifier;

/// Whether a text has the shape of a token: three parts.
pub(crate) fn looks_like(token: &str) -> bool {
    token.bytes().filter(|byte| *byte == b'.').count() == 2
}
