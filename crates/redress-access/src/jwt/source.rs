//! Where keys come from, and the newest that came.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use arc_swap::ArcSwap;

use super::keys::{Keys, Place};
use crate::{
    AccessError, Algorithm, JwtOptions, KeySource,
    remembered::Remembered,
    watch::{Fresh, Watched},
};

/// The most bytes of a file of keys.
const LARGEST: u64 = 1 << 20;

/// The keys in use, and the place where newer ones may be.
#[derive(Debug)]
pub(crate) struct Source {
    keys: ArcSwap<Keys>,
    algorithms: Vec<Algorithm>,
    origin: Origin,
    remembered: Arc<Remembered>,
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
enum Origin {
    File {
        file: Watched,
        read: fn(Vec<u8>, &Path) -> Result<Keys, AccessError>,
    },
    #[cfg(feature = "jwks-url")]
    Url(Arc<super::remote::Remote>),
}

impl Origin {
    fn of(options: &JwtOptions) -> Result<Origin, AccessError> {
        let file = |path: &PathBuf, read| Origin::File { file: Watched::at(path.clone()), read };
        Ok(match &options.keys {
            KeySource::JwksFile(path) => {
                file(path, |bytes, path| Keys::of_set(&bytes, &path.display().to_string(), Place::Private))
            }
            KeySource::SecretFile(path) => file(path, Keys::of_secret),
            KeySource::KeyFile(path) => file(path, |bytes, path| Keys::of_pem(&bytes, path)),
            #[cfg(feature = "jwks-url")]
            KeySource::JwksUrl(url) => Origin::Url(Arc::new(super::remote::Remote::new(url, options)?)),
        })
    }
}

impl Source {
    pub(crate) fn open(options: &JwtOptions, remembered: &Arc<Remembered>) -> Result<Source, AccessError> {
        let source = Source {
            keys: ArcSwap::default(),
            algorithms: options.algorithms.clone(),
            origin: Origin::of(options)?,
            remembered: Arc::clone(remembered),
        };
        source.refresh(true)?;
        Ok(source)
    }

    /// The keys in use.
    pub(crate) fn keys(&self) -> Arc<Keys> {
        self.keys.load_full()
    }

    /// Reads the file again, in any case or if it has changed. What is wrong with it leaves the keys as they are.
    pub(crate) fn refresh(&self, in_any_case: bool) -> Result<(), AccessError> {
        match &self.origin {
            Origin::File { file, read } => {
                file.refresh(in_any_case, |path| self.keys_in(path, *read), |keys| self.replace(keys))
            }
            #[cfg(feature = "jwks-url")]
            Origin::Url(_) => Ok(()),
        }
    }

    /// Reads the file, if the keys come from one, and leaves the keys as they are.
    pub(crate) fn read(&self) -> Result<Option<Fresh<Keys>>, AccessError> {
        match &self.origin {
            Origin::File { file, read } => file.read(|path| self.keys_in(path, *read)).map(Some),
            #[cfg(feature = "jwks-url")]
            Origin::Url(_) => Ok(None),
        }
    }

    /// Takes over what [`read`](Source::read) has read.
    pub(crate) fn take(&self, fresh: Fresh<Keys>) {
        match &self.origin {
            Origin::File { file, .. } => file.take(fresh, |keys| self.replace(keys)),
            #[cfg(feature = "jwks-url")]
            Origin::Url(_) => {}
        }
    }

    fn keys_in(&self, path: &Path, read: fn(Vec<u8>, &Path) -> Result<Keys, AccessError>) -> Result<Keys, AccessError> {
        let bytes =
            redress_disk::read(path, LARGEST).map_err(|source| AccessError::Read { path: path.to_owned(), source })?;
        read(bytes, path)?.only(&self.algorithms, &path.display().to_string())
    }

    /// Newer keys, if there is a place that may have some and it may be asked now. Nothing is there to wait for
    /// where keys come from a file.
    pub(crate) async fn newer(self: &Arc<Self>) -> bool {
        match &self.origin {
            Origin::File { .. } => false,
            #[cfg(feature = "jwks-url")]
            Origin::Url(remote) => remote.fetch_if_due(self).await,
        }
    }

    /// Why the newest keys are not there, where the last fetch has failed. Those of a file are as new as they can be.
    pub(crate) fn trouble(&self) -> Option<String> {
        match &self.origin {
            Origin::File { .. } => None,
            #[cfg(feature = "jwks-url")]
            Origin::Url(remote) => remote.trouble(),
        }
    }

    /// Fetches the keys now, if they come from a URL.
    pub(crate) async fn fetch(self: &Arc<Self>) -> Result<(), AccessError> {
        match &self.origin {
            Origin::File { .. } => Ok(()),
            #[cfg(feature = "jwks-url")]
            Origin::Url(remote) => remote.fetch_now(self).await,
        }
    }

    /// How old the keys are.
    pub(crate) fn age(&self) -> Age {
        match &self.origin {
            Origin::File { .. } => Age::Fresh,
            #[cfg(feature = "jwks-url")]
            Origin::Url(remote) => remote.age(),
        }
    }

    /// Takes over what was fetched.
    #[cfg(feature = "jwks-url")]
    pub(crate) fn take_set(&self, bytes: &[u8], url: &str) -> Result<(), AccessError> {
        // A set that lacks a key for an allowed algorithm may get it with the next rotation, so that is no mistake
        // here; which algorithms are allowed is.
        let keys = Keys::of_set(bytes, url, Place::Public)?;
        self.replace(keys.within(&self.algorithms));
        Ok(())
    }

    fn replace(&self, keys: Keys) {
        self.keys.store(Arc::new(keys));
        self.remembered.forget();
    }
}
