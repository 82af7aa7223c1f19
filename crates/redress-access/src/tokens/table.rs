//! Tokens by their hashes, ready to be looked up.

use std::{collections::HashMap, sync::Arc};

use redress_contract::Caller;
use redress_core::IdentityError;
use subtle::ConstantTimeEq as _;

use super::{
    TokenEntry,
    text::{self, Hash},
};
use crate::{AccessError, TokenHash, instant, names};

/// The tokens of a file, by id, and those that configuration gives.
#[derive(Debug, Default)]
pub(crate) struct TokenTable {
    by_id: HashMap<String, StoredToken>,
    given: Vec<StoredToken>,
}

/// A token that is looked for.
pub(crate) struct Hashed<'a> {
    id: Option<&'a str>,
    hash: Hash,
}

impl Hashed<'_> {
    pub(crate) fn of(token: &str) -> Hashed<'_> {
        Hashed { id: text::id_of(token), hash: text::hash(token) }
    }
}

#[derive(Clone, Debug)]
struct StoredToken {
    hash: Hash,
    /// In seconds since 1970.
    expires: Option<u64>,
    caller: Arc<Caller>,
}

/// Stands in for the hash of an id that is not there. No token is known that has it.
const NOBODY: Hash = [0; 32];

impl TokenTable {
    /// The tokens of a file.
    pub(crate) fn of_file(entries: Vec<TokenEntry>) -> TokenTable {
        let kept = entries.into_iter().filter_map(|entry| {
            let hash = text::from_hex(&entry.hash)?;
            let caller = Arc::new(Caller::new(entry.caller).scopes(entry.scopes));
            Some((entry.id, StoredToken { hash, expires: entry.expires.map(instant::seconds), caller }))
        });
        TokenTable { by_id: kept.collect(), given: Vec::new() }
    }

    /// The tokens that configuration gives.
    pub(crate) fn of_hashes(hashes: &[TokenHash]) -> Result<TokenTable, AccessError> {
        let mut kept: Vec<StoredToken> = Vec::new();
        for given in hashes {
            names::check(&given.caller, &given.scopes)?;
            let malformed = || AccessError::HashMalformed { caller: given.caller.clone() };
            let hash = text::from_hex(&given.sha256).ok_or_else(malformed)?;
            if kept.iter().any(|other| other.hash == hash) {
                return Err(AccessError::HashTwice { caller: given.caller.clone() });
            }
            let caller = Arc::new(Caller::new(given.caller.clone()).scopes(given.scopes.clone()));
            kept.push(StoredToken { hash, expires: given.expires.map(instant::seconds), caller });
        }
        Ok(TokenTable { by_id: HashMap::new(), given: kept })
    }

    /// Whether no token is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_id.is_empty() && self.given.is_empty()
    }

    /// Whom `token` stands for, and until when.
    ///
    /// Whether an id is known shows in nothing but the answer: an unknown one is hashed and compared as well.
    pub(crate) fn find(&self, token: &Hashed<'_>) -> Result<(Arc<Caller>, Option<u64>), IdentityError> {
        let Hashed { id, hash } = token;
        let named = id.and_then(|id| self.by_id.get(id));
        let same: bool = named.map_or(&NOBODY, |kept| &kept.hash).ct_eq(hash).into();
        let mut found = named.filter(|_| same);
        for kept in &self.given {
            if kept.hash.ct_eq(hash).into() {
                found = Some(kept);
            }
        }
        let kept = found.ok_or(IdentityError::Invalid)?;
        match kept.expires {
            Some(expires) if expires <= instant::now() => Err(IdentityError::Expired),
            expires => Ok((Arc::clone(&kept.caller), expires)),
        }
    }
}
