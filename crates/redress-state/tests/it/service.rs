//! A small service on a state, and what tests ask about both.

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use redress_core::{
    DynamicFailure, Layers, Operation, Registry, Request, consent_grant, consent_list, consent_revoke,
    contract::{self, Access, Caller, Envelope, FailureDeclaration, Kind, Recovery},
};
use redress_state::{Clock, StateOptions, StateStore};
use serde_json::{Value, json};
use sqlx::{ConnectOptions as _, SqliteConnection, sqlite::SqliteConnectOptions};

/// How often each handler ran.
#[derive(Clone, Debug, Default)]
pub(crate) struct Runs(Arc<AtomicU64>);

impl Runs {
    pub(crate) fn up(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// A service with `pay.send`, `pay.fail`, `pay.wipe` and the operations of consent, on this state.
pub(crate) fn service(state: &StateStore, runs: &Runs) -> Registry {
    let (sending, failing) = (runs.clone(), runs.clone());
    let send = Operation::dynamic(open("pay.send").with_idempotency_key())
        .with_handler(move |_, _| std::future::ready(Ok(json!({"receipt": sending.up()}))));
    let empty = FailureDeclaration::new("ACCOUNT_EMPTY", Kind::Conflict)
        .with_when("There is no money left.")
        .with_message("there is no money left")
        .with_recovery(Recovery::stop("There is nothing left to try here."));
    let fail = Operation::dynamic(open("pay.fail").with_idempotency_key().fails(empty)).with_handler(move |_, _| {
        failing.up();
        std::future::ready(Err(DynamicFailure::new("ACCOUNT_EMPTY", json!({})).into()))
    });
    let wipe = contract::OperationDeclaration::mutation("pay.wipe")
        .with_summary("Erase everything.")
        .with_access(Access::caller().consent());
    let wipe = Operation::dynamic(wipe).with_handler(|_, _| std::future::ready(Ok(json!("wiped"))));
    let builder = Registry::builder().add(send).add(fail).add(wipe);
    let registry = builder.add(consent_grant()).add(consent_list()).add(consent_revoke()).build().unwrap();
    registry.with_layers(Layers::new().consent(state.consents()).idempotency(state.keys()).audit(state.audit()))
}

fn open(name: &str) -> contract::OperationDeclaration {
    contract::OperationDeclaration::mutation(name)
        .with_summary("Serve a test.")
        .with_access(Access::anyone())
        .with_input(json!({"type": "object"}))
}

pub(crate) async fn open_state(folder: &Path) -> StateStore {
    StateStore::open(StateOptions::new(folder)).await.unwrap()
}

/// A call as ada, in person.
pub(crate) async fn call(registry: &Registry, name: &str, input: &Value) -> Envelope {
    let ada = Caller::new("ada").scope(contract::CONSENT_GRANT);
    let request = Request::new(input.to_string().into_bytes()).with_caller(ada);
    registry.call(name, request).await
}

/// A call as ada, with a key.
pub(crate) async fn keyed(registry: &Registry, name: &str, key: &str, input: &Value) -> Envelope {
    let request = Request::new(input.to_string().into_bytes()).with_caller(Caller::new("ada"));
    registry.call(name, request.with_idempotency_key(key)).await
}

/// A connection of somebody else's.
pub(crate) async fn other(folder: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(folder.join("redress.db")).connect().await.unwrap()
}

/// Waits until something is so, in real time, and not for ever.
pub(crate) async fn until(mut is_so: impl FnMut() -> bool) {
    let wait = async {
        let mut look = tokio::time::interval(Duration::from_millis(2));
        while !is_so() {
            look.tick().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait).await.expect("it comes within a minute");
}

/// Clocks that a test sets.
#[derive(Debug)]
pub(crate) struct Hands(Mutex<(SystemTime, Duration)>, AtomicBool);

impl Hands {
    pub(crate) fn new() -> Arc<Hands> {
        Arc::new(Hands(Mutex::new((SystemTime::now(), Duration::ZERO)), AtomicBool::new(false)))
    }

    /// Clocks that show this time, in seconds since 1970.
    pub(crate) fn at(seconds: u64) -> Arc<Hands> {
        let wall = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        Arc::new(Hands(Mutex::new((wall, Duration::ZERO)), AtomicBool::new(false)))
    }

    /// Breaks the clock that runs: whoever asks it next dies.
    pub(crate) fn stop(&self) {
        self.1.store(true, Ordering::SeqCst);
    }

    /// Lets time pass, on both clocks.
    pub(crate) fn pass(&self, time: Duration) {
        let mut hands = self.0.lock().unwrap();
        hands.0 += time;
        hands.1 += time;
    }

    /// Sets the clock on the wall ahead.
    pub(crate) fn set_ahead(&self, by: Duration) {
        self.0.lock().unwrap().0 += by;
    }

    /// Sets the clock on the wall back.
    pub(crate) fn set_back(&self, by: Duration) {
        self.0.lock().unwrap().0 -= by;
    }
}

impl Clock for Hands {
    fn wall(&self) -> SystemTime {
        self.0.lock().unwrap().0
    }

    fn running(&self) -> Duration {
        assert!(!self.1.load(Ordering::SeqCst), "the clock is broken");
        self.0.lock().unwrap().1
    }
}
