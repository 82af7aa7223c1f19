//! The accounts of all callers, of which there are never more than so many.

use std::{
    collections::HashMap,
    hash::BuildHasher,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
    time::Duration,
};

use foldhash::fast::RandomState;
use redress_core::LimitedCall;
use tokio::time::Instant;

use crate::{account::Account, source::Source};

/// As many as keep a few threads out of each other's way.
const SHARDS: usize = 16;
/// A shard that is full is swept no more often than this, however many new callers come.
const SWEEP_EVERY_MS: u64 = 100;

/// The accounts of all callers: of those with an id by their id, of the anonymous by the address they come from.
#[derive(Debug)]
pub(crate) struct Accounts {
    since: Instant,
    /// How long a silent caller's account has something to remember.
    remember: Duration,
    hasher: RandomState,
    shards: Box<[Mutex<Shard>]>,
    most_per_shard: usize,
    /// For the anonymous whose address is not known.
    nobody: Arc<Account>,
    /// For those who come when there are too many.
    crowd: Arc<Account>,
}

#[derive(Debug, Default)]
struct Shard {
    callers: HashMap<Box<str>, Arc<Account>, RandomState>,
    peers: HashMap<IpAddr, Arc<Account>, RandomState>,
    swept_ms: Option<u64>,
}

impl Accounts {
    pub(crate) fn new(most: usize, sources: &[Source]) -> Accounts {
        // Few accounts in many shards would fill one shard while others are empty.
        let shards = (most / 256).clamp(1, SHARDS);
        Accounts {
            since: Instant::now(),
            remember: sources.iter().map(Source::refill).max().unwrap_or_default(),
            hasher: RandomState::default(),
            shards: (0..shards).map(|_| Mutex::default()).collect(),
            most_per_shard: most.div_ceil(shards),
            nobody: Arc::new(Account::new(sources)),
            crowd: Arc::new(Account::new(sources)),
        }
    }

    /// The account of who makes this call.
    pub(crate) fn of(&self, call: &LimitedCall<'_>, now: Instant, sources: &[Source]) -> Arc<Account> {
        let now_ms = millis(now.saturating_duration_since(self.since));
        let account = match (call.caller, call.peer) {
            (Some(caller), _) => {
                let mut shard = self.shard(self.hasher.hash_one(caller.id()));
                let known = shard.callers.get(caller.id()).map(Arc::clone);
                known.unwrap_or_else(|| {
                    let account = self.open(&mut shard, now_ms, sources);
                    if let Some(account) = &account {
                        shard.callers.insert(caller.id().into(), Arc::clone(account));
                    }
                    account.unwrap_or_else(|| Arc::clone(&self.crowd))
                })
            }
            (None, Some(peer)) => {
                let peer = household(peer);
                let mut shard = self.shard(self.hasher.hash_one(peer));
                let known = shard.peers.get(&peer).map(Arc::clone);
                known.unwrap_or_else(|| {
                    let account = self.open(&mut shard, now_ms, sources);
                    if let Some(account) = &account {
                        shard.peers.insert(peer, Arc::clone(account));
                    }
                    account.unwrap_or_else(|| Arc::clone(&self.crowd))
                })
            }
            (None, None) => Arc::clone(&self.nobody),
        };
        account.last_ms.store(now_ms, Ordering::Relaxed);
        account
    }

