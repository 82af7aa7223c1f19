//! Where keys come from, and the newest that came.

use std::{
    fs,
    path::Path,
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
    from: From,
    remembered: Arc<Remembered>,
}

#[derive(Debug)]
enum From {
    File {
        source: KeySource,
        stamp: Mutex<Option<Stamp>>,
    },
    #[cfg(feature = "jwks-url")]
    Remote(super::remote::Remote),
}

impl Source {
    pub(crate) fn open(options: &JwtOptions, remembered: &Arc<Remembered>) -> Result<Source, AccessError> {
        let from = match &options.keys {
            #[cfg(feature = "jwks-url")]
            KeySource::JwksUrl(url) => From::Remote(super::remote::Remote::new(url, options)?),
            file => From::File { source: file.clone(), stamp: Mutex::new(None) },
        };
        let source = Source {
            keys: ArcSwap::default(),
            algorithms: options.algorithms.clone(),
            from,
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
        let From::File { source, stamp } = &self.from else { return Ok(()) };
        let Some(path) = path(source) else { return Ok(()) };
        let unread = |error| AccessError::Read { path: path.to_owned(), source: error };
        let mut seen = stamp.lock().unwrap_or_else(PoisonError::into_inner);
        // Taken before the file is read: a change in between is seen the next time.
        let now = Stamp::of(path).map_err(unread)?;
        if !in_any_case && *seen == now {
            return Ok(());
        }
        (*seen).clone_from(&now);
        let bytes = fs::read(path).map_err(unread)?;
        let origin = path.display().to_string();
        let keys = match source {
            KeySource::SecretFile(_) => Keys::of_secret(bytes, path),
            KeySource::KeyFile(_) => Keys::of_pem(&bytes, path),
            _ => Keys::of_set(&bytes, &origin, Place::Private),
        }?;
        self.replace(keys.only(&self.algorithms, &origin)?);
        Ok(())
    }

    /// Newer keys, if there is a place that may have some and it may be asked now. Nothing is there to wait for
    /// where keys come from a file.
    pub(crate) async fn newer(&self) -> bool {
        match &self.from {
            From::File { .. } => false,
            #[cfg(feature = "jwks-url")]
            From::Remote(remote) => remote.fetch_if_due(self).await,
        }
    }

    /// Fetches the keys now, if they come from a URL.
    pub(crate) async fn fetch(&self) -> Result<(), AccessError> {
        match &self.from {
            From::File { .. } => Ok(()),
            #[cfg(feature = "jwks-url")]
            From::Remote(remote) => remote.fetch_now(self).await,
        }
    }

    /// Whether the keys are old enough to be fetched again, though they still serve.
    pub(crate) fn is_old(&self) -> bool {
        match &self.from {
            From::File { .. } => false,
            #[cfg(feature = "jwks-url")]
            From::Remote(remote) => remote.is_old(),
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

fn path(source: &KeySource) -> Option<&Path> {
    match source {
        KeySource::JwksFile(path) | KeySource::SecretFile(path) | KeySource::KeyFile(path) => Some(path),
        #[cfg(feature = "jwks-url")]
        KeySource::JwksUrl(_) => None,
    }
}
