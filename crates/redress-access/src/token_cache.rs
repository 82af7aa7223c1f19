//! What was verified, so that the next call need not verify it again.
//!
//! A token is looked up by its own text: a hash with a seed that nobody outside knows finds the entry, and the text
//! itself decides. Two texts are compared only if their whole hashes are equal, so how long the comparison takes tells
//! nothing to somebody who guesses.
//!
//! Why so: docs/decisions/0022-verified-tokens-are-remembered-by-their-text.md.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, BuildHasherDefault, Hasher},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use redress_contract::Caller;
use redress_core::Secret;

use crate::instant;

/// How many parts the entries are in, so that calls on different cores seldom meet.
const SHARDS: usize = 16;

/// The tokens that were verified, and whom they stand for.
pub(crate) struct TokenCache {
    seed: foldhash::fast::RandomState,
    shards: [RwLock<CacheShard>; SHARDS],
    /// The most entries of one part; none at all, if nothing is to be remembered.
    max: usize,
    generation: AtomicU64,
}

type CacheShard = HashMap<u64, CacheEntry, BuildHasherDefault<IdentityHasher>>;

struct CacheEntry {
    token: Secret,
    /// When it was verified. A clock that is set back makes what was learned later worth nothing.
    from: u64,
    /// When it has to be verified again, in seconds since 1970.
    until: u64,
    caller: Arc<Caller>,
}

/// The state of the world that something was verified against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Generation(u64);

impl TokenCache {
    /// Room for `max` tokens.
    pub(crate) fn new(max: usize) -> TokenCache {
        TokenCache {
            seed: foldhash::fast::RandomState::default(),
            shards: std::array::from_fn(|_| RwLock::default()),
            max: max.div_ceil(SHARDS),
            generation: AtomicU64::new(0),
        }
    }

    /// Whom `token` stands for, if that is remembered and still holds.
    pub(crate) fn get(&self, token: &[u8]) -> Option<Arc<Caller>> {
        let hash = self.seed.hash_one(token);
        let shard = read(self.shard(hash));
        let entry = shard.get(&hash).filter(|entry| entry.token.expose().as_bytes() == token)?;
        let now = instant::now();
        (entry.from <= now && now < entry.until).then(|| Arc::clone(&entry.caller))
    }

    /// Until when `token` is remembered.
    #[cfg(test)]
    pub(crate) fn until(&self, token: &[u8]) -> Option<u64> {
        let hash = self.seed.hash_one(token);
        read(self.shard(hash)).get(&hash).map(|entry| entry.until)
    }

    /// The state of the world that a token is about to be verified against.
    pub(crate) fn generation(&self) -> Generation {
        Generation(self.generation.load(Ordering::SeqCst))
    }

    /// Remembers that `token` stands for `caller` until then, unless the world has changed since.
    pub(crate) fn put(&self, generation: Generation, token: &Secret, until: u64, caller: &Arc<Caller>) {
        let now = instant::now();
        if self.max == 0 || until <= now {
            return;
        }
        let hash = self.seed.hash_one(token.expose().as_bytes());
        let mut shard = write(self.shard(hash));
        // Judged with the part locked: `forget` first changes the generation and then empties each part, so an entry
        // of an older world is either not made or emptied.
        if self.generation() != generation {
            return;
        }
        if shard.len() >= self.max && !shard.contains_key(&hash) {
            shard.retain(|_, entry| now < entry.until);
            // The order of the entries is that of seeded hashes, so which one goes is as good as drawn.
            if shard.len() >= self.max
                && let Some(hash) = shard.keys().next().copied()
            {
                shard.remove(&hash);
            }
        }
        shard.insert(hash, CacheEntry { token: token.clone(), from: now, until, caller: Arc::clone(caller) });
    }

    /// Forgets everything: tokens or keys have changed.
    pub(crate) fn forget(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
        for shard in &self.shards {
            write(shard).clear();
        }
    }

    /// The part of `hash`, told by other bits than those that its map goes by.
    fn shard(&self, hash: u64) -> &RwLock<CacheShard> {
        &self.shards[(hash >> 32) as usize % SHARDS]
    }
}

impl std::fmt::Debug for TokenCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenCache").field("most", &self.max).finish_non_exhaustive()
    }
}

// No panic can leave a part half changed, so a lock without poison will do.
fn read(shard: &RwLock<CacheShard>) -> RwLockReadGuard<'_, CacheShard> {
    shard.read()
}

fn write(shard: &RwLock<CacheShard>) -> RwLockWriteGuard<'_, CacheShard> {
    shard.write()
}

/// Takes a hash for what it is.
#[derive(Default)]
struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ada() -> Arc<Caller> {
        Arc::new(Caller::new("ada"))
    }

    fn far() -> u64 {
        instant::now() + 1000
    }

    #[test]
    fn what_is_remembered_is_the_very_token_until_it_ends() {
        let token_cache = TokenCache::new(100);
        let token = Secret::new("a.b.c");
        token_cache.put(token_cache.generation(), &token, far(), &ada());
        assert_eq!(token_cache.get(b"a.b.c").as_deref(), Some(&Caller::new("ada")));
        assert_eq!(token_cache.get(b"a.b.d"), None);
        for shard in &token_cache.shards {
            write(shard).values_mut().for_each(|entry| entry.until = instant::now());
        }
        assert_eq!(token_cache.get(b"a.b.c"), None);
        token_cache.put(token_cache.generation(), &Secret::new("gone"), instant::now(), &ada());
        assert_eq!(token_cache.get(b"gone"), None);
    }

    #[test]
    fn what_was_verified_against_an_older_world_is_not_remembered() {
        let token_cache = TokenCache::new(100);
        let token = Secret::new("a.b.c");
        let before = token_cache.generation();
        token_cache.put(before, &token, far(), &ada());
        token_cache.forget();
        assert_eq!(token_cache.get(b"a.b.c"), None);
        token_cache.put(before, &token, far(), &ada());
        assert_eq!(token_cache.get(b"a.b.c"), None);
    }

    #[test]
    fn a_clock_that_is_set_back_makes_nothing_last_longer() {
        let token_cache = TokenCache::new(100);
        let token = Secret::new("a.b.c");
        token_cache.put(token_cache.generation(), &token, far(), &ada());
        for shard in &token_cache.shards {
            write(shard).values_mut().for_each(|entry| entry.from += 500);
        }
        assert_eq!(token_cache.get(b"a.b.c"), None);
    }

    #[test]
    fn no_more_is_remembered_than_there_is_room_for() {
        let token_cache = TokenCache::new(64);
        for index in 0..10_000 {
            token_cache.put(token_cache.generation(), &Secret::new(format!("token {index}")), far(), &ada());
        }
        let held: usize = token_cache.shards.iter().map(|shard| read(shard).len()).sum();
        assert!(held <= 64, "{held}");
        let nothing = TokenCache::new(0);
        nothing.put(nothing.generation(), &Secret::new("a"), far(), &ada());
        assert_eq!(nothing.get(b"a"), None);
    }
}
