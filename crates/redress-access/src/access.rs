//! The identity provider: every kind of token under one roof.

use std::{
    path::Path,
    pin::Pin,
    sync::{Arc, OnceLock},
};

use arc_swap::ArcSwap;
use redress_contract::Caller;
use redress_core::{IdentityError, IdentityProvider, Secret};

#[cfg(feature = "certificates")]
use crate::Certificates;
use crate::{
    AccessError, AccessOptions, TokenFile, instant,
    jwt::{self, VerificationKeys, Verifier},
    token_cache::TokenCache,
    tokens::{Hashed, PREFIX, TokenTable},
    watch::{Fresh, WatchHandle, WatchedFile},
};

/// Tells who calls.
///
/// ```
/// use redress_access::{Authenticator, AccessOptions, NewToken, TokenFile};
/// use redress_core::{IdentityProvider as _, Registry};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("tokens.json");
/// let (token, _) = TokenFile::at(&path).create(NewToken::new("ada").scopes(["files:read"])).unwrap();
///
/// let mut options = AccessOptions::default();
/// options.tokens = Some(path);
/// let access = Authenticator::open(options).unwrap();
/// assert_eq!(access.identify(&token).await.unwrap().id(), "ada");
/// // From here on it is known without a second look.
/// assert!(access.known(token.expose().as_bytes()).is_some());
/// # }
/// ```
pub struct Authenticator {
    file: Option<TokenSnapshot>,
    given: TokenTable,
    jwt: Option<Verifier>,
    #[cfg(feature = "certificates")]
    certificates: Arc<Certificates>,
    token_cache: Arc<TokenCache>,
    /// In seconds.
    remember: u64,
    watches: OnceLock<Vec<WatchHandle>>,
}

/// The tokens of a file, as it was when it was seen last.
struct TokenSnapshot {
    file: WatchedFile,
    table: ArcSwap<TokenTable>,
}

/// One look at one file.
type FileCheck = fn(&Authenticator) -> Result<(), AccessError>;

/// What the files of an [`Authenticator`] say, read and checked, and not in force yet.
#[derive(Debug)]
#[must_use = "what was read holds once it is taken"]
pub struct CheckedFiles {
    tokens: Option<Fresh<TokenTable>>,
    keys: Option<Fresh<VerificationKeys>>,
}

impl Authenticator {
    /// Reads what `options` name, and keeps an eye on the files. Keys at a URL are fetched when the first token
    /// needs them, or by [`fetch`](Authenticator::fetch).
    pub fn open(options: AccessOptions) -> Result<Arc<Authenticator>, AccessError> {
        let token_cache = Arc::new(TokenCache::new(options.cache));
        let given = TokenTable::of_hashes(&options.hashes)?;
        #[cfg(feature = "jwt")]
        let jwt = options.jwt.map(|jwt| Verifier::open(jwt, &token_cache)).transpose()?;
        #[cfg(not(feature = "jwt"))]
        let jwt: Option<Verifier> = None;
        #[cfg(feature = "certificates")]
        let certificates = Arc::new(Certificates::new(options.certificates)?);
        let file = options.tokens.map(|path| TokenSnapshot { file: WatchedFile::at(path), table: ArcSwap::default() });
        let access = Arc::new(Authenticator {
            file,
            given,
            jwt,
            #[cfg(feature = "certificates")]
            certificates,
            token_cache,
            remember: options.remember.as_secs(),
            watches: OnceLock::new(),
        });
        access.refresh_tokens(true)?;
        let looks: [(bool, FileCheck); 2] = [
            (access.file.is_some(), |access| access.refresh_tokens(false)),
            (access.jwt.is_some(), |access| access.refresh_keys(false)),
        ];
        let started = looks.into_iter().filter(|(there, _)| *there).filter_map(|(_, look)| {
            let started = WatchHandle::start(Arc::downgrade(&access), options.poll, look);
            started
                .inspect_err(|error| tracing::warn!(%error, "a file of tokens or keys is read again only when told to"))
                .ok()
        });
        let _ = access.watches.set(started.collect());
        Ok(access)
    }

    /// Reads every file again. What is wrong with one leaves what it said before in force.
    pub fn reload(&self) -> Result<(), AccessError> {
        let tokens = self.refresh_tokens(true);
        let keys = self.refresh_keys(true);
        tokens.and(keys)
    }

    /// Reads every file again and changes nothing yet, for whoever takes all of a new configuration or none of it.
    pub fn read(&self) -> Result<CheckedFiles, AccessError> {
        let tokens = self.file.as_ref().map(|tokens| tokens.file.read(table_in)).transpose()?;
        let keys = self.jwt.as_ref().map(|jwt| jwt.source().read()).transpose()?.flatten();
        Ok(CheckedFiles { tokens, keys })
    }