    /// How many callers are told apart.
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| locked(shard).len()).sum()
    }

    /// The same callers under other sources; see [`Account::moved`].
    pub(crate) fn moved(&self, most: usize, kept: &[Option<(usize, bool)>], sources: &[Source]) -> Accounts {
        let move_one = |account: &Arc<Account>| Arc::new(account.moved(kept, sources));
        let new = Accounts {
            since: self.since,
            nobody: move_one(&self.nobody),
            crowd: move_one(&self.crowd),
            ..Accounts::new(most, sources)
        };
        for shard in &self.shards {
            let shard = locked(shard);
            for (id, account) in &shard.callers {
                let mut to = new.shard(new.hasher.hash_one(&**id));
                if to.len() < new.most_per_shard {
                    to.callers.insert(id.clone(), move_one(account));
                }
            }
            for (peer, account) in &shard.peers {
                let mut to = new.shard(new.hasher.hash_one(peer));
                if to.len() < new.most_per_shard {
                    to.peers.insert(*peer, move_one(account));
                }
            }
        }
        new
    }

    fn shard(&self, hash: u64) -> MutexGuard<'_, Shard> {
        let place = usize::try_from(hash % self.shards.len() as u64).unwrap_or(0);
        locked(&self.shards[place])
    }

    /// A new account, if the shard has room for one.
    fn open(&self, shard: &mut Shard, now_ms: u64, sources: &[Source]) -> Option<Arc<Account>> {
        self.has_room(shard, now_ms).then(|| Arc::new(Account::new(sources)))
    }

    /// Whether one more account has room, after those have gone that have nothing to remember.
    fn has_room(&self, shard: &mut Shard, now_ms: u64) -> bool {
        if shard.len() < self.most_per_shard {
            return true;
        }
        if shard.swept_ms.is_some_and(|swept| now_ms < swept + SWEEP_EVERY_MS) {
            return false;
        }
        shard.swept_ms = Some(now_ms);
        let remember_ms = millis(self.remember);
        // Accounts are lent under this lock alone, so one that only the map holds has no call that runs.
        let remembers = |account: &Arc<Account>| {
            let silent_ms = now_ms.saturating_sub(account.last_ms.load(Ordering::Relaxed));
            Arc::strong_count(account) > 1 || silent_ms <= remember_ms
        };
        shard.callers.retain(|_, account| remembers(account));
        shard.peers.retain(|_, account| remembers(account));
        shard.len() < self.most_per_shard
    }
}

impl Shard {
    fn len(&self) -> usize {
        self.callers.len() + self.peers.len()
    }
}

fn locked(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    // Every change to a shard is whole before anything can panic.
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// What one subscriber of a network usually has: an IPv4 address, or the /64 of an IPv6 address.
fn household(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

#[cfg(test)]
mod tests {
    use redress_contract::{Caller, Operation};

    use super::*;
    use crate::{LimitOptions, source::sources};

    fn rated() -> Vec<Source> {
        sources(&LimitOptions { rate: Some("10/s".parse().unwrap()), ..LimitOptions::default() })
    }

    #[test]
    fn an_account_that_has_nothing_to_remember_makes_room_for_another() {
        let (sources, operation) = (rated(), Operation::query("demo.greet"));
        let accounts = Accounts::new(4, &sources);
        let start = accounts.since;
        let named = |id: String, now| {
            let caller = Caller::new(id);
            accounts.of(&LimitedCall::new(&operation, Some(&caller)), now, &sources)
        };
        let busy = named("caller 0".into(), start);
        for number in 1..4 {
            named(format!("caller {number}"), start);
        }
        assert_eq!(accounts.len(), 4);
        // Their burst is not back yet, so nobody is forgotten, and who comes shares an account.
        let late = [4, 5].map(|number| named(format!("caller {number}"), start + Duration::from_millis(500)));
        assert!(Arc::ptr_eq(&late[0], &late[1]));
        assert_eq!(accounts.len(), 4);

        let later = start + Duration::from_secs(2);
        assert!(!Arc::ptr_eq(&named("caller 6".into(), later), &late[0]));
        assert_eq!(accounts.len(), 2, "the one whose call runs, and the new one");
        assert!(Arc::ptr_eq(&named("caller 0".into(), later), &busy));
    }

    #[test]
    fn the_anonymous_are_told_apart_by_their_address() {
        let (sources, operation) = (rated(), Operation::query("demo.greet"));
        let accounts = Accounts::new(1000, &sources);
        let of = |address: &str| {
            let call = LimitedCall::new(&operation, None).with_peer(address.parse().unwrap());
            accounts.of(&call, accounts.since, &sources)
        };
        assert!(Arc::ptr_eq(&of("192.0.2.1"), &of("::ffff:192.0.2.1")));
        assert!(!Arc::ptr_eq(&of("192.0.2.1"), &of("192.0.2.2")));
        assert!(Arc::ptr_eq(&of("2001:db8::1"), &of("2001:db8::2:3")), "one /64 is one household");
        assert!(!Arc::ptr_eq(&of("2001:db8::1"), &of("2001:db8:0:1::1")));
        let nowhere = accounts.of(&LimitedCall::new(&operation, None), accounts.since, &sources);
        assert!(!Arc::ptr_eq(&nowhere, &of("192.0.2.1")));
    }
}
