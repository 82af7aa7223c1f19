//! What outlives the faces that are served: what is open, and whether the service goes down.

use std::{
    collections::HashMap,
    hash::Hash,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use redress_contract::{Caller, EngineCode};
use redress_core::{Budget, Refusal, Registry};
use serde_json::json;
use tokio_util::task::TaskTracker;

use crate::{
    Descriptors,
    connection::{
        conn_watchdog::{ConnCommand, ConnTracker},
        shutdown::Shutdown,
        stats::{Counter, Counters, ServerStats},
    },
    request::{body_budget::BodyBudget, service::FacesInner},
};

/// What outlives the faces that are served: faces may be replaced, and what is open stays open.
#[derive(Debug, Default)]
pub(crate) struct ServerState {
    /// What connections may take; nothing where they are another's, or not counted.
    pub(crate) descriptors: Option<Descriptors>,
    pub(crate) shutdown: Shutdown,
    pub(crate) tracker: Arc<ConnTracker>,
    pub(crate) counters: Counters,
    /// The WebSockets that are open.
    pub(crate) sockets: TaskTracker,
    /// What was served before, for as long as calls may run in it that nobody waits for.
    earlier: Mutex<Vec<(Registry, Weak<FacesInner>)>>,
    /// The bodies that are held.
    pub(crate) room: Arc<BodyBudget>,
    /// The answers that are held.
    pub(crate) budget: Budget,
    pub(crate) by_address: Arc<Tally<IpAddr>>,
    pub(crate) sockets_of: Arc<Tally<Holder>>,
    pub(crate) streams_of: Arc<Tally<Holder>>,
    /// The sessions of MCP, which go on when what is served is replaced.
    #[cfg(feature = "mcp")]
    pub(crate) mcp_sessions: redress_mcp::OpenSessions,
}

impl ServerState {
    /// One whose connections may take no more than these leave them.
    pub(crate) fn within(descriptors: Option<Descriptors>) -> ServerState {
        ServerState { descriptors, ..ServerState::default() }
    }

    /// Remembers what is no longer served; forgets of what was remembered before where nothing runs, and
    /// nobody is left who could begin something.
    pub(crate) fn remember(&self, served: &Arc<FacesInner>) {
        let mut earlier = self.earlier.lock().unwrap_or_else(PoisonError::into_inner);
        earlier.retain(|(registry, shared)| shared.strong_count() > 0 || !registry.is_settled());
        earlier.push((served.registry.clone(), Arc::downgrade(served)));
    }

    /// Resolves when no call runs that goes on without its caller, in what is served or was.
    pub(crate) async fn settled(&self, served: &Registry) {
        let earlier = std::mem::take(&mut *self.earlier.lock().unwrap_or_else(PoisonError::into_inner));
        for registry in earlier.iter().map(|(registry, _)| registry).chain([served]) {
            registry.settled().await;
        }
    }

    /// Closes the connection on which nothing was asked for longest, of the address that has most, for
    /// one more of `newcomer`; says whether there was one. Nobody makes way for whoever has as many, so
    /// that two who want the last place do not take it from each other in turns.
    pub(crate) fn evict_idle(&self, newcomer: Option<IpAddr>) -> bool {
        let Some((holder, held)) = self.by_address.largest() else { return false };
        let own = newcomer.map_or(0, |newcomer| self.by_address.count(&newcomer));
        let closed = held > own && self.tracker.close_idle(holder);
        if closed {
            self.counters.idle.up();
        }
        closed
    }

    /// What is counted here.
    pub(crate) fn stats(&self) -> ServerStats {
        let usage = self.budget.usage();
        let mut stats = self.counters.read();
        (stats.answer_bytes, stats.answer_bytes_peak) = (usage.held as u64, usage.peak as u64);
        (stats.waited_answers, stats.refused_answers) = (usage.waited, usage.refused);
        stats
    }

    /// Ends whatever is still there.
    pub(crate) fn close(&self) {
        self.shutdown.drain();
        self.shutdown.finish();
        self.tracker.tell(ConnCommand::Close);
    }
}

/// Who holds something open.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Holder {
    Caller(Arc<str>),
    Address(IpAddr),
    Unknown,
}

impl Holder {
    pub(crate) fn of(caller: Option<&Caller>, address: Option<IpAddr>) -> Holder {
        match (caller, address) {
            (Some(caller), _) => Holder::Caller(caller.id().into()),
            (None, Some(address)) => Holder::Address(client_prefix(address)),
            (None, None) => Holder::Unknown,
        }
    }
}

/// A WebSocket or a stream that is open, and counted as such.
#[derive(Debug)]
pub(crate) struct OpenPermit {
    server_state: Arc<ServerState>,
    counter: fn(&Counters) -> &Counter,
    _counted: TallyPermit<Holder>,
}

impl Drop for OpenPermit {
    fn drop(&mut self) {
        (self.counter)(&self.server_state.counters).down();
    }
}

impl ServerState {
    /// One more WebSocket for its holder.
    pub(crate) fn take_socket(self: &Arc<ServerState>, holder: Holder, max: usize) -> Result<OpenPermit, Refusal> {
        self.take(&self.sockets_of, |counters| &counters.sockets, "sockets", holder, max)
    }

    /// One more stream for its holder.
    pub(crate) fn take_stream(self: &Arc<ServerState>, holder: Holder, max: usize) -> Result<OpenPermit, Refusal> {
        self.take(&self.streams_of, |counters| &counters.streams, "streams", holder, max)
    }