    /// Lets hold what [`read`](Authenticator::read) has read. A file that was read again since keeps what it said then.
    pub fn take(&self, reading: CheckedFiles) {
        if let (Some(tokens), Some(fresh)) = (&self.file, reading.tokens) {
            tokens.file.take(fresh, |table| self.replace(tokens, table));
        }
        if let (Some(jwt), Some(fresh)) = (&self.jwt, reading.keys) {
            jwt.source().take(fresh);
        }
    }

    /// Fetches keys that are at a URL. A service starts without them as well, and fetches them with the first
    /// token; this tells at once whether they are to be had.
    pub async fn fetch(&self) -> Result<(), AccessError> {
        match &self.jwt {
            Some(jwt) => jwt.source().fetch().await,
            None => Ok(()),
        }
    }

    /// Who calls with which client certificate.
    #[cfg(feature = "certificates")]
    pub fn certificates(&self) -> &Arc<Certificates> {
        &self.certificates
    }

    fn refresh_tokens(&self, in_any_case: bool) -> Result<(), AccessError> {
        let Some(tokens) = &self.file else { return Ok(()) };
        tokens.file.refresh(in_any_case, table_in, |table| self.replace(tokens, table))
    }

    fn refresh_keys(&self, in_any_case: bool) -> Result<(), AccessError> {
        self.jwt.as_ref().map_or(Ok(()), |jwt| jwt.source().refresh(in_any_case))
    }

    fn replace(&self, tokens: &TokenSnapshot, table: TokenTable) {
        tokens.table.store(Arc::new(table));
        self.token_cache.forget();
    }

    async fn verify(&self, token: &str) -> Result<(Arc<Caller>, Option<u64>), IdentityError> {
        match self.find(token) {
            Err(IdentityError::Invalid) => {}
            told => return told,
        }
        match &self.jwt {
            Some(jwt) if jwt::looks_like(token) => jwt.verify(token).await.map(|(caller, until)| (caller, Some(until))),
            _ => Err(IdentityError::Invalid),
        }
    }

    /// Whom a token stands for that is known by its hash, which is made once and only where there is one to compare.
    fn find(&self, token: &str) -> Result<(Arc<Caller>, Option<u64>), IdentityError> {
        let file = self.file.as_ref().filter(|_| token.starts_with(PREFIX)).map(|tokens| tokens.table.load());
        if file.is_none() && self.given.is_empty() {
            return Err(IdentityError::Invalid);
        }
        let hashed = Hashed::of(token);
        match file.map(|table| table.find(&hashed)) {
            None | Some(Err(IdentityError::Invalid)) => self.given.find(&hashed),
            Some(told) => told,
        }
    }
}

impl IdentityProvider for Authenticator {
    fn known(&self, token: &[u8]) -> Option<Arc<Caller>> {
        self.token_cache.get(token)
    }

    fn identify<'a>(
        &'a self,
        token: &'a Secret,
    ) -> Pin<Box<dyn Future<Output = Result<Caller, IdentityError>> + Send + 'a>> {
        Box::pin(async move {
            let generation = self.token_cache.generation();
            let (caller, until) = self.verify(token.expose()).await?;
            let longest = instant::now().saturating_add(self.remember);
            let until = until.map_or(longest, |until| until.min(longest));
            self.token_cache.put(generation, token, until, &caller);
            Ok((*caller).clone())
        })
    }
}

fn table_in(path: &Path) -> Result<TokenTable, AccessError> {
    TokenFile::at(path).list().map(TokenTable::of_file)
}

impl std::fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authenticator").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::NewToken;

    #[tokio::test]
    async fn a_token_is_remembered_until_it_ends_and_for_no_longer_than_is_set() {
        let (end, long) = (SystemTime::now() + Duration::from_secs(60), Duration::from_secs(100_000));
        let mut options = AccessOptions::default();
        let mut drawn = |new: NewToken| {
            let (token, hash) = new.draw().unwrap();
            options.hashes.push(hash);
            token
        };
        let (soon, never) = (drawn(NewToken::new("ada").expires(end)), drawn(NewToken::new("bob")));
        let (later, before) = (drawn(NewToken::new("eve").expires(end + long)), instant::now());
        let access = Authenticator::open(options).unwrap();
        for token in [&soon, &never, &later] {
            access.identify(token).await.unwrap();
        }
        assert_eq!(access.token_cache.until(soon.expose().as_bytes()), Some(instant::seconds(end)));
        for token in [&never, &later] {
            let until = access.token_cache.until(token.expose().as_bytes()).unwrap();
            assert!((before + 300..=instant::now() + 300).contains(&until), "{until}");
        }
    }
}
