//! Keys, and which algorithms each of them verifies.
//!
//! A key says by its own kind what it can verify; the header of a token only chooses among that. A public key is
//! therefore never taken for a shared secret, whatever a token claims.

use std::path::Path;

use jsonwebtoken::{
    DecodingKey,
    crypto::aws_lc,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse},
};
use serde::Deserialize;
use serde_json::Value;
use zeroize::Zeroizing;

use super::Algorithm;
use crate::AccessError;

const RSA: &[Algorithm] =
    &[Algorithm::Rs256, Algorithm::Rs384, Algorithm::Rs512, Algorithm::Ps256, Algorithm::Ps384, Algorithm::Ps512];
const P256: &[Algorithm] = &[Algorithm::Es256];
const P384: &[Algorithm] = &[Algorithm::Es384];
const ED25519: &[Algorithm] = &[Algorithm::EdDsa];

/// The most keys that are tried for one token: those that it names, and then those that could be it.
const TRIES: usize = 16;

/// The most keys of a set. An issuer has a handful; each one is looked at for each token that names none.
const MAX: usize = 1_000;

/// The keys that may have signed a token.
#[derive(Debug, Default)]
pub(crate) struct VerificationKeys(Vec<VerificationKey>);

#[derive(Debug)]
struct VerificationKey {
    id: Option<String>,
    algorithms: Vec<Algorithm>,
    key: DecodingKey,
}

/// Whether a signature is that of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signed {
    Yes,
    No,
    /// It is of none of these keys, and none is the one that the token names; a newer set may have it.
    Unknown,
}

/// Whether keys are read from a place that everybody can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyVisibility {
    Private,
    #[cfg(feature = "jwks-url")]
    Public,
}

impl VerificationKeys {
    /// The keys of a set (RFC 7517). A key of a kind that is not known does not spoil the others.
    pub(crate) fn of_set(bytes: &[u8], origin: &str, place: KeyVisibility) -> Result<VerificationKeys, AccessError> {
        #[derive(Deserialize)]
        struct JwkSet {
            keys: Vec<Value>,
        }
        let Ok(set) = serde_json::from_slice::<JwkSet>(bytes) else {
            return Err(AccessError::KeysMalformed { origin: origin.to_owned() });
        };
        if set.keys.len() > MAX {
            return Err(AccessError::KeysMany { origin: origin.to_owned(), max: MAX });
        }
        let keys =
            set.keys.into_iter().filter_map(|key| VerificationKey::of_jwk(&serde_json::from_value(key).ok()?, place));
        VerificationKeys(keys.collect()).some(origin)
    }

    /// The public keys of a PEM file.
    pub(crate) fn of_pem(bytes: &[u8], path: &Path) -> Result<VerificationKeys, AccessError> {
        const END: &str = "-----END ";
        let origin = path.display().to_string();
        let malformed = || AccessError::KeysMissing { origin: origin.clone() };
        let text = str::from_utf8(bytes).map_err(|_| malformed())?;
        if text.contains("PRIVATE KEY-----") {
            return Err(AccessError::KeyPrivate { path: path.to_owned() });
        }
        let mut keys = Vec::new();
        let mut rest = text;
        while let Some(end) = rest.find(END) {
            let line = rest[end..].find('\n').map_or(rest.len(), |line| end + line + 1);
            keys.push(VerificationKey::of_pem(&rest.as_bytes()[..line]).ok_or_else(malformed)?);
            rest = &rest[line..];
        }
        VerificationKeys(keys).some(&origin)
    }

