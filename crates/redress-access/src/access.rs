//! The identity provider: every kind of token under one roof.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use arc_swap::ArcSwap;
use redress_contract::Caller;
use redress_core::{IdentityError, IdentityProvider, Secret};

use crate::{
    AccessError, AccessOptions, Certificates, TokenFile, instant,
    jwt::{self, Verifier},
    remembered::Remembered,
    tokens::{PREFIX, Table},
    watch::{Stamp, Watch, Watching},
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
/// assert!(access.known(&token).is_some());
/// # }
/// ```
pub struct Access {
    file: Option<Tokens>,
    given: Table,
    jwt: Option<Verifier>,
    certificates: Arc<Certificates>,
    remembered: Arc<Remembered>,
    /// In seconds.
    remember: u64,
    watch: OnceLock<Watch>,
}

/// The tokens of a file, as it was when it was seen last.
struct Tokens {
    file: TokenFile,
    table: ArcSwap<Table>,
    stamp: Mutex<Option<Stamp>>,
}

impl Access {
    /// Reads what `options` name, and keeps an eye on the files. Keys at a URL are fetched when the first token
    /// needs them, or by [`fetch`](Access::fetch).
    pub fn open(options: AccessOptions) -> Result<Arc<Access>, AccessError> {
        let remembered = Arc::new(Remembered::new(options.cache));
        let given = Table::of_hashes(&options.hashes)?;
        let jwt = options.jwt.map(|jwt| Verifier::open(jwt, &remembered)).transpose()?;
        let certificates = Arc::new(Certificates::new(options.certificates)?);
        let file = options.tokens.map(|path| Tokens {
            file: TokenFile::at(path),
            table: ArcSwap::default(),
            stamp: Mutex::new(None),
        });
        let watched = file.is_some() || jwt.is_some();
        let access = Arc::new(Access {
            file,
            given,
            jwt,
            certificates,
            remembered,
            remember: options.remember.as_secs(),
            watch: OnceLock::new(),
        });
        access.reload()?;
        if watched {
            match Watch::start(Arc::downgrade(&access), options.poll) {
                Ok(watch) => drop(access.watch.set(watch)),
                Err(error) => tracing::warn!(%error, "files of tokens and keys are read again only when told to"),
            }
        }
        Ok(access)
    }

    /// Reads every file again. What is wrong with one leaves what it said before in force.
    pub fn reload(&self) -> Result<(), AccessError> {
        let tokens = self.read_tokens(true);
        let keys = self.jwt.as_ref().map_or(Ok(()), |jwt| jwt.source().read(true));
        tokens.and(keys)
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
    pub fn certificates(&self) -> &Arc<Certificates> {
        &self.certificates
    }

    fn read_tokens(&self, in_any_case: bool) -> Result<(), AccessError> {
        let Some(tokens) = &self.file else { return Ok(()) };
        let path = tokens.file.path();
        let mut seen = tokens.stamp.lock().unwrap_or_else(PoisonError::into_inner);
        // Taken before the file is read: a change in between is seen the next time.
        let now = Stamp::of(path).map_err(|source| AccessError::Read { path: path.to_owned(), source })?;
        if !in_any_case && *seen == now {
            return Ok(());
        }
        *seen = now;
        let entries = tokens.file.list()?;
        tokens.table.store(Arc::new(Table::of_file(entries)));
        self.remembered.forget();
        Ok(())
    }

    async fn verify(&self, token: &str) -> Result<(Arc<Caller>, Option<u64>), IdentityError> {
        if token.starts_with(PREFIX)
            && let Some(tokens) = &self.file
        {
            match tokens.table.load().find(token) {
                Err(IdentityError::Invalid) => {}
                told => return told,
            }
        }
        match &self.jwt {
            Some(jwt) if jwt::looks_like(token) => match self.given.find(token) {
                Err(IdentityError::Invalid) => jwt.verify(token).await.map(|(caller, until)| (caller, Some(until))),
                told => told,
            },
            _ => self.given.find(token),
        }
    }
}

impl IdentityProvider for Access {
    fn known(&self, token: &Secret) -> Option<Arc<Caller>> {
        self.remembered.get(token.expose())
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

impl Watching for Access {
    fn look(&self) {
        let keys = self.jwt.as_ref().map_or(Ok(()), |jwt| jwt.source().read(false));
        for result in [self.read_tokens(false), keys] {
            if let Err(error) = result {
                let source = std::error::Error::source(&error).map(ToString::to_string);
                tracing::error!(%error, source, "what was read before stays in force");
            }
        }
    }
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access").field("certificates", &self.certificates).finish_non_exhaustive()
    }
}
