//! Keys at a URL: fetched when they are needed, kept while the URL cannot be reached.
//!
//! Anybody can send a token that names a key which nobody has. Such a token may cause a fetch, but only one at a
//! time, with a pause between two, and a pause that grows while fetches fail. Nor does it end with whoever caused it:
//! a fetch that a caller could break off would leave no trace, and the next caller would cause the next one.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::OwnedMutexGuard, time::Instant};

use super::{
    jwks_url::JwksUrl,
    key_provider::{Age, KeyProvider},
};
use crate::{AccessError, JwtOptions};

/// The most bytes that a set of keys may have.
const MAX: usize = 1024 * 1024;
/// How often the pause may double.
const DOUBLINGS: u32 = 6;

/// A set of keys at a URL.
pub(crate) struct Remote {
    address: JwksUrl,
    client: reqwest::Client,
    refresh: Duration,
    pause: Duration,
    /// Held by the task that fetches: whoever needs keys meanwhile waits for that.
    flight: Arc<tokio::sync::Mutex<()>>,
    times: Mutex<FetchTimes>,
}

/// When was fetched, and how it went.
#[derive(Clone, Debug, Default)]
struct FetchTimes {
    /// The last fetch that gave keys.
    fetched: Option<Instant>,
    /// The last fetch, however it went: its end or, until then, its start.
    tried: Option<Instant>,
    failures: u32,
    /// Why the last fetch gave no keys.
    trouble: Option<String>,
    /// What came last, so that the same again makes nobody forget what it verified.
    last: Option<bytes::Bytes>,
}

impl Remote {
    pub(crate) fn new(url: &str, options: &JwtOptions) -> Result<Remote, AccessError> {
        let address = JwksUrl::of(url)?;
        // A redirect could lead anywhere, such as to plain HTTP; an issuer gives the address itself.
        let mut client = reqwest::Client::builder()
            .timeout(options.fetch_time)
            .connect_timeout(options.fetch_time)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("redress/", env!("CARGO_PKG_VERSION")));
        if address.is_plain() {
            // Keys from this machine come from this machine, and not by way of a proxy of the environment.
            client = client.no_proxy();
        }
        let reason = "no client could be made";
        let client = client.build().map_err(|_| AccessError::Unreachable { url: address.to_string(), reason })?;
        Ok(Remote {
            address,
            client,
            refresh: options.refresh,
            pause: options.pause,
            flight: Arc::default(),
            times: Mutex::default(),
        })
    }

    /// How old the keys are.
    pub(crate) fn age(&self) -> Age {
        let times = self.times();
        let Some(age) = times.fetched.map(|fetched| fetched.elapsed()) else { return Age::Fresh };
        if age >= self.refresh.saturating_mul(2) {
            Age::Stale
        } else if age >= self.refresh && times.may_try(self.pause) && self.flight.try_lock().is_ok() {
            Age::Old
        } else {
            Age::Fresh
        }
    }

    /// Fetches newer keys for a token that none verifies, unless it is too early to. Whether there are keys to try
    /// it with again.
    pub(crate) async fn fetch_if_due(self: &Arc<Self>, source: &Arc<KeyProvider>) -> bool {
        let asked = Instant::now();
        let flight = Arc::clone(&self.flight).lock_owned().await;
        let times = self.times().clone();
        if times.tried.is_some_and(|tried| tried >= asked) {
            // Somebody else's fetch ended while this one waited for it.
            return times.fetched.is_some_and(|fetched| fetched >= asked);
        }
        if !times.may_try(self.pause) {
            return false;
        }
        let (remote, source) = (Arc::clone(self), Arc::clone(source));
        let fetched = tokio::spawn(async move {
            let result = remote.fetch(&source, flight).await;
            if let Err(error) = &result {
                let failures = remote.times().failures;
                tracing::warn!(%error, failures, "the keys that were fetched last stay in use");
            }
            result.is_ok()
        });
        fetched.await.unwrap_or(false)
    }

    /// Fetches the keys, whenever that was done last.
    pub(crate) async fn fetch_now(self: &Arc<Self>, source: &Arc<KeyProvider>) -> Result<(), AccessError> {
        let flight = Arc::clone(&self.flight).lock_owned().await;
        let (remote, source) = (Arc::clone(self), Arc::clone(source));
        let fetched = tokio::spawn(async move { remote.fetch(&source, flight).await });
        fetched.await.unwrap_or_else(|_| Err(self.unreachable("it was broken off")))
    }

    /// Why the last fetch gave no keys, if it did not.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.times().trouble.clone()
    }

    /// One fetch. It runs in a task of its own, which holds the flight to the end.
    async fn fetch(&self, source: &Arc<KeyProvider>, _flight: OwnedMutexGuard<()>) -> Result<(), AccessError> {
        // Noted before the first wait as well: a task that ends with its runtime has been tried all the same.
        self.times().tried = Some(Instant::now());
        let result = match self.get().await {
            Ok(bytes) if self.times().last.as_ref() == Some(&bytes) => Ok(bytes),
            // Reading a megabyte of keys takes too long for a thread that others wait for.
            Ok(bytes) => {
                let (source, origin) = (Arc::clone(source), self.address.to_string());
                let taken = tokio::task::spawn_blocking(move || source.take_set(&bytes, &origin).map(|()| bytes));
                taken.await.unwrap_or_else(|_| Err(self.unreachable("it was broken off")))
            }
            Err(reason) => Err(self.unreachable(reason)),
        };
        let mut times = self.times();
        let now = Instant::now();
        times.tried = Some(now);
        match result {
            Ok(bytes) => {
                times.fetched = Some(now);
                times.failures = 0;
                times.trouble = None;
                times.last = Some(bytes);
                Ok(())
            }
            Err(error) => {
                times.failures = times.failures.saturating_add(1);
                times.trouble = Some(error.to_string());
                Err(error)
            }
        }
    }

    fn unreachable(&self, reason: &'static str) -> AccessError {
        AccessError::Unreachable { url: self.address.to_string(), reason }
    }

    /// What the URL answers. Why it could not be had is said in words of ours: an error of the client holds the
    /// whole URL, in which there may be a key.
    async fn get(&self) -> Result<bytes::Bytes, &'static str> {
        let told = |error: &reqwest::Error| {
            if error.is_timeout() {
                "it took too long"
            } else if error.is_connect() {
                "there is no connection"
            } else {
                "the answer broke off"
            }
        };
        let request =
            self.client.get(self.address.url()).header("accept", "application/jwk-set+json, application/json");
        let mut response = request.send().await.map_err(|error| told(&error))?;
        if !response.status().is_success() {
            return Err("the answer is not a success");
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| told(&error))? {
            if bytes.len() + chunk.len() > MAX {
                return Err("the answer is too large");
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes.into())
    }

    fn times(&self) -> MutexGuard<'_, FetchTimes> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FetchTimes {
    /// Whether enough time has passed since the last fetch.
    fn may_try(&self, pause: Duration) -> bool {
        self.tried.is_none_or(|tried| tried.elapsed() >= grown(pause, self.failures))
    }
}

/// The pause after so many failures.
fn grown(pause: Duration, failures: u32) -> Duration {
    pause.saturating_mul(1 << failures.min(DOUBLINGS))
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote").field("times", &self.times).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_grows_with_each_failure_and_not_for_ever() {
        let second = Duration::from_secs(1);
        let pauses: Vec<u64> = [0, 1, 2, 6, 7, u32::MAX].map(|failures| grown(second, failures).as_secs()).to_vec();
        assert_eq!(pauses, [1, 2, 4, 64, 64, 64]);
    }
}
