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
    jwt::{self, Keys, Verifier},
    remembered::Remembered,
    tokens::{Hashed, PREFIX, Table},
    watch::{Fresh, Watch, Watched},
};

/// Tells who calls.
///
/// ```
/// use redress_access::{Access, AccessOptions, NewToken, TokenFile};
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
/// let access = Access::open(options).unwrap();
/// assert_eq!(access.identify(&token).await.unwrap().id(), "ada");
/// // From here on it is known without a second look.
/// assert!(access.known(token.expose().as_bytes()).is_some());
/// # }
/// ```
pub struct Access {
    file: Option<Tokens>,
    given: Table,
    jwt: Option<Verifier>,
    #[cfg(feature = "certificates")]
    certificates: Arc<Certificates>,
    remembered: Arc<Remembered>,
    /// In seconds.
    remember: u64,
    watches: OnceLock<Vec<Watch>>,
}

/// The tokens of a file, as it was when it was seen last.
struct Tokens {
    file: Watched,
    table: ArcSwap<Table>,
}

/// One look at one file.
type Look = fn(&Access) -> Result<(), AccessError>;

/// What the files of an [`Access`] say, read and checked, and not in force yet.
#[derive(Debug)]
#[must_use = "what was read holds once it is taken"]
pub struct Reading {
    tokens: Option<Fresh<Table>>,
    keys: Option<Fresh<Keys>>,
}

impl Access {
    /// Reads what `options` name, and keeps an eye on the files. Keys at a URL are fetched when the first token
    /// needs them, or by [`fetch`](Access::fetch).
    pub fn open(options: AccessOptions) -> Result<Arc<Access>, AccessError> {
        let remembered = Arc::new(Remembered::new(options.cache));
        let given = Table::of_hashes(&options.hashes)?;
        #[cfg(feature = "jwt")]
        let jwt = options.jwt.map(|jwt| Verifier::open(jwt, &remembered)).transpose()?;
        #[cfg(not(feature = "jwt"))]
        let jwt: Option<Verifier> = None;
        #[cfg(feature = "certificates")]
        let certificates = Arc::new(Certificates::new(options.certificates)?);
        let file = options.tokens.map(|path| Tokens { file: Watched::at(path), table: ArcSwap::default() });
        let access = Arc::new(Access {
            file,
            given,
            jwt,
            #[cfg(feature = "certificates")]
            certificates,
            remembered,
            remember: options.remember.as_secs(),
            watches: OnceLock::new(),
        });
        access.refresh_tokens(true)?;
        let looks: [(bool, Look); 2] = [
            (access.file.is_some(), |access| access.refresh_tokens(false)),
            (access.jwt.is_some(), |access| access.refresh_keys(false)),
        ];
        let started = looks.into_iter().filter(|(there, _)| *there).filter_map(|(_, look)| {
            let started = Watch::start(Arc::downgrade(&access), options.poll, look);
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
    pub fn read(&self) -> Result<Reading, AccessError> {
        let tokens = self.file.as_ref().map(|tokens| tokens.file.read(table_in)).transpose()?;
        let keys = self.jwt.as_ref().map(|jwt| jwt.source().read()).transpose()?.flatten();
        Ok(Reading { tokens, keys })
    }

    /// Lets hold what [`read`](Access::read) has read. A file that was read again since keeps what it said then.
    pub fn take(&self, reading: Reading) {
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

    fn replace(&self, tokens: &Tokens, table: Table) {
        tokens.table.store(Arc::new(table));
        self.remembered.forget();
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

impl IdentityProvider for Access {
    fn known(&self, token: &[u8]) -> Option<Arc<Caller>> {
        self.remembered.get(token)
    }

    fn identify<'a>(
        &'a self,
        token: &'a Secret,
    ) -> Pin<Box<dyn Future<Output = Result<Caller, IdentityError>> + Send + 'a>> {
        Box::pin(async move {
            let generation = self.remembered.generation();
            let (caller, until) = self.verify(token.expose()).await?;
            let longest = instant::now().saturating_add(self.remember);
            let until = until.map_or(longest, |until| until.min(longest));
            self.remembered.put(generation, token, until, &caller);
            Ok((*caller).clone())
        })
    }
}

fn table_in(path: &Path) -> Result<Table, AccessError> {
    TokenFile::at(path).list().map(Table::of_file)
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access").finish_non_exhaustive()
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
        let access = Access::open(options).unwrap();
        for token in [&soon, &never, &later] {
            access.identify(token).await.unwrap();
        }
        assert_eq!(access.remembered.until(soon.expose().as_bytes()), Some(instant::seconds(end)));
        for token in [&never, &later] {
            let until = access.remembered.until(token.expose().as_bytes()).unwrap();
            assert!((before + 300..=instant::now() + 300).contains(&until), "{until}");
        }
    }
}
