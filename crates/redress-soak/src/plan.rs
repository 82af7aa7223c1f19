//! What the clients will ask for. The same seed gives the same plan, message by message.

use fastrand::Rng;
use serde_json::{Value, json};

use crate::ending::Ending;

/// The way by which a message goes to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// The operation's own path, over HTTP/1.1.
    Http1,
    /// The operation's own path, over HTTP/2.
    Http2,
    /// `/call`.
    Call,
    /// `/batch`.
    Batch,
    /// `/rpc`.
    Rpc,
    /// `/ws`.
    WebSocket,
    /// `/mcp`.
    Mcp,
}

impl Way {
    pub(crate) const ALL: [Way; 7] =
        [Way::Http1, Way::Http2, Way::Call, Way::Batch, Way::Rpc, Way::WebSocket, Way::Mcp];

    /// The face that the records of the server name.
    pub(crate) const fn face(self) -> &'static str {
        match self {
            Way::Http1 | Way::Http2 | Way::Call | Way::Batch => "http",
            Way::Rpc => "jsonrpc",
            Way::WebSocket => "websocket",
            Way::Mcp => "mcp",
        }
    }
}

/// One call: an operation and its input, and with it how the call has to end.
#[derive(Clone, Debug)]
pub(crate) enum What {
    Read {
        n: u64,
    },
    /// The same under a quota, where there is one.
    Counted {
        n: u64,
    },
    Large {
        bytes: usize,
    },
    Wait {
        ms: u64,
    },
    Add {
        entry: String,
        before_ms: u64,
        after_ms: u64,
        refuse: bool,
    },
    Refuse {
        n: u64,
    },
    Fault {
        panic: bool,
    },
    Follow {
        items: u64,
        every_ms: u64,
        bytes: usize,
    },
    Misspelt {
        n: u64,
    },
    Agreed {
        n: u64,
    },
    Grant {
        minutes: u64,
    },
}

impl What {
    pub(crate) const fn operation(&self) -> &'static str {
        match self {
            What::Read { .. } | What::Misspelt { .. } => "soak.read",
            What::Counted { .. } => "soak.counted",
            What::Large { .. } => "soak.large",
            What::Wait { .. } => "soak.wait",
            What::Add { .. } => "soak.add",
            What::Refuse { .. } => "soak.refuse",
            What::Fault { .. } => "soak.fault",
            What::Follow { .. } => "soak.follow",
            What::Agreed { .. } => "soak.agreed",
            What::Grant { .. } => "consent.grant",
        }
    }

    pub(crate) fn input(&self) -> Value {
        match self {
            What::Read { n } | What::Counted { n } | What::Refuse { n } | What::Agreed { n } => json!({"n": n}),
            What::Large { bytes } => json!({"bytes": bytes}),
            What::Wait { ms } => json!({"ms": ms}),
            What::Add { entry, before_ms, after_ms, refuse } => {
                json!({"entry": entry, "before_ms": before_ms, "after_ms": after_ms, "refuse": refuse})
            }
            What::Fault { panic } => json!({"panic": panic}),
            What::Follow { items, every_ms, bytes } => json!({"items": items, "every_ms": every_ms, "bytes": bytes}),
            What::Misspelt { n } => json!({"nn": n}),
            What::Grant { minutes } => json!({"operation": "soak.agreed", "minutes": minutes}),
        }
    }

    pub(crate) const fn is_stream(&self) -> bool {
        matches!(self, What::Follow { .. })
    }

    /// Whether the call ended as its declaration says that it does where nothing is in its way.
    pub(crate) fn is_met_by(&self, ending: &Ending) -> bool {
        match (self, ending) {
            (What::Read { n } | What::Counted { n } | What::Agreed { n }, Ending::Output(output)) => {
                output["n"] == *n && output["square"] == n.wrapping_mul(*n)
            }
            (What::Large { bytes }, Ending::Output(output)) => {
                output["text"].as_str().is_some_and(|text| text.len() == *bytes)
            }
            (What::Wait { ms }, Ending::Output(output)) => output["ms"] == *ms,
            (What::Add { entry, refuse: false, .. }, Ending::Output(output)) => output["entry"] == entry.as_str(),
            (What::Grant { minutes }, Ending::Output(output)) => output["minutes"] == *minutes,
            (What::Follow { items, .. }, Ending::Output(output)) => output["items"] == *items,
            (_, Ending::Failure(failure)) => self.failure() == Some(failure.code.as_str()),
            (_, Ending::Output(_) | Ending::Cut(_) | Ending::Silent) => false,
        }
    }

    /// The code that the call fails with where nothing else is in its way.
    const fn failure(&self) -> Option<&'static str> {
        match self {
            What::Add { refuse: true, .. } => Some("ENTRY_REFUSED"),
            What::Refuse { .. } => Some("NOTHING_THERE"),
            What::Fault { .. } => Some("INTERNAL"),
            What::Misspelt { .. } => Some("INVALID_INPUT"),
            What::Read { .. }
            | What::Counted { .. }
            | What::Large { .. }
            | What::Wait { .. }
            | What::Add { refuse: false, .. }
            | What::Follow { .. }
            | What::Agreed { .. }
            | What::Grant { .. } => None,
        }
    }
}

/// What one client sends at once: one call, or several in a batch.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    /// The client's own name for it, and for its call; the calls of a batch have it with their place behind it.
    pub(crate) id: String,
    pub(crate) way: Way,
    pub(crate) calls: Vec<What>,
    /// What makes it safe to repeat.
    pub(crate) key: Option<String>,
}

