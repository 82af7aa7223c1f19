//! The verification of one token.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use redress_contract::Caller;
use redress_core::{IdentityError, offload::offload};
use serde_json::Value;

use super::{
    Algorithm, claims,
    key_provider::{Age, KeyProvider},
    keys::{Signed, VerificationKeys},
    unique_object::object,
};
use crate::{AccessError, JwtOptions, instant, token_cache::TokenCache};

/// Verifies tokens.
#[derive(Debug)]
pub(crate) struct Verifier {
    options: JwtOptions,
    source: Arc<KeyProvider>,
}

/// A token in its parts, of which nothing is believed yet. Where a key is to be had, which a header may say too
/// (`jku`, `jwk`, `x5u`), is none of its business.
struct TokenParts<'a> {
    algorithm: Algorithm,
    key: Option<String>,
    message: &'a [u8],
    payload: &'a str,
    signature: Vec<u8>,
}

impl Verifier {
    pub(crate) fn open(options: JwtOptions, token_cache: &Arc<TokenCache>) -> Result<Verifier, AccessError> {
        let source = Arc::new(KeyProvider::open(&options, token_cache)?);
        Ok(Verifier { options, source })
    }

    /// The place of the keys.
    pub(crate) fn source(&self) -> &Arc<KeyProvider> {
        &self.source
    }

    /// Whom `token` stands for, and until when.
    pub(crate) async fn verify(&self, token: &str) -> Result<(Arc<Caller>, u64), IdentityError> {
        if token.len() > self.options.max_bytes {
            return Err(IdentityError::Invalid);
        }
        let parts = TokenParts::of(token).ok_or(IdentityError::Invalid)?;
        self.freshen().await;
        let keys = self.source.keys();
        let mut signed = signed(&keys, &parts).await;
        // Others may have had newer keys fetched meanwhile.
        if signed == Signed::Unknown && (self.source.newer().await || !Arc::ptr_eq(&keys, &self.source.keys())) {
            signed = self::signed(&self.source.keys(), &parts).await;
        }
        match signed {
            Signed::Yes => {}
            // The key may be one of those that could not be fetched.
            Signed::Unknown => {
                return Err(self.source.trouble().map_or(IdentityError::Invalid, IdentityError::unavailable));
            }
            Signed::No => return Err(IdentityError::Invalid),
        }
        let claims = object(parts.payload).ok_or(IdentityError::Invalid)?;
        claims::judge(&claims, &self.options, instant::now())
    }

    /// Has keys fetched again that are no longer fresh, and waits for that only where they are stale.
    async fn freshen(&self) {
        match self.source.age() {
            Age::Fresh => {}
            #[cfg(feature = "jwks-url")]
            Age::Old => {
                let source = Arc::clone(&self.source);
                tokio::spawn(async move { source.newer().await });
            }
            #[cfg(feature = "jwks-url")]
            Age::Stale => {
                self.source.newer().await;
            }
        }
    }
}

/// Whether one of the keys made the signature. Anybody may ask, as often as they like and with what they made up, and a signature
/// takes up to two milliseconds for each key that may have made it: so that is done off the async workers.
async fn signed(keys: &Arc<VerificationKeys>, parts: &TokenParts<'_>) -> Signed {
    let algorithm = parts.algorithm;
    if algorithm.secret_bytes().is_some() {
        return keys.signed(algorithm, parts.key.as_deref(), parts.message, &parts.signature);
    }
    let keys = Arc::clone(keys);
    let (key, message, signature) = (parts.key.clone(), parts.message.to_vec(), parts.signature.clone());
    offload(move || keys.signed(algorithm, key.as_deref(), &message, &signature)).await
}

impl<'a> TokenParts<'a> {
    fn of(token: &'a str) -> Option<TokenParts<'a>> {
        let (message, signature) = token.rsplit_once('.')?;
        let (header, payload) = message.split_once('.')?;
        let header = object(header)?;
        // What the reader must understand or refuse the token (RFC 7515, section 4.1.11). There is nothing that we do.
        if header.get("crit").is_some_and(|critical| !critical.is_null()) {
            return None;
        }
        let key = match header.get("kid") {
            None | Some(Value::Null) => None,
            Some(key) => Some(key.as_str()?.to_owned()),
        };
        Some(TokenParts {
            algorithm: header.get("alg")?.as_str()?.parse().ok()?,
            key,
            message: message.as_bytes(),
            payload,
            signature: URL_SAFE_NO_PAD.decode(signature).ok()?,
        })
    }
}