    fn take(
        self: &Arc<ServerState>,
        tally: &Arc<Tally<Holder>>,
        counter: fn(&Counters) -> &Counter,
        limit: &str,
        holder: Holder,
        max: usize,
    ) -> Result<OpenPermit, Refusal> {
        let Some(counted) = tally.take(holder, max) else {
            self.counters.refused_by_caller.up();
            return Err(Refusal::new(EngineCode::RateLimited)
                .with_details(&json!({"limit": limit, "per": "caller", "open": max}))
                .with_hint(format!("Close one of your {limit} first, or wait until one has ended."))
                .with_retry_after_ms(1000));
        };
        counter(&self.counters).up();
        Ok(OpenPermit { server_state: Arc::clone(self), counter, _counted: counted })
    }
}

/// How many of something each holder has.
#[derive(Debug)]
pub(crate) struct Tally<K>(Mutex<HashMap<K, usize>>);

impl<K> Default for Tally<K> {
    fn default() -> Tally<K> {
        Tally(Mutex::default())
    }
}

/// One of what is counted; dropping it gives it back.
#[derive(Debug)]
pub(crate) struct TallyPermit<K: Eq + Hash> {
    tally: Arc<Tally<K>>,
    key: K,
}

impl<K: Eq + Hash + Clone> Tally<K> {
    /// One more for `key`, unless it has `max` already.
    pub(crate) fn take(self: &Arc<Tally<K>>, key: K, max: usize) -> Option<TallyPermit<K>> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = held.entry(key.clone()).or_default();
        if *count >= max {
            if *count == 0 {
                held.remove(&key);
            }
            return None;
        }
        *count += 1;
        drop(held);
        Some(TallyPermit { tally: Arc::clone(self), key })
    }
}

impl<K: Eq + Hash + Clone> Tally<K> {
    /// How many `key` has.
    fn count(&self, key: &K) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).copied().unwrap_or_default()
    }

    /// Who has most, and how many.
    fn largest(&self) -> Option<(K, usize)> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.iter().max_by_key(|(_, count)| **count).map(|(key, count)| (key.clone(), *count))
    }
}

impl<K: Eq + Hash> Drop for TallyPermit<K> {
    fn drop(&mut self) {
        let mut held = self.tally.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = held.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.key);
            }
        }
    }
}

/// What an address counts as: whoever has one of IPv6 has a whole /64 of them.
pub(crate) fn client_prefix(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() & !u128::from(u64::MAX)).into()),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use redress_core::{Layers, Operation, Request, contract};
    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test]
    async fn what_was_served_is_forgotten_when_its_own_calls_have_ended() {
        let (began, go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let gates = (Arc::clone(&began), Arc::clone(&go));
        let declared = contract::OperationDeclaration::mutation("pay.send").with_summary("Pay.").with_idempotency_key();
        let operation =
            Operation::dynamic(declared.with_access(contract::Access::anyone())).with_handler(move |_, _| {
                let (began, go) = gates.clone();
                async move {
                    began.add_permits(1);
                    go.acquire().await.unwrap().forget();
                    Ok(serde_json::Value::Null)
                }
            });
        let first = Registry::builder().add(operation).build().unwrap();
        let (second, third) = (first.with_layers(Layers::new()), first.with_layers(Layers::new()));
        let server_state = Arc::new(ServerState::default());
        let remember =
            |registry: &Registry| server_state.remember(&crate::Faces::new(registry.clone()).shared(&server_state));
        let remembered = || server_state.earlier.lock().unwrap().len();
        // One key after the other is at work, each under what was served when it came.
        let call = |registry: &Registry, key: &'static str| {
            let registry = registry.clone();
            tokio::spawn(async move {
                registry.call("pay.send", Request::new(b"{}").with_idempotency_key(key)).await;
            })
        };
        let one = call(&first, "one");
        began.acquire().await.unwrap().forget();
        remember(&first);
        let two = call(&second, "two");
        began.acquire().await.unwrap().forget();
        remember(&second);
        assert_eq!(remembered(), 2);
        go.add_permits(1);
        one.await.unwrap();
        remember(&third);
        assert_eq!(remembered(), 2, "the second, whose call runs, and the third, which has just been replaced");
        // Whoever goes down waits for all of them all the same.
        let mut settled = Box::pin(server_state.settled(&third));
        assert!(futures_util::poll!(&mut settled).is_pending());
        go.add_permits(1);
        settled.await;
        two.await.unwrap();
    }

    #[test]
    fn what_is_given_back_can_be_taken_again() {
        let tally = Arc::new(Tally::default());
        let first = tally.take("ada", 2);
        let second = tally.take("ada", 2);
        assert!(first.is_some() && second.is_some() && tally.take("ada", 2).is_none());
        assert!(tally.take("bob", 2).is_some() && tally.take("bob", 0).is_none());
        drop(first);
        assert!(tally.take("ada", 2).is_some());
        drop(second);
        assert!(tally.0.lock().unwrap().is_empty());
    }

    #[test]
    fn what_was_served_is_remembered_for_as_long_as_a_message_is_in_it() {
        let server_state = Arc::new(ServerState::default());
        let served = || crate::Faces::new(Registry::builder().build().unwrap()).shared(&server_state);
        let remembered = || server_state.earlier.lock().unwrap().len();
        let in_use = served();
        server_state.remember(&in_use);
        server_state.remember(&served());
        server_state.remember(&served());
        assert_eq!(remembered(), 2);
        drop(in_use);
        server_state.remember(&served());
        assert_eq!(remembered(), 1);
    }

    #[test]
    fn an_address_of_ipv6_counts_with_its_neighbours() {
        let counted = |address: &str| client_prefix(address.parse().unwrap());
        assert_eq!(counted("2001:db8::1"), counted("2001:db8::ffff:2"));
        assert_ne!(counted("2001:db8:0:1::1"), counted("2001:db8::1"));
        assert_eq!(counted("::ffff:10.0.0.1"), counted("10.0.0.1"));
    }
}
