//! Where keys come from, and the newest that came.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use arc_swap::ArcSwap;

use super::keys::{Keys, Place};
use crate::{AccessError, Algorithm, JwtOptions, KeySource, remembered::Remembered, watch::Stamp};

/// The keys in use, and the place where newer ones may be.
#[derive(Debug)]
pub(crate) struct Source {
    keys: ArcSwap<Keys>,
    algorithms: Vec<Algorithm>,
    origin: Origin,
    remembered: Arc<Remembered>,
}

/// Where keys are.
#[derive(Debug)]
enum Origin {
    File {
        path: PathBuf,
        read: fn(Vec<u8>, &Path) -> Result<Keys, AccessError>,
        stamp: Mutex<Option<Stamp>>,
    },
    #[cfg(feature = "jwks-url")]
    Url(Arc<super::remote::Remote>),
}

impl Origin {
    fn of(options: &JwtOptions) -> Result<Origin, AccessError> {
        let file = |path: &PathBuf, read| Origin::File { path: path.clone(), read, stamp: Mutex::new(None) };
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
        source.read(true)?;
        Ok(source)
    }

    /// The keys in use.
    pub(crate) fn keys(&self) -> Arc<Keys> {
        self.keys.load_full()
    }

    /// Reads the file again, in any case or if it has changed. What is wrong with it leaves the keys as they are.
    pub(crate) fn read(&self, in_any_case: bool) -> Result<(), AccessError> {
        let (path, read, stamp) = match &self.origin {
            Origin::File { path, read, stamp } => (path, read, stamp),
            #[cfg(feature = "jwks-url")]
            Origin::Url(_) => return Ok(()),
        };
        let unread = |error| AccessError::Read { path: path.clone(), source: error };
        let mut seen = stamp.lock().unwrap_or_else(PoisonError::into_inner);
        // Taken before the file is read: a change in between is seen the next time.
        let now = Stamp::of(path).map_err(unread)?;
        if !in_any_case && *seen == now {
            return Ok(());
        }
        (*seen).clone_from(&now);
        let keys = read(fs::read(path).map_err(unread)?, path)?;
        self.replace(keys.only(&self.algorithms, &path.display().to_string())?);
        Ok(())
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

    /// Fetches the keys now, if they come from a URL.
    pub(crate) async fn fetch(self: &Arc<Self>) -> Result<(), AccessError> {
        match &self.origin {
            Origin::File { .. } => Ok(()),
            #[cfg(feature = "jwks-url")]
            Origin::Url(remote) => remote.fetch_now(self).await,
        }
    }

    /// Whether the keys are old enough to be fetched again, though they still serve.
    pub(crate) fn is_old(&self) -> bool {
        match &self.origin {
            Origin::File { .. } => false,
            #[cfg(feature = "jwks-url")]
            Origin::Url(remote) => remote.is_old(),
        }
    }

    /// Takes over what was fetched.
    #[cfg(feature = "jwks-url")]
    pub(crate) fn take(&self, bytes: &[u8], url: &str) -> Result<(), AccessError> {
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
