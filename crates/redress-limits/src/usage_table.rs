//! The accounts of all callers, of which there are never more than so many.

use std::{
    borrow::Borrow,
    collections::HashMap,
    hash::{BuildHasher as _, Hash},
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
    time::Duration,
};

use foldhash::fast::RandomState;
use redress_core::{LimitedCall, client_prefix};
use tokio::time::Instant;

use crate::{caller_usage::CallerUsage, source::LimitSource};

/// As many as keep a few threads out of each other's way.
const SHARDS: usize = 16;
/// A shard that is full is swept no more often than this, however many new callers come.
const SWEEP_EVERY_MS: u64 = 100;

/// The accounts of all callers: of those with an id by their id, of the anonymous by the address they come from. Neither
/// takes room from the other: addresses cost nothing, and must not crowd out who is known.
#[derive(Debug)]
pub(crate) struct UsageTable {
    since: Instant,
    hasher: RandomState,
    callers: UsageMap<Box<str>>,
    peers: UsageMap<IpAddr>,
    /// For the anonymous whose address is not known.
    nobody: Arc<CallerUsage>,
}

/// Accounts by one kind of key.
#[derive(Debug)]
struct UsageMap<K> {
    shards: Box<[Mutex<UsageShard<K>>]>,
    most_per_shard: usize,
    /// For those who come when there are too many.
    crowd: Arc<CallerUsage>,
}

#[derive(Debug)]
struct UsageShard<K> {
    usages: HashMap<K, Arc<CallerUsage>, RandomState>,
    swept_ms: Option<u64>,
}

impl UsageTable {
    /// As many of each kind as `max`.
    pub(crate) fn new(max: usize, sources: &[LimitSource]) -> UsageTable {
        let usage = || Arc::new(CallerUsage::new(sources));
        UsageTable {
            since: Instant::now(),
            hasher: RandomState::default(),
            callers: UsageMap::new(max, usage()),
            peers: UsageMap::new(max, usage()),
            nobody: usage(),
        }
    }

    /// How long after the start `now` is.
    pub(crate) fn at(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.since)
    }

    /// The account of who makes this call, so long after the start.
    pub(crate) fn of(&self, call: &LimitedCall<'_>, at: Duration, sources: &[LimitSource]) -> Arc<CallerUsage> {
        let now_ms = millis(at);
        let usage = match (call.caller, call.peer) {
            (Some(caller), _) => {
                let id = caller.id();
                self.callers.usage(self.hasher.hash_one(id), id, |id| id.into(), now_ms, sources)
            }
            (None, Some(peer)) => {
                let peer = client_prefix(peer);
                self.peers.usage(self.hasher.hash_one(peer), &peer, |peer| *peer, now_ms, sources)
            }
            (None, None) => Arc::clone(&self.nobody),
        };
        usage.last_ms.store(now_ms, Ordering::Relaxed);
        usage
    }

    /// How many callers are told apart.
    pub(crate) fn len(&self) -> usize {
        self.callers.len() + self.peers.len()
    }

    /// The same callers under other sources; see [`CallerUsage::moved`].
    pub(crate) fn moved(&self, max: usize, kept: &[Option<(usize, bool)>], sources: &[LimitSource]) -> UsageTable {
        let hasher = RandomState::default();
        let move_one = |usage: &CallerUsage| Arc::new(usage.moved(kept, sources));
        UsageTable {
            since: self.since,
            callers: self.callers.moved(&hasher, max, move_one),
            peers: self.peers.moved(&hasher, max, move_one),
            nobody: move_one(&self.nobody),
            hasher,
        }
    }
}

impl<K: Hash + Eq + Clone> UsageMap<K> {
    fn new(max: usize, crowd: Arc<CallerUsage>) -> UsageMap<K> {
        // Few accounts in many shards would fill one shard while others are empty.
        let shards = (max / 256).clamp(1, SHARDS);
        let shard = || Mutex::new(UsageShard { usages: HashMap::default(), swept_ms: None });
        UsageMap { shards: (0..shards).map(|_| shard()).collect(), most_per_shard: max.div_ceil(shards), crowd }
    }