impl Message {
    pub(crate) fn one(id: impl Into<String>, way: Way, call: What) -> Message {
        Message { id: id.into(), way, calls: vec![call], key: None }
    }

    pub(crate) fn with_key(mut self, key: impl Into<String>) -> Message {
        self.key = Some(key.into());
        self
    }

    /// The same message once more, under a name of its own.
    pub(crate) fn again(&self, id: impl Into<String>) -> Message {
        Message { id: id.into(), ..self.clone() }
    }

    /// The request id of the call at a place.
    pub(crate) fn call_id(&self, place: usize) -> String {
        self.placed(&self.id, place)
    }

    /// The idempotency key of the call at a place.
    pub(crate) fn call_key(&self, place: usize) -> Option<String> {
        self.key.as_ref().map(|key| self.placed(key, place))
    }

    fn placed(&self, name: &str, place: usize) -> String {
        if self.way == Way::Batch { format!("{name}:{place}") } else { name.to_owned() }
    }
}

/// What a plan is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mix {
    /// Everything, as it comes.
    All,
    /// Mostly calls with an effect, with time around it in which a process can die.
    Effects,
    /// Calls without streams and faults, of some milliseconds.
    Plain,
}

/// The plan of one client: messages without end, which the seed and the client's name decide.
pub(crate) struct Plan {
    rng: Rng,
    name: String,
    mix: Mix,
    made: u64,
}

impl Plan {
    pub(crate) fn new(seed: u64, name: &str, mix: Mix) -> Plan {
        // FNV-1a: the standard hasher may change between versions of Rust, and a plan must not.
        let hash = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Plan { rng: Rng::with_seed(seed ^ hash), name: name.to_owned(), mix, made: 0 }
    }

    /// The next message.
    pub(crate) fn next_message(&mut self) -> Message {
        self.made += 1;
        let id = format!("{}.{}", self.name, self.made);
        let way = Way::ALL[self.rng.usize(..Way::ALL.len())];
        let count = if way == Way::Batch { self.rng.usize(2..=5) } else { 1 };
        let mut calls: Vec<What> = (0..count).map(|place| self.call(&format!("{id}-{place}"), way)).collect();
        let has_effect = |call: &What| matches!(call, What::Add { .. });
        let key = calls.iter().any(has_effect).then(|| format!("k-{id}"));
        if key.is_some() {
            // The key of a message is each of its calls' own, and is refused where none is taken.
            for (place, call) in calls.iter_mut().enumerate().filter(|(_, call)| !has_effect(call)) {
                *call = add(&mut self.rng, &format!("{id}-{place}"), 5);
            }
        }
        Message { id, way, calls, key }
    }

    fn call(&mut self, entry: &str, way: Way) -> What {
        let rng = &mut self.rng;
        let n = rng.u64(..1_000_000);
        let dice = rng.u32(..100);
        // A batch takes no streams.
        let streams = way != Way::Batch && way != Way::Call && way != Way::Rpc;
        match self.mix {
            Mix::All => match dice {
                0..40 => What::Read { n },
                40..55 => What::Wait { ms: rng.u64(1..30) },
                55..75 => add(rng, entry, 5),
                75..80 => What::Refuse { n },
                80..83 => What::Fault { panic: rng.bool() },
                83..87 => What::Misspelt { n },
                87..92 => What::Large { bytes: rng.usize(1_000..200_000) },
                _ if streams => {
                    What::Follow { items: rng.u64(1..12), every_ms: rng.u64(..8), bytes: rng.usize(..2_000) }
                }
                _ => What::Read { n },
            },
            Mix::Effects => match dice {
                0..80 => add(rng, entry, 40),
                80..90 => What::Read { n },
                _ => What::Wait { ms: rng.u64(5..60) },
            },
            Mix::Plain => match dice {
                0..50 => What::Read { n },
                50..75 => What::Wait { ms: rng.u64(1..10) },
                75..95 => add(rng, entry, 3),
                _ => What::Refuse { n },
            },
        }
    }
}

fn add(rng: &mut Rng, entry: &str, at_most_ms: u64) -> What {
    What::Add {
        entry: entry.to_owned(),
        before_ms: rng.u64(..=at_most_ms),
        after_ms: rng.u64(..=at_most_ms),
        refuse: rng.u32(..10) == 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(seed: u64, name: &str) -> Vec<String> {
        let mut plan = Plan::new(seed, name, Mix::All);
        (0..100).map(|_| format!("{:?}", plan.next_message())).collect()
    }

    #[test]
    fn the_same_seed_and_name_give_the_same_plan_and_others_another() {
        assert_eq!(told(7, "steady-1"), told(7, "steady-1"));
        assert_ne!(told(7, "steady-1"), told(8, "steady-1"));
        let without_names = |name: &str| told(7, name).join("").replace(name, "");
        assert_ne!(without_names("steady-1"), without_names("steady-2"));
    }

    #[test]
    fn a_plan_of_everything_takes_every_way_and_every_operation_that_needs_no_consent() {
        let mut plan = Plan::new(1, "all", Mix::All);
        let messages: Vec<Message> = (0..2_000).map(|_| plan.next_message()).collect();
        for way in Way::ALL {
            assert!(messages.iter().any(|message| message.way == way), "{way:?}");
        }
        for operation in
            ["soak.read", "soak.large", "soak.wait", "soak.add", "soak.refuse", "soak.fault", "soak.follow"]
        {
            let found = messages.iter().flat_map(|message| &message.calls).any(|call| call.operation() == operation);
            assert!(found, "{operation}");
        }
    }
}
