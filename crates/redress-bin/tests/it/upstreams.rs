//! An issuer and a collector that hang or flood, beside a server that would like to hear from them.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::json;

use crate::{
    process::Place,
    raw::calls,
    serve::Served,
    token::{GUARDED, guarded, token},
};

/// Longer than any call here takes, also beside other tests, and shorter than keys are waited for.
const HELD_UP: Duration = Duration::from_secs(8);
/// How much memory a flood may cost; what is sent meanwhile is a hundred times as much.
const FLOODED_KIB: u64 = 48 * 1024;
/// A token of an issuer whose keys nobody has yet.
const STRANGE: &str = "eyJhbGciOiJFUzI1NiIsImtpZCI6Im9uZSJ9.eyJzdWIiOiJldmUiLCJleHAiOjQxMDI0NDQ4MDB9";

/// A server that takes connections and does with each what it likes, for as long as the other side lets it.
struct Upstream {
    url: String,
    asked: Arc<AtomicUsize>,
}

fn hangs(stream: &mut TcpStream) {
    // The other side ends it; nothing is said until then.
    while stream.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {}
}

fn floods(stream: &mut TcpStream) {
    let _ = stream.read(&mut [0; 4096]);
    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n");
    while stream.write_all(&[b' '; 65_536]).is_ok() {}
}

/// What an upstream does with a connection.
type Does = fn(&mut TcpStream);

const ODD: [(&str, Does); 2] = [("hangs", hangs), ("floods", floods)];

impl Upstream {
    fn that(does: Does) -> Upstream {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                counted.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || does(&mut stream));
            }
        });
        Upstream { url, asked }
    }
}

fn post(url: &str, path: &str, token: Option<&str>, body: &str) -> (u16, String, Duration) {
    let since = Instant::now();
    let client = reqwest::blocking::Client::builder().timeout(Duration::from_secs(60)).build().unwrap();
    let request = client.post(format!("{url}{path}")).header("content-type", "application/json");
    let request = request.header("accept", "application/json, text/event-stream").body(body.to_owned());
    let request = token.iter().fold(request, |request, token| request.bearer_auth(token));
    let answer = request.send().unwrap();
    let status = answer.status().as_u16();
    let told = answer.text().unwrap_or_else(|error| panic!("{path}: {status} after {:?}: {error:?}", since.elapsed()));
    (status, told, since.elapsed())
}

/// A call on each face that one message makes.
fn faces() -> Vec<(String, String)> {
    calls("files.list", &json!({}), 1).into_iter().filter(|(path, _)| path != "/ws").collect()
}

/// Calls on every face, many at a time: what a server takes for its first ones, and keeps, is no part of a flood.
fn warm_up(url: &str, token: Option<&str>) {
    for _ in 0..3 {
        thread::scope(|scope| {
            for number in 0..20 {
                let (path, body) = faces().swap_remove(number % 5);
                scope.spawn(move || post(url, &path, token, &body));
            }
        });
    }
}

#[test]
fn an_issuer_that_hangs_or_floods_holds_up_nobody_who_is_known_otherwise_and_costs_one_fetch() {
    for (how, does) in ODD {
        let issuer = Upstream::that(does);
        let config = format!("{GUARDED}[access.jwt]\njwks_url = \"{}/keys\"\n", issuer.url);
        let place = guarded().with("redress.toml", &config);
        let (ada, _) = token(&place, &["ada", "--scope", "files:read"]);
        let served = Served::start(&mut place.command(&["serve", "redress.toml", "--json", "--log-level", "error"]));
        let url = served.url();
        warm_up(&url, Some(&ada));
        let (before, since) = (served.peak_kib(), Instant::now());
        thread::scope(|scope| {
            for number in 0..20 {
                let (url, (path, body)) = (&url, faces().swap_remove(number % 5));
                scope.spawn(move || {
                    // Each has a token of its own, so that none is known from another.
                    let strange = format!("{STRANGE}.{number:02}{}", "A".repeat(84));
                    let (status, told, _) = post(url, &path, Some(&strange), &body);
                    assert!(told.contains("UPSTREAM_UNREACHABLE"), "{how} {path}: {status}\n{told}");
                    assert!(!told.contains("127.0.0.1") && !told.contains("/keys"), "{how} {path}\n{told}");
                });
            }
            for number in 0..40 {
                let (path, body) = &faces()[number % 5];
                let (status, told, took) = post(&url, path, Some(&ada), body);
                assert!(status == 200 && told.contains("entries"), "{how} {path}: {status}\n{told}");
                assert!(took < HELD_UP, "{how} {path}: {took:?}");
            }
        });
        // Those who come later are told at once, without a second fetch.
        let (_, told, took) = post(&url, "/ops/files/list", Some(&format!("{STRANGE}.{}A", "B".repeat(85))), "{}");
        assert!(told.contains("UPSTREAM_UNREACHABLE") && took < HELD_UP, "{how}: {took:?}\n{told}");
        let (asked, pauses) = (issuer.asked.load(Ordering::SeqCst), since.elapsed().as_secs() / 10);
        assert!(asked >= 1 && asked as u64 <= 1 + pauses, "{how}: {asked} fetches");
        let grown = served.peak_kib().saturating_sub(before);
        assert!(grown < FLOODED_KIB, "{how}: {grown} KiB");
        // A fetch that has only begun does not hold up the end.
        served.signal(Signal::HUP);
        let told_to = Instant::now();
        served.stop();
        assert!(told_to.elapsed() < Duration::from_secs(10), "{how}: {:?}", told_to.elapsed());
    }
}

#[test]
fn a_collector_that_hangs_or_floods_costs_no_call_bounded_memory_and_no_end() {
    for (how, does) in ODD {
        let collector = Upstream::that(does);
        let config = format!(
            "state = \"memory\"\n[serve]\nlisten = \"127.0.0.1:0\"\n[telemetry]\notlp = \"{}\"\n",
            collector.url
        );
        let place = Place::new().with("redress.toml", &config);
        let served = Served::start(&mut place.command(&["serve", "redress.toml", "--json", "--log-level", "error"]));
        let url = served.url();
        warm_up(&url, None);
        let before = served.peak_kib();
        let (_, batch) = calls("errors.explain", &json!({"code": "NOT_FOUND"}), 50).swap_remove(2);
        let mut made = 0;
        // More than wait to be sent at a time, and on until the collector was asked.
        while made < 100 || collector.asked.load(Ordering::SeqCst) == 0 {
            let (status, told, took) = post(&url, "/batch", None, &batch);
            assert!(status == 200 && took < HELD_UP, "{how}: {status} {took:?}");
            assert!(!told.contains("INTERNAL") && !told.contains("OVERLOADED"), "{how}\n{told}");
            made += 1;
            assert!(made < 10_000, "{how}: the collector was never asked");
        }
        let grown = served.peak_kib().saturating_sub(before);
        assert!(grown < FLOODED_KIB, "{how}: {grown} KiB");
        let since = Instant::now();
        served.stop();
        assert!(since.elapsed() < Duration::from_secs(10), "{how}: {:?}", since.elapsed());
    }
}