    /// The account under `key`, a new one where there is room, or else that of the crowd.
    fn usage<Q: Hash + Eq + ?Sized>(
        &self,
        hash: u64,
        key: &Q,
        owned: impl FnOnce(&Q) -> K,
        now_ms: u64,
        sources: &[LimitSource],
    ) -> Arc<CallerUsage>
    where
        K: Borrow<Q>,
    {
        let mut shard = self.shard(hash);
        if let Some(known) = shard.usages.get(key) {
            return Arc::clone(known);
        }
        if !self.has_room(&mut shard, now_ms, sources) {
            return Arc::clone(&self.crowd);
        }
        let usage = Arc::new(CallerUsage::new(sources));
        shard.usages.insert(owned(key), Arc::clone(&usage));
        usage
    }

    fn len(&self) -> usize {
        self.shards.iter().map(|shard| locked(shard).usages.len()).sum()
    }

    fn moved(
        &self,
        hasher: &RandomState,
        max: usize,
        move_one: impl Fn(&CallerUsage) -> Arc<CallerUsage>,
    ) -> UsageMap<K> {
        let new = UsageMap::new(max, move_one(&self.crowd));
        for shard in &self.shards {
            for (key, usage) in &locked(shard).usages {
                let mut to = new.shard(hasher.hash_one(key));
                if to.usages.len() < new.most_per_shard {
                    to.usages.insert(key.clone(), move_one(usage));
                }
            }
        }
        new
    }

    fn shard(&self, hash: u64) -> MutexGuard<'_, UsageShard<K>> {
        let place = usize::try_from(hash % self.shards.len() as u64).unwrap_or(0);
        locked(&self.shards[place])
    }

    /// Whether one more account has room, after those have gone that have nothing to remember.
    fn has_room(&self, shard: &mut UsageShard<K>, now_ms: u64, sources: &[LimitSource]) -> bool {
        if shard.usages.len() < self.most_per_shard {
            return true;
        }
        if shard.swept_ms.is_some_and(|swept| now_ms < swept + SWEEP_EVERY_MS) {
            return false;
        }
        shard.swept_ms = Some(now_ms);
        // Accounts are lent under this lock alone, so one that only the map holds has no call that runs.
        shard.usages.retain(|_, usage| {
            let silent_ms = now_ms.saturating_sub(usage.last_ms.load(Ordering::Relaxed));
            Arc::strong_count(usage) > 1 || silent_ms <= millis(usage.remembers(sources))
        });
        shard.usages.len() < self.most_per_shard
    }
}