    /// A shared secret.
    pub(crate) fn of_secret(bytes: Vec<u8>, path: &Path) -> Result<VerificationKeys, AccessError> {
        let mut bytes = Zeroizing::new(bytes);
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
            if bytes.last() == Some(&b'\r') {
                bytes.pop();
            }
        }
        if bytes.windows(10).any(|window| window == b"-----BEGIN") {
            return Err(AccessError::SecretPublic { path: path.to_owned() });
        }
        let algorithms = hmac(bytes.len());
        if algorithms.is_empty() {
            return Err(AccessError::SecretShort { path: path.to_owned(), needed: 32 });
        }
        Ok(VerificationKeys(vec![VerificationKey { id: None, algorithms, key: DecodingKey::from_secret(&bytes) }]))
    }

    /// The same keys for `allowed` algorithms alone, each of which must have one; all, if none is named.
    pub(crate) fn only(mut self, allowed: &[Algorithm], origin: &str) -> Result<VerificationKeys, AccessError> {
        if allowed.is_empty() {
            return Ok(self);
        }
        for key in &mut self.0 {
            key.algorithms.retain(|algorithm| allowed.contains(algorithm));
        }
        let lonely = allowed.iter().find(|algorithm| !self.0.iter().any(|key| key.algorithms.contains(algorithm)));
        match lonely {
            Some(&algorithm) => Err(AccessError::AlgorithmWithoutKey { origin: origin.to_owned(), algorithm }),
            None => Ok(self),
        }
    }

    /// The same keys for `allowed` algorithms alone; all, if none is named.
    #[cfg(feature = "jwks-url")]
    pub(crate) fn within(mut self, allowed: &[Algorithm]) -> VerificationKeys {
        if !allowed.is_empty() {
            self.0.iter_mut().for_each(|key| key.algorithms.retain(|algorithm| allowed.contains(algorithm)));
        }
        self
    }

    /// Whether one of the keys signed `message`.
    pub(crate) fn signed(&self, algorithm: Algorithm, id: Option<&str>, message: &[u8], signature: &Vec<u8>) -> Signed {
        let suited = || self.0.iter().filter(|key| key.algorithms.contains(&algorithm));
        let named = || suited().filter(|key| id.is_some() && key.id.as_deref() == id);
        // A key without an id may be the one that the token names; its signature tells.
        let others = suited().filter(|key| id.is_none() || key.id.is_none());
        let signed = named().chain(others).take(TRIES).any(|key| {
            let verifier = (aws_lc::DEFAULT_PROVIDER.verifier_factory)(&algorithm.library(), &key.key);
            verifier.is_ok_and(|verifier| verifier.verify(message, signature).is_ok())
        });
        match signed {
            true => Signed::Yes,
            false if named().next().is_some() => Signed::No,
            false => Signed::Unknown,
        }
    }

    fn some(self, origin: &str) -> Result<VerificationKeys, AccessError> {
        if self.0.is_empty() { Err(AccessError::KeysMissing { origin: origin.to_owned() }) } else { Ok(self) }
    }
}

impl VerificationKey {
    fn of_jwk(jwk: &Jwk, place: KeyVisibility) -> Option<VerificationKey> {
        let common = &jwk.common;
        if common.public_key_use.as_ref().is_some_and(|what| *what != PublicKeyUse::Signature) {
            return None;
        }
        if common.key_operations.as_ref().is_some_and(|what| !what.contains(&KeyOperations::Verify)) {
            return None;
        }
        let key = DecodingKey::from_jwk(jwk).ok()?;
        let mut algorithms = match &jwk.algorithm {
            AlgorithmParameters::RSA(_) => RSA.to_vec(),
            AlgorithmParameters::EllipticCurve(parameters) => on_curve(&parameters.curve)?.to_vec(),
            AlgorithmParameters::OctetKeyPair(parameters) if parameters.curve == EllipticCurve::Ed25519 => {
                ED25519.to_vec()
            }
            // A shared secret that everybody can read is none.
            AlgorithmParameters::OctetKey(_) if place == KeyVisibility::Private => {
                hmac(key.try_get_as_bytes().ok()?.len())
            }
            AlgorithmParameters::OctetKey(_)
            | AlgorithmParameters::OctetKeyPair(_)
            | AlgorithmParameters::Other(_)
            | _ => return None,
        };
        if let Some(only) = common.key_algorithm {
            let only = only.to_string();
            algorithms.retain(|algorithm| algorithm.name() == only);
        }
        (!algorithms.is_empty()).then(|| VerificationKey { id: common.key_id.clone(), algorithms, key })
    }

    fn of_pem(bytes: &[u8]) -> Option<VerificationKey> {
        // The order does not matter: each reader takes its own kind alone.
        let (key, algorithms) = if let Ok(key) = DecodingKey::from_rsa_pem(bytes) {
            (key, RSA)
        } else if let Ok(key) = DecodingKey::from_ed_pem(bytes) {
            (key, ED25519)
        } else {
            let key = DecodingKey::from_ec_pem(bytes).ok()?;
            // An uncompressed point is one byte and two coordinates.
            let algorithms = match key.try_get_as_bytes().ok()?.len() {
                65 => P256,
                97 => P384,
                _ => return None,
            };
            (key, algorithms)
        };
        Some(VerificationKey { id: None, algorithms: algorithms.to_vec(), key })
    }
}

fn on_curve(curve: &EllipticCurve) -> Option<&'static [Algorithm]> {
    match curve {
        EllipticCurve::P256 => Some(P256),
        EllipticCurve::P384 => Some(P384),
        EllipticCurve::P521 | EllipticCurve::Ed25519 | _ => None,
    }
}

/// The algorithms for which a secret of so many bytes is long enough.
fn hmac(bytes: usize) -> Vec<Algorithm> {
    let enough = |algorithm: &Algorithm| algorithm.secret_bytes().is_some_and(|needed| bytes >= needed);
    Algorithm::ALL.into_iter().filter(enough).collect()
}
