//! JSON Web Tokens (RFC 7519), signed ones (RFC 7515) alone.

#[cfg(not(feature = "jwt"))]
mod absent;
#[cfg(feature = "jwks-url")]
mod address;
mod algorithm;
#[cfg(feature = "jwt")]
mod claims;
#[cfg(feature = "jwt")]
mod keys;
#[cfg(feature = "jwt")]
mod object;
#[cfg(feature = "jwks-url")]
mod remote;
#[cfg(feature = "jwt")]
mod source;
#[cfg(feature = "jwt")]
mod verify;

#[cfg(not(feature = "jwt"))]
pub(crate) use absent::{Keys, Verifier};
#[cfg(feature = "jwks-url")]
pub(crate) use address::Address;
pub use algorithm::{Algorithm, UnknownAlgorithm};
#[cfg(feature = "jwt")]
pub(crate) use keys::Keys;
#[cfg(feature = "jwt")]
pub(crate) use verify::Verifier;

/// Whether a text has the shape of a token: three parts.
pub(crate) fn looks_like(token: &str) -> bool {
    token.bytes().filter(|byte| *byte == b'.').count() == 2
}