fn locked<K>(shard: &Mutex<UsageShard<K>>) -> MutexGuard<'_, UsageShard<K>> {
    // Every change to a shard is whole before anything can panic.
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use redress_contract::{Caller, OperationDeclaration};

    use super::*;
    use crate::{LimitOptions, LimitRule, source::sources};

    fn rated() -> Vec<LimitSource> {
        sources(&LimitOptions { rate: Some("10/s".parse().unwrap()), ..LimitOptions::default() })
    }

    #[test]
    fn an_account_that_has_nothing_to_remember_makes_room_for_another() {
        let (sources, operation) = (rated(), OperationDeclaration::query("demo.greet"));
        let usages = UsageTable::new(4, &sources);
        let start = Duration::ZERO;
        let named = |id: String, at| {
            let caller = Caller::new(id);
            let usage = usages.of(&LimitedCall::new(&operation, Some(&caller)), at, &sources);
            usage.slot(0, &sources[0]).unwrap();
            usage
        };
        let busy = named("caller 0".into(), start);
        for number in 1..4 {
            named(format!("caller {number}"), start);
        }
        assert_eq!(usages.len(), 4);
        // Their burst is not back yet, so nobody is forgotten, and who comes shares an account.
        let late = [4, 5].map(|number| named(format!("caller {number}"), start + Duration::from_millis(500)));
        assert!(Arc::ptr_eq(&late[0], &late[1]));
        assert_eq!(usages.len(), 4);

        let later = start + Duration::from_secs(2);
        assert!(!Arc::ptr_eq(&named("caller 6".into(), later), &late[0]));
        assert_eq!(usages.len(), 2, "the one whose call runs, and the new one");
        assert!(Arc::ptr_eq(&named("caller 0".into(), later), &busy));
    }

    #[test]
    fn addresses_take_no_room_from_callers_with_an_id() {
        let (sources, operation) = (rated(), OperationDeclaration::query("demo.greet"));
        let usages = UsageTable::new(4, &sources);
        let peer = |number: u8| {
            let call = LimitedCall::new(&operation, None).with_peer(IpAddr::from([192, 0, 2, number]));
            usages.of(&call, Duration::ZERO, &sources)
        };
        let held: Vec<_> = (0..6).map(peer).collect();
        assert!(Arc::ptr_eq(&held[4], &held[5]), "who comes too late shares an account");
        let [ada, ben] = ["ada", "ben"].map(|id| {
            let caller = Caller::new(id);
            usages.of(&LimitedCall::new(&operation, Some(&caller)), Duration::ZERO, &sources)
        });
        assert!(!Arc::ptr_eq(&ada, &ben) && !Arc::ptr_eq(&ada, &held[4]));
    }

    #[test]
    fn an_account_is_remembered_for_as_long_as_the_rates_that_it_has_used_need() {
        let mut rare = LimitRule::new(["reports.*"]);
        rare.rate = Some("5/h".parse().unwrap());
        let options =
            LimitOptions { rules: vec![rare], rate: Some("10/s".parse().unwrap()), ..LimitOptions::default() };
        let (sources, operation) = (sources(&options), OperationDeclaration::query("demo.greet"));
        let usages = UsageTable::new(1, &sources);
        let used = |id: &str, place: usize, at: Duration| {
            let caller = Caller::new(id);
            let usage = usages.of(&LimitedCall::new(&operation, Some(&caller)), at, &sources);
            usage.slot(place, &sources[place]).unwrap();
            Arc::as_ptr(&usage)
        };
        let crowd = Arc::as_ptr(&usages.callers.crowd);
        used("ada", 1, Duration::ZERO);
        assert_ne!(used("ben", 0, Duration::from_secs(2)), crowd, "nobody has called a report by then");
        assert_eq!(used("cem", 1, Duration::from_secs(1800)), crowd);
        assert_ne!(used("cem", 1, Duration::from_secs(3700)), crowd);
    }

    #[test]
    fn the_anonymous_are_told_apart_by_their_address() {
        let (sources, operation) = (rated(), OperationDeclaration::query("demo.greet"));
        let usages = UsageTable::new(1000, &sources);
        let of = |address: &str| {
            let call = LimitedCall::new(&operation, None).with_peer(address.parse().unwrap());
            usages.of(&call, Duration::ZERO, &sources)
        };
        assert!(Arc::ptr_eq(&of("192.0.2.1"), &of("::ffff:192.0.2.1")));
        assert!(!Arc::ptr_eq(&of("192.0.2.1"), &of("192.0.2.2")));
        assert!(Arc::ptr_eq(&of("2001:db8::1"), &of("2001:db8::2:3")), "one /64 is one household");
        assert!(!Arc::ptr_eq(&of("2001:db8::1"), &of("2001:db8:0:1::1")));
        let nowhere = usages.of(&LimitedCall::new(&operation, None), Duration::ZERO, &sources);
        assert!(!Arc::ptr_eq(&nowhere, &of("192.0.2.1")));
    }
}
