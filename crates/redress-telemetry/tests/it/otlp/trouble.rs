//! A collector that is away, says no, or does not answer.

use std::{
    io::Write,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use axum::http::StatusCode;
use redress_core::{Layers, Request, Secret};
use redress_telemetry::{Metrics, Otlp, OtlpError, OtlpSettings};
use tracing_subscriber::{Layer as _, filter::LevelFilter, fmt::MakeWriter, layer::SubscriberExt as _};

use super::{LONG, collector::Collector, sending};
use crate::service;

/// What the local log was told, from every thread.
#[derive(Clone, Default)]
struct Local(Arc<Mutex<Vec<u8>>>);

impl Write for Local {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("nobody panics with it").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Local {
    type Writer = Local;

    fn make_writer(&'a self) -> Local {
        self.clone()
    }
}

/// An address at which nobody listens.
fn nowhere() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback works");
    format!("http://{}", listener.local_addr().expect("loopback works"))
}

#[tokio::test]
async fn calls_go_on_without_a_collector_and_what_was_not_taken_is_counted() {
    let (otlp, _log) = sending(OtlpSettings::new(nowhere()).timeout(Duration::from_millis(200)));
    let registry = service::registry();
    let metrics = Metrics::new(registry.contract());
    otlp.export(&metrics);
    let registry = registry.with_layers(Layers::new().observer(metrics.clone()));
    // More than all queues hold together.
    for _ in 0..5000 {
        assert!(registry.call("shop.price", Request::new(b"{}")).await.output().is_some());
    }
    assert!(!otlp.shutdown(LONG).await);
    let text = metrics.text();
    let failed = text.lines().find_map(|line| line.strip_prefix("redress_otlp_failed_total ")).unwrap();
    assert!(failed.parse::<u64>().unwrap() > 0, "{failed}");
}

#[tokio::test]
async fn a_collector_that_never_answers_does_not_hold_the_shutdown_beyond_its_limit() {
    // Connections are taken by the system, and never read.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let (otlp, _log) = sending(OtlpSettings::new(endpoint).timeout(LONG));
    service::registry().call("shop.price", Request::new(b"{}")).await;
    let since = Instant::now();
    assert!(!otlp.shutdown(Duration::from_millis(300)).await);
    assert!(since.elapsed() < LONG / 2, "{:?}", since.elapsed());
}

/// A collector that answers each message in a way of its own: what it writes after the first bytes of a request.
fn odd(answer: fn(&mut std::net::TcpStream)) -> String {
    use std::io::Read as _;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback works");
    let endpoint = format!("http://{}", listener.local_addr().expect("loopback works"));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            std::thread::spawn(move || {
                let _ = stream.read(&mut [0; 1024]);
                answer(&mut stream);
            });
        }
    });
    endpoint
}

#[tokio::test]
async fn a_collector_that_hangs_trickles_floods_or_answers_garbage_costs_no_call_and_every_span_is_counted() {
    type Answers = fn(&mut std::net::TcpStream);
    let odds: [(&str, Answers); 5] = [
        ("hangs", |_| std::thread::park_timeout(LONG)),
        ("garbage", |stream| drop(stream.write_all(&[0x16, 0xff, 0, b'\n', b'\n', 7]))),
        ("hangs up", |_| {}),
        ("trickles", |stream| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
            while stream.write_all(b"x-a: b\r\n").is_ok() {
                std::thread::park_timeout(Duration::from_millis(20));
            }
        }),
        ("floods", |stream| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
            while stream.write_all(b"1000\r\n").is_ok() && stream.write_all(&[b'x'; 4098]).is_ok() {}
        }),
    ];
    for (how, answer) in odds {
        let (otlp, _log) = sending(OtlpSettings::new(odd(answer)).timeout(Duration::from_millis(200)));
        let registry = service::registry();
        let metrics = Metrics::new(registry.contract());
        otlp.export(&metrics);
        let registry = registry.with_layers(Layers::new().observer(metrics.clone()));
        let calls = 5000;
        for _ in 0..calls {
            assert!(registry.call("shop.price", Request::new(b"{}")).await.output().is_some(), "{how}");
        }
        let since = Instant::now();
        assert!(!otlp.shutdown(Duration::from_secs(5)).await, "{how}");
        assert!(since.elapsed() < LONG / 2, "{how}: {:?}", since.elapsed());
        let text = metrics.text();
        let dropped = text.lines().find_map(|line| line.strip_prefix("redress_otlp_spans_dropped_total ")).unwrap();
        // All but those that were still waiting when it was over.
        assert!(dropped.parse::<u64>().unwrap() >= calls - 2048, "{how}: {dropped}");
    }
}

