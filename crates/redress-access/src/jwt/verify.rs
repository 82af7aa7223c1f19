//! The verification of one token.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use redress_contract::Caller;
use redress_core::IdentityError;
use serde_json::Value;

use super::{
    Algorithm, claims,
    key_provider::{Age, KeyProvider},
    keys::Signed,
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
        let mut signed = self.signed(&parts);
        if signed == Signed::Unknown && self.source.newer().await {
            signed = self.signed(&parts);
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

    fn signed(&self, parts: &TokenParts<'_>) -> Signed {
        self.source.keys().signed(parts.algorithm, parts.key.as_deref(), parts.message, &parts.signature)
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
