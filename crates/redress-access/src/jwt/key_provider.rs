//! Where keys come from, and the newest that came.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use arc_swap::ArcSwap;

use super::keys::{KeyVisibility, VerificationKeys};
use crate::{
    AccessError, Algorithm, JwtOptions, KeySource,
    token_cache::TokenCache,
    watch::{Fresh, WatchedFile},
};

/// The most bytes of a file of keys.
const MAX_SIZE: u64 = 1 << 20;

/// The keys in use, and the place where newer ones may be.
#[derive(Debug)]
pub(crate) struct KeyProvider {
    keys: ArcSwap<VerificationKeys>,
    algorithms: Vec<Algorithm>,
    origin: KeyOrigin,
    token_cache: Arc<TokenCache>,
}

/// How old keys are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Age {
    Fresh,
    /// Newer ones are due, and these serve until they are there.
    #[cfg(feature = "jwks-url")]
    Old,
    /// Nobody has asked for newer ones for so long that one of these may have been withdrawn. They serve only while
    /// newer ones cannot be had.
    #[cfg(feature = "jwks-url")]
    Stale,
}

/// Where keys are.
#[derive(Debug)]
enum KeyOrigin {
    File {
        file: WatchedFile,
        read: fn(Vec<u8>, &Path) -> Result<VerificationKeys, AccessError>,
    },
    #[cfg(feature = "jwks-url")]
    Url(Arc<super::remote::Remote>),
}

impl KeyOrigin {
    fn of(options: &JwtOptions) -> Result<KeyOrigin, AccessError> {
        let file = |path: &PathBuf, read| KeyOrigin::File { file: WatchedFile::at(path.clone()), read };
        Ok(match &options.keys {
            KeySource::JwksFile(path) => file(path, |bytes, path| {
                VerificationKeys::of_set(&bytes, &path.display().to_string(), KeyVisibility::Private)
            }),
            KeySource::SecretFile(path) => file(path, VerificationKeys::of_secret),
            KeySource::KeyFile(path) => file(path, |bytes, path| VerificationKeys::of_pem(&bytes, path)),
            #[cfg(feature = "jwks-url")]
            KeySource::JwksUrl(url) => KeyOrigin::Url(Arc::new(super::remote::Remote::new(url, options)?)),
        })
    }
}

impl KeyProvider {
    pub(crate) fn open(options: &JwtOptions, token_cache: &Arc<TokenCache>) -> Result<KeyProvider, AccessError> {
        let source = KeyProvider {
            keys: ArcSwap::default(),
            algorithms: options.algorithms.clone(),
            origin: KeyOrigin::of(options)?,
            token_cache: Arc::clone(token_cache),
        };
        source.refresh(true)?;
        Ok(source)
    }

    /// The keys in use.
    pub(crate) fn keys(&self) -> Arc<VerificationKeys> {
        self.keys.load_full()
    }

    /// Reads the file again, in any case or if it has changed. What is wrong with it leaves the keys as they are.
    pub(crate) fn refresh(&self, in_any_case: bool) -> Result<(), AccessError> {
        match &self.origin {
            KeyOrigin::File { file, read } => {
                file.refresh(in_any_case, |path| self.keys_in(path, *read), |keys| self.replace(keys))
            }
            #[cfg(feature = "jwks-url")]
            KeyOrigin::Url(_) => Ok(()),
        }
    }

    /// Reads the file, if the keys come from one, and leaves the keys as they are.
    pub(crate) fn read(&self) -> Result<Option<Fresh<VerificationKeys>>, AccessError> {
        match &self.origin {
            KeyOrigin::File { file, read } => file.read(|path| self.keys_in(path, *read)).map(Some),
            #[cfg(feature = "jwks-url")]
            KeyOrigin::Url(_) => Ok(None),
        }
    }

    /// Takes over what [`read`](KeyProvider::read) has read.
    pub(crate) fn take(&self, fresh: Fresh<VerificationKeys>) {
        match &self.origin {
            KeyOrigin::File { file, .. } => file.take(fresh, |keys| self.replace(keys)),
            #[cfg(feature = "jwks-url")]
            KeyOrigin::Url(_) => {}
        }
    }

    fn keys_in(
        &self,
        path: &Path,
        read: fn(Vec<u8>, &Path) -> Result<VerificationKeys, AccessError>,
    ) -> Result<VerificationKeys, AccessError> {
        let bytes =
            redress_disk::read(path, MAX_SIZE).map_err(|source| AccessError::Read { path: path.to_owned(), source })?;
        read(bytes, path)?.only(&self.algorithms, &path.display().to_string())
    }

    /// Newer keys, if there is a place that may have some and it may be asked now. Nothing is there to wait for
    /// where keys come from a file.
    pub(crate) async fn newer(self: &Arc<Self>) -> bool {
        match &self.origin {
            KeyOrigin::File { .. } => false,
            #[cfg(feature = "jwks-url")]
            KeyOrigin::Url(remote) => remote.fetch_if_due(self).await,
        }
    }

    /// Why the newest keys are not there, where the last fetch has failed. Those of a file are as new as they can be.
    pub(crate) fn trouble(&self) -> Option<String> {
        match &self.origin {
            KeyOrigin::File { .. } => None,
            #[cfg(feature = "jwks-url")]
            KeyOrigin::Url(remote) => remote.trouble(),
        }
    }

    /// Fetches the keys now, if they come from a URL.
    pub(crate) async fn fetch(self: &Arc<Self>) -> Result<(), AccessError> {
        match &self.origin {
            KeyOrigin::File { .. } => Ok(()),
            #[cfg(feature = "jwks-url")]
            KeyOrigin::Url(remote) => remote.fetch_now(self).await,
        }
    }

    /// How old the keys are.
    pub(crate) fn age(&self) -> Age {
        match &self.origin {
            KeyOrigin::File { .. } => Age::Fresh,
            #[cfg(feature = "jwks-url")]
            KeyOrigin::Url(remote) => remote.age(),
        }
    }

    /// Takes over what was fetched.
    #[cfg(feature = "jwks-url")]
    pub(crate) fn take_set(&self, bytes: &[u8], url: &str) -> Result<(), AccessError> {
        // A set that lacks a key for an allowed algorithm may get it with the next rotation, so that is no mistake
        // here; which algorithms are allowed is.
        let keys = VerificationKeys::of_set(bytes, url, KeyVisibility::Public)?;
        self.replace(keys.within(&self.algorithms));
        Ok(())
    }

    fn replace(&self, keys: VerificationKeys) {
        self.keys.store(Arc::new(keys));
        self.token_cache.forget();
    }
}