#[test]
fn trouble_is_told_once_and_so_is_its_end() {
    let collector = Collector::start();
    collector.answers(StatusCode::BAD_REQUEST);
    let local = Local::default();
    let written = local.clone();
    // The threads that send log to the subscriber of the process.
    let fmt = tracing_subscriber::fmt::layer().with_writer(local).with_ansi(false);
    let targeted = tracing_subscriber::filter::Targets::new().with_target("redress_telemetry", LevelFilter::INFO);
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(fmt.with_filter(targeted))).unwrap();

    let mut with_password = collector.endpoint();
    with_password.insert_str("http://".len(), "user:hunter2@");
    let otlp = Otlp::start(OtlpSettings::new(with_password).interval(Duration::from_millis(5))).unwrap();
    otlp.export(&Metrics::new(service::registry().contract()));
    let until = |messages: usize| {
        let since = Instant::now();
        while collector.taken().len() < messages && since.elapsed() < LONG {
            std::thread::yield_now();
        }
    };
    until(5);
    collector.answers(StatusCode::OK);
    until(collector.taken().len() + 5);
    drop(otlp);

    // One sort of messages that is never taken does not make the others come and go.
    let partial = Collector::start();
    partial.lacks("/v1/logs");
    let otlp = Otlp::start(OtlpSettings::new(partial.endpoint()).interval(Duration::from_millis(5))).unwrap();
    otlp.export(&Metrics::new(service::registry().contract()));
    let layer = tracing_subscriber::registry().with(otlp.layer());
    tracing::subscriber::with_default(layer, || {
        let to = |path: &str| partial.taken().iter().filter(|taken| taken.path == path).count();
        let since = Instant::now();
        while (to("/v1/logs") < 3 || to("/v1/metrics") < 3) && since.elapsed() < LONG {
            tracing::info!(target: "redress", "something to send");
            std::thread::yield_now();
        }
    });
    drop(otlp);
    let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    let there = partial.endpoint().replace("http://", "");
    let told: Vec<&str> = text.lines().filter(|line| line.contains(&there)).collect();
    assert!(matches!(told[..], [line] if line.contains("sort=\"logs\"") && line.contains("status=404")), "{told:?}");

    let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    let here = collector.endpoint().replace("http://", "");
    let mine: Vec<&str> = text.lines().filter(|line| line.contains(&here)).collect();
    assert_eq!(mine.len(), 2, "{text}");
    assert!(mine[0].contains("WARN") && mine[0].contains("status=400"), "{text}");
    assert!(mine[1].contains("INFO") && mine[1].contains("again"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
}

#[tokio::test]
async fn settings_that_cannot_hold_are_refused() {
    let start = |settings: OtlpSettings| Otlp::start(settings).unwrap_err();
    for endpoint in ["", "127.0.0.1:4318", "ftp://127.0.0.1", "http://"] {
        assert!(matches!(start(OtlpSettings::new(endpoint)), OtlpError::Endpoint), "{endpoint}");
    }
    for sample in [-0.1, 1.1, f64::NAN] {
        assert!(matches!(start(OtlpSettings::new("http://127.0.0.1").sample(sample)), OtlpError::Sample));
    }
    let odd = OtlpSettings::new("http://127.0.0.1").header("x-key", Secret::new("a\nb"));
    assert!(matches!(start(odd), OtlpError::Header { name } if name == "x-key"));
}
