//! The algorithms that a token may be signed with.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// An algorithm that a token may be signed with. There is no `none`.
///
/// ```
/// use redress_access::Algorithm;
///
/// assert_eq!("ES256".parse(), Ok(Algorithm::Es256));
/// assert!("none".parse::<Algorithm>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Algorithm {
    /// HMAC with SHA-256.
    Hs256,
    /// HMAC with SHA-384.
    Hs384,
    /// HMAC with SHA-512.
    Hs512,
    /// RSA (PKCS#1 1.5) with SHA-256.
    Rs256,
    /// RSA (PKCS#1 1.5) with SHA-384.
    Rs384,
    /// RSA (PKCS#1 1.5) with SHA-512.
    Rs512,
    /// RSA (PSS) with SHA-256.
    Ps256,
    /// RSA (PSS) with SHA-384.
    Ps384,
    /// RSA (PSS) with SHA-512.
    Ps512,
    /// ECDSA on P-256.
    Es256,
    /// ECDSA on P-384.
    Es384,
    /// Ed25519.
    #[serde(rename = "EdDSA")]
    EdDsa,
}

/// The name of an algorithm that is not allowed, or none at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no such algorithm")]
pub struct UnknownAlgorithm;

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Algorithm; 12] = [
        Algorithm::Hs256,
        Algorithm::Hs384,
        Algorithm::Hs512,
        Algorithm::Rs256,
        Algorithm::Rs384,
        Algorithm::Rs512,
        Algorithm::Ps256,
        Algorithm::Ps384,
        Algorithm::Ps512,
        Algorithm::Es256,
        Algorithm::Es384,
        Algorithm::EdDsa,
    ];

    /// What the header of a token calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::Hs256 => "HS256",
            Algorithm::Hs384 => "HS384",
            Algorithm::Hs512 => "HS512",
            Algorithm::Rs256 => "RS256",
            Algorithm::Rs384 => "RS384",
            Algorithm::Rs512 => "RS512",
            Algorithm::Ps256 => "PS256",
            Algorithm::Ps384 => "PS384",
            Algorithm::Ps512 => "PS512",
            Algorithm::Es256 => "ES256",
            Algorithm::Es384 => "ES384",
            Algorithm::EdDsa => "EdDSA",
        }
    }

    /// The fewest bytes of a shared secret (RFC 7518, section 3.2), for an algorithm that has one.
    #[cfg(feature = "jwt")]
    pub(crate) const fn secret_bytes(self) -> Option<usize> {
        match self {
            Algorithm::Hs256 => Some(32),
            Algorithm::Hs384 => Some(48),
            Algorithm::Hs512 => Some(64),
            Algorithm::Rs256
            | Algorithm::Rs384
            | Algorithm::Rs512
            | Algorithm::Ps256
            | Algorithm::Ps384
            | Algorithm::Ps512
            | Algorithm::Es256
            | Algorithm::Es384
            | Algorithm::EdDsa => None,
        }
    }

    #[cfg(feature = "jwt")]
    pub(crate) const fn library(self) -> jsonwebtoken::Algorithm {
        match self {
            Algorithm::Hs256 => jsonwebtoken::Algorithm::HS256,
            Algorithm::Hs384 => jsonwebtoken::Algorithm::HS384,
            Algorithm::Hs512 => jsonwebtoken::Algorithm::HS512,
            Algorithm::Rs256 => jsonwebtoken::Algorithm::RS256,
            Algorithm::Rs384 => jsonwebtoken::Algorithm::RS384,
            Algorithm::Rs512 => jsonwebtoken::Algorithm::RS512,
            Algorithm::Ps256 => jsonwebtoken::Algorithm::PS256,
            Algorithm::Ps384 => jsonwebtoken::Algorithm::PS384,
            Algorithm::Ps512 => jsonwebtoken::Algorithm::PS512,
            Algorithm::Es256 => jsonwebtoken::Algorithm::ES256,
            Algorithm::Es384 => jsonwebtoken::Algorithm::ES384,
            Algorithm::EdDsa => jsonwebtoken::Algorithm::EdDSA,
        }
    }
}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(name: &str) -> Result<Algorithm, UnknownAlgorithm> {
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name).ok_or(UnknownAlgorithm)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
