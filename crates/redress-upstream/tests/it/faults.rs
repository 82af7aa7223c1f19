//! A service that dies, hangs and comes back, under load: each call has one outcome, others are not hurt, and nothing is
//! done twice.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use self::tasks::Abort;
use axum::{
    Json, Router,
    extract::State,
    http::HeaderMap,
    routing::{get, post},
};
use redress_core::Registry;
use redress_import::{ReadOptions, openapi};
use redress_upstream::{BreakerState, Upstream};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle, time::Instant};

use crate::mock::{Reply, Service, THINGS, call, config, registry, request, things};

/// A task that ends with the test that started it.
mod tasks {
    pub(super) struct Abort<T>(pub(super) tokio::task::JoinHandle<T>);

    impl<T> Drop for Abort<T> {
        fn drop(&mut self) {
            self.0.abort();
        }
    }
}

/// What a service did, whatever became of its answers.
#[derive(Clone, Default)]
struct Ledger {
    made: Arc<Mutex<HashMap<String, u64>>>,
    keys: Arc<Mutex<HashMap<String, u64>>>,
    asked: Arc<AtomicU64>,
}

fn service(ledger: Ledger, hangs: bool) -> Router {
    let made = async move |State(ledger): State<Ledger>, headers: HeaderMap, Json(body): Json<Value>| {
        ledger.asked.fetch_add(1, Ordering::Relaxed);
        let name = body["name"].as_str().unwrap_or_default().to_owned();
        *ledger.made.lock().unwrap().entry(name).or_default() += 1;
        if let Some(key) = headers.get("idempotency-key") {
            *ledger.keys.lock().unwrap().entry(key.to_str().unwrap().to_owned()).or_default() += 1;
        }
        if hangs {
            tokio::time::sleep(Duration::from_secs(60)).await;
        }
        (axum::http::StatusCode::CREATED, Json(json!({"id": 1})))
    };
    let read = async move |State(ledger): State<Ledger>| {
        ledger.asked.fetch_add(1, Ordering::Relaxed);
        if hangs {
            tokio::time::sleep(Duration::from_secs(60)).await;
        }
        Json(json!({"id": 1}))
    };
    Router::new().route("/things", post(made).get(read)).route("/things/{id}", get(read)).with_state(ledger)
}

