//! What the clients saw: every call that was made, with its ending.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use parking_lot::Mutex;

use crate::{
    client::{Answered, Identity},
    ending::Ending,
    measure::Latencies,
    plan::{Message, What},
};

/// One call, as its client saw it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) id: String,
    pub(crate) caller: Arc<str>,
    pub(crate) face: &'static str,
    pub(crate) what: What,
    pub(crate) key: Option<String>,
    pub(crate) ending: Ending,
    pub(crate) took: Duration,
}

/// Every call that was made. Clones are one ledger.
#[derive(Clone, Default)]
pub(crate) struct Ledger {
    seen: Arc<Mutex<Vec<Seen>>>,
    gave_up: Arc<Mutex<Vec<String>>>,
}

impl Ledger {
    pub(crate) fn enter(&self, message: &Message, identity: &Identity, answered: &Answered) {
        let mut ledger = self.seen.lock();
        for (place, (what, ending)) in message.calls.iter().zip(&answered.endings).enumerate() {
            ledger.push(Seen {
                id: message.call_id(place),
                caller: Arc::clone(&identity.caller),
                face: message.way.face(),
                what: what.clone(),
                key: message.call_key(place),
                ending: ending.clone(),
                took: answered.took,
            });
        }
    }

    /// Enters a message whose client went away on purpose.
    pub(crate) fn enter_cut(&self, message: &Message, identity: &Identity) {
        let endings = vec![Ending::Cut("the client went away".to_owned()); message.calls.len()];
        self.enter(message, identity, &Answered { endings, took: Duration::ZERO });
    }

    /// Enters that a client was turned away until it had no more patience.
    pub(crate) fn gave_up(&self, id: &str) {
        self.gave_up.lock().push(id.to_owned());
    }

    /// The messages whose clients had no more patience.
    pub(crate) fn given_up(&self) -> Vec<String> {
        self.gave_up.lock().clone()
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().clone()
    }

    /// How many calls ended in which way.
    pub(crate) fn endings(&self) -> BTreeMap<String, usize> {
        let mut endings = BTreeMap::new();
        for seen in self.seen() {
            let name = match &seen.ending {
                Ending::Output(_) => "ok",
                Ending::Failure(told) => &told.code,
                Ending::Cut(_) => "cut",
                Ending::Silent => "silent",
            };
            *endings.entry(name.to_owned()).or_default() += 1;
        }
        endings
    }

    /// How long the calls took that were answered as they should be.
    pub(crate) fn latencies(&self) -> Latencies {
        let mut latencies = Latencies::default();
        self.seen().iter().filter(|seen| seen.what.is_met_by(&seen.ending)).for_each(|seen| latencies.push(seen.took));
        latencies
    }
}