async fn bind(address: SocketAddr) -> TcpListener {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        match TcpListener::bind(address).await {
            Ok(listener) => return listener,
            Err(error) if Instant::now() > until => panic!("{error}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

/// Serves until it is dropped. Its connections are cut then, as by a process that is killed.
fn serve(listener: TcpListener, router: Router) -> Abort<()> {
    Abort(tokio::spawn(async move {
        let mut connections = tokio::task::JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            let service = hyper_util::service::TowerToHyperService::new(router.clone());
            connections.spawn(async move {
                let stream = hyper_util::rt::TokioIo::new(stream);
                let _ = hyper_util::server::conn::auto::Builder::new(hyper_util::rt::TokioExecutor::new())
                    .serve_connection(stream, service)
                    .await;
            });
        }
    }))
}

/// What became of a call.
type Outcomes = Arc<Mutex<Vec<(String, String, Value)>>>;

/// Calls from `workers` callers at once until they are told to stop; each mutation has a name of its own.
fn load(registry: &Registry, prefix: &str, workers: usize, stop: &Arc<AtomicU64>) -> (Vec<JoinHandle<u64>>, Outcomes) {
    let outcomes: Outcomes = Arc::default();
    let tasks = (0..workers).map(|worker| {
        let (registry, outcomes, stop, prefix) =
            (registry.clone(), Arc::clone(&outcomes), Arc::clone(stop), prefix.to_owned());
        tokio::spawn(async move {
            let mut made = 0;
            while stop.load(Ordering::Relaxed) == 0 {
                let name = format!("{worker}-{made}");
                let (operation, input) = if made % 2 == 0 {
                    (format!("{prefix}things.make_thing"), json!({"name": name}))
                } else {
                    (format!("{prefix}things.get_thing"), json!({"id": "1"}))
                };
                let envelope = registry.call(&operation, request(input)).await;
                let envelope: Value = serde_json::from_slice(&envelope.into_bytes()).unwrap();
                outcomes.lock().unwrap().push((operation, name, envelope));
                made += 1;
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            made
        })
    });
    (tasks.collect(), outcomes)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_dies_hangs_and_comes_back_hurts_nobody_else_and_does_nothing_twice() {
    let ledger = Ledger::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let alive = serve(listener, service(ledger.clone(), false));
    let (_healthy, well) = Service::start([Reply::json(200, &json!({"id": 1}))]).await;

    let mut sick = config(address);
    sick.deadline = Some(Duration::from_millis(300));
    let sick = Upstream::new(crate::mock::imported(THINGS), sick).unwrap();
    let mut other = config(well);
    other.name = "other".to_owned();
    let options = ReadOptions { prefix: Some("other".to_owned()), ..ReadOptions::default() };
    let other = Upstream::new(openapi::read(THINGS.as_bytes(), &options).unwrap(), other).unwrap();
    let registry = registry([sick.clone(), other]);

    let stop = Arc::new(AtomicU64::new(0));
    let (mut tasks, outcomes) = load(&registry, "", 8, &stop);
    let (healthy_tasks, healthy) = load(&registry, "other.", 2, &stop);
    tasks.extend(healthy_tasks);
    let pass = |ms| tokio::time::sleep(Duration::from_millis(ms));
    pass(500).await;
    drop(alive);
    pass(800).await;
    assert!(!sick.status().await.is_ready(), "{:?}", sick.status().await);
    let hanging = serve(bind(address).await, service(ledger.clone(), true));
    pass(1500).await;
    drop(hanging);
    let _again = serve(bind(address).await, service(ledger.clone(), false));
    // It comes back by itself.
    let until = Instant::now() + Duration::from_secs(10);
    while sick.status().await.state() != "connected" {
        assert!(Instant::now() < until, "{:?}", sick.status().await);
        pass(20).await;
    }
    let before = ledger.asked.load(Ordering::Relaxed);
    pass(500).await;
    assert!(ledger.asked.load(Ordering::Relaxed) > before, "calls go through again");
    stop.store(1, Ordering::Relaxed);
    let mut made = 0;
    for task in tasks {
        made += task.await.unwrap();
    }

    let (outcomes, healthy) = (outcomes.lock().unwrap(), healthy.lock().unwrap());
    assert_eq!(outcomes.len() + healthy.len(), usize::try_from(made).unwrap(), "one outcome for each call");
    for (operation, _, envelope) in healthy.iter() {
        assert!(envelope["ok"] == true || operation.contains("make"), "{operation} {envelope}");
        assert_ne!(envelope["code"], "UPSTREAM_UNREACHABLE", "{envelope}");
    }
    let counted = ledger.made.lock().unwrap();
    let mut ends: HashMap<String, usize> = HashMap::new();
    for (operation, name, envelope) in outcomes.iter() {
        *ends.entry(envelope["code"].as_str().unwrap_or("ok").to_owned()).or_default() += 1;
        if !operation.ends_with("make_thing") {
            continue;
        }
        let effects = counted.get(name).copied().unwrap_or(0);
        assert!(effects <= 1, "{name} was made {effects} times: {envelope}");
        if envelope["ok"] == true {
            assert_eq!(effects, 1, "{name}");
        } else if envelope["effect"] == "none" {
            assert_eq!(effects, 0, "nothing was to have happened: {envelope}");
        }
    }
    assert!(ends.contains_key("ok") && ends.contains_key("UPSTREAM_UNREACHABLE"), "{ends:?}");
    assert!(
        ends.keys().all(|code| ["ok", "UPSTREAM_UNREACHABLE", "TIMEOUT", "OVERLOADED"].contains(&code.as_str())),
        "{ends:?}"
    );
}

#[tokio::test]
async fn while_the_breaker_is_open_nothing_is_sent_and_the_answer_comes_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let mut config = config(address);
    config.retries = 0;
    config.breaker.pause = Duration::from_secs(20);
    config.breaker.max_pause = Duration::from_secs(20);
    let (registry, upstream) = things(config);
    for _ in 0..5 {
        let envelope = call(&registry, "things.make_thing", json!({"name": "a"})).await;
        assert_eq!(envelope["code"], "UPSTREAM_UNREACHABLE");
        assert_eq!(envelope["effect"], "none", "the connection was never made: {envelope}");
        assert_eq!(envelope["retry"], "safe");
    }
    let sent = upstream.status().await.sent;
    let since = Instant::now();
    for _ in 0..100 {
        let envelope = call(&registry, "things.make_thing", json!({"name": "a"})).await;
        assert_eq!(
            (&envelope["code"], &envelope["details"]["reason"]),
            (&json!("UPSTREAM_UNREACHABLE"), &json!("open"))
        );
        let next = envelope["details"]["next_probe_ms"].as_u64().unwrap();
        assert!((1..=22_000).contains(&next), "{next}");
        assert_eq!(envelope["retry_after_ms"], next);
    }
    assert!(since.elapsed() < Duration::from_secs(2), "{:?}", since.elapsed());
    let status = upstream.status().await;
    assert_eq!((status.sent, status.state(), status.is_ready()), (sent, "cooling_down", false));
    assert!(matches!(status.breaker, BreakerState::Open { .. }));
    assert_eq!(status.trouble, Some("connect"));
}

/// A caller chooses a deadline for itself, and must not be able to shut a healthy service for everybody by that.
#[tokio::test]
async fn a_hurried_caller_does_not_open_the_breaker_for_others() {
    let (_service, address) =
        Service::start([Reply::json(200, &json!({"id": "1", "name": "a"})).after(Duration::from_millis(60))]).await;
    let (registry, upstream) = things(config(address));
    for _ in 0..20 {
        let hurried = request(json!({"id": "1"})).with_deadline(Duration::from_millis(2));
        assert_eq!(registry.call("things.get_thing", hurried).await.code(), Some("TIMEOUT"));
    }
    assert_eq!(upstream.status().await.breaker, BreakerState::Closed);
    assert_eq!(call(&registry, "things.get_thing", json!({"id": "1"})).await["ok"], true);
}

#[tokio::test]
async fn a_service_that_was_down_at_the_start_comes_by_itself() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let (registry, upstream) = things(config(address));
    assert!(!upstream.is_reachable(Duration::from_secs(1)).await);
    for _ in 0..5 {
        assert_eq!(call(&registry, "things.get_thing", json!({"id": "1"})).await["ok"], false);
    }
    let _serving = serve(bind(address).await, service(Ledger::default(), false));
    let until = Instant::now() + Duration::from_secs(10);
    while call(&registry, "things.get_thing", json!({"id": "1"})).await["ok"] != true {
        assert!(Instant::now() < until);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(upstream.is_reachable(Duration::from_secs(1)).await);
}

#[tokio::test]
async fn a_caller_that_leaves_takes_its_request_along() {
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let address = crate::mock::raw(move |mut stream| {
        let tell = tell.clone();
        async move {
            let mut byte = [0];
            // The end of the connection is all that can come.
            let _ = tokio::io::AsyncReadExt::read(&mut stream, &mut byte).await;
            let _ = tell.send(());
        }
    })
    .await;
    let (registry, upstream) = things(config(address));
    let calling = tokio::spawn(async move { call(&registry, "things.make_thing", json!({"name": "a"})).await });
    let until = Instant::now() + Duration::from_secs(5);
    while upstream.status().await.sent == 0 {
        assert!(Instant::now() < until, "nothing is sent");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    calling.abort();
    tokio::time::timeout(Duration::from_secs(3), told.recv()).await.expect("the connection ends").unwrap();
    let status = upstream.status().await;
    assert_eq!((status.in_flight, status.failures), (0, 0), "a caller that leaves says nothing about the service");
}

#[tokio::test]
async fn too_many_calls_at_once_wait_and_then_are_told_to_come_again() {
    let (_, address) = Service::start([Reply::json(200, &json!({"id": 1})).after(Duration::from_millis(400))]).await;
    let mut config = config(address);
    config.concurrency = 1;
    config.queue_timeout = Duration::from_millis(100);
    let (registry, _) = things(config);
    let input = json!({"id": "1"});
    let calls = (0..3).map(|_| call(&registry, "things.get_thing", input.clone()));
    let envelopes = futures_util::future::join_all(calls).await;
    let refused: Vec<&Value> = envelopes.iter().filter(|envelope| envelope["code"] == "OVERLOADED").collect();
    assert_eq!(refused.len(), 2, "{envelopes:?}");
    assert_eq!(refused[0]["details"], json!({"upstream": "things", "limit": "caller_concurrency"}));
    assert_eq!((&refused[0]["effect"], &refused[0]["retry_after_ms"]), (&json!("none"), &json!(100)));
}
