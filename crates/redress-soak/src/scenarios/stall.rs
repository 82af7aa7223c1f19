//! Requests of every kind that the limits let in, one after the other, to a server with one worker: how long does each
//! keep it from everybody else?

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::Value;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::{
    client::Identity,
    home::{Home, Settings},
    hostile::{self, Hostile, HostileWay},
    measure::{Latencies, ms},
    raw::{Raw, text_frame, upgrade},
    report::Report,
    server::Server,
    stage::{Stage, finish, memory},
    watchdog::ROWS,
};

/// How long the worker may be kept by one request.
const PROMISED: Duration = Duration::from_millis(10);
/// The same where time is not held to the letter.
const GENEROUS: Duration = Duration::from_secs(5);
/// By how much the p99 of others may grow, in hundredths; what stays below one stall is let be.
const GROWN: u128 = 200;
/// How long an answer is waited for. What is slower than that is not asked for again, and the server is started anew:
/// there are others to be measured.
const PATIENCE: Duration = Duration::from_secs(20);
/// How much longer than its time the scenario may take to have sent each request once.
const OVERTIME: Duration = Duration::from_secs(300);
/// How often a health check is due.
const EVERY: Duration = Duration::from_millis(20);
/// How many of the kinds are told of by name.
const TOLD: usize = 12;

/// The longest stall that a kind of request caused.
struct Caused {
    name: String,
    stall: Duration,
}

pub(crate) async fn run(stage: Stage) -> io::Result<Report> {
    let mut report = Report::default();
    let home = Home::new(&Settings::default(), 1)?;
    let identity = home.identities()[0].clone();
    let one_worker = [("TOKIO_WORKER_THREADS", "1".to_owned())];
    let mut server = Server::with(&home, &one_worker).await?;
    let (before, address) = (server.usage(), server.address());
    // What is done for the first time only, the watchdog's start included, is no stall of a request.
    asked(address, &identity, &get("/ops/soak/stalls")).await;
    let quiet = Others::start(address);
    sleep(stage.share(10).max(Duration::from_secs(1))).await;
    let quiet = quiet.stop().await;
    let (idle, _) = stalls(address, &identity).await.unwrap_or_default();

    let requests = hostile::all(stage.seed);
    let mut caused: Vec<Caused> =
        requests.iter().map(|hostile| Caused { name: hostile.name.clone(), stall: Duration::ZERO }).collect();
    let mut histogram = vec![0; ROWS.len() + 1];
    let until = Instant::now() + stage.share(80);
    let (mut sent, mut round, mut silent, mut left_out) = (0_u64, 0, 0, 0);
    let others = Others::start(address);
    while round == 0 || Instant::now() < until {
        for (Hostile { name, way }, caused) in requests.iter().zip(&mut caused) {
            // It has shown what it does.
            if caused.stall > GENEROUS || (round > 0 && Instant::now() > until) {
                continue;
            }
            if Instant::now() > until + OVERTIME {
                left_out += 1;
                continue;
            }
            let answered = asked(address, &identity, way).await;
            sent += 1;
            let seen = if answered { stalls(address, &identity).await } else { None };
            let Some((longest, rows)) = seen else {
                silent += 1;
                stage.say(&format!("{name}: not answered within {} s", PATIENCE.as_secs()));
                caused.stall = PATIENCE;
                server.kill().await?;
                server = Server::again_with(&home, address, &one_worker).await?;
                asked(address, &identity, &get("/ops/soak/stalls")).await;
                continue;
            };
            caused.stall = caused.stall.max(longest);
            histogram.iter_mut().zip(rows).for_each(|(sum, count)| *sum += count);
        }
        round += 1;
    }
    let hindered = others.stop().await;

    caused.sort_by_key(|caused| std::cmp::Reverse(caused.stall));
    for Caused { name, stall } in &caused {
        stage.say(&format!("{:>10}  {name}", ms(*stall)));
    }
    let longest = caused.first().map_or(Duration::ZERO, |caused| caused.stall);
    let bound = if stage.strict && !cfg!(debug_assertions) { PROMISED } else { GENEROUS };
    report.figure("requests", format!("{sent} of {} kinds", requests.len()));
    report.figure("longest stall", format!("{} ({})", ms(longest), caused.first().map_or("", |caused| &caused.name)));
    report.figure("stall without them", ms(idle));
    report.figure("beats by length", rows(&histogram));
    for Caused { name, stall } in caused.iter().filter(|caused| caused.stall > bound).take(TOLD) {
        report.broken(format!("{name} kept the worker for {}", ms(*stall)));
    }
    report.check(silent == 0, || format!("{silent} requests were not answered"));
    report.check(left_out == 0, || format!("{left_out} requests were not sent: there was no time left"));
    let ratio = hindered.p99().as_micros() * 100 / quiet.p99().as_micros().max(1);
    report.figure("others' p99", format!("{} → {}", ms(quiet.p99()), ms(hindered.p99())));
    report.check(ratio <= GROWN || hindered.p99() <= bound, || {
        format!("the p99 of health checks grew from {} to {}", ms(quiet.p99()), ms(hindered.p99()))
    });
    memory(&mut report, before, server.usage());
    match server.stop().await {
        Ok((status, _)) => report.check(status.success(), || format!("the server ended with {status}")),
        Err(error) => report.broken(format!("the server did not end: {error}")),
    }
    finish(stage, home, report)
}

fn get(target: &'static str) -> HostileWay {
    HostileWay::Get(target)
}

/// What the watchdog saw since it was last asked: the longest stall, and how many there were of each length.
async fn stalls(address: SocketAddr, identity: &Identity) -> Option<(Duration, Vec<u64>)> {
    let answer = answer(address, identity, &get("/ops/soak/stalls")).await?;
    let body = answer.windows(4).position(|four| four == b"\r\n\r\n").and_then(|end| answer.get(end + 4..))?;
    let told: Value = serde_json::from_slice(body).ok()?;
    let rows = told["histogram"].as_array()?.iter().filter_map(Value::as_u64).collect();
    Some((Duration::from_micros(told["longest_us"].as_u64()?), rows))
}

fn rows(histogram: &[u64]) -> String {
    let ends = ROWS.iter().map(|us| format!("≤ {}", ms(Duration::from_micros(*us)))).chain(["more".to_owned()]);
    let rows: Vec<String> = ends.zip(histogram).map(|(end, count)| format!("{end}: {count}")).collect();
    rows.join(", ")
}

/// Sends a request, and tells whether it was answered.
async fn asked(address: SocketAddr, identity: &Identity, way: &HostileWay) -> bool {
    answer(address, identity, way).await.is_some_and(|answer| !answer.is_empty())
}

/// Sends a request over a connection of its own, and reads the answer to its end.
async fn answer(address: SocketAddr, identity: &Identity, way: &HostileWay) -> Option<Vec<u8>> {
    let mut raw = Raw::open(address).await.ok()?;
    let close = "Connection: close\r\n";
    let head = format!("Host: 127.0.0.1\r\nAuthorization: Bearer {}\r\n", identity.token);
    let bytes = match way {
        HostileWay::Get(target) => format!("GET {target} HTTP/1.1\r\n{head}{close}\r\n"),
        HostileWay::Post { target, body, key } => {
            let key = key.as_ref().map(|key| format!("Idempotency-Key: {key}\r\n")).unwrap_or_default();
            let length = body.len();
            format!(
                "POST {target} HTTP/1.1\r\n{head}{close}{key}Content-Type: application/json\r\n\
                 Accept: application/json, text/event-stream\r\nContent-Length: {length}\r\n\r\n{body}"
            )
        }
        HostileWay::Pipelined { target, body, times } => {
            let length = body.len();
            let one = |close: &str| {
                format!(
                    "POST {target} HTTP/1.1\r\n{head}{close}Content-Type: application/json\r\n\
                     Content-Length: {length}\r\n\r\n{body}"
                )
            };
            one("").repeat(times - 1) + &one(close)
        }
        HostileWay::Frames(texts) => {
            raw.send(&upgrade(identity)).await.ok()?;
            timeout(PATIENCE, raw.read_some()).await.ok()?.ok()?;
            let frames: Vec<u8> = texts.iter().flat_map(|text| text_frame(text)).collect();
            let _ = raw.send(&frames).await;
            // An empty frame that closes: the server answers what it has begun, and closes then.
            let read = timeout(PATIENCE, raw.read_some()).await.ok()?.ok()?;
            let _ = raw.send(&[0x88, 0x80, 0, 0, 0, 0]).await;
            raw.read_to_close(PATIENCE).await?;
            return Some(vec![0; read]);
        }
    };
    // The server may answer and close before it has read all of it.
    let _ = timeout(PATIENCE, raw.send(bytes.as_bytes())).await;
    raw.read_to_close(PATIENCE).await
}

/// Health checks at a steady pace, each counted from when it was due.
struct Others {
    stop: Arc<AtomicBool>,
    running: tokio::task::JoinHandle<Latencies>,
}

impl Others {
    fn start(address: SocketAddr) -> Others {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let running = tokio::spawn(async move {
            let mut latencies = Latencies::default();
            let mut due = Instant::now();
            while !stopped.load(Ordering::Relaxed) {
                sleep_until(due).await;
                let Ok(mut raw) = Raw::open(address).await else {
                    // It is being started anew.
                    due = Instant::now() + EVERY;
                    continue;
                };
                let request = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
                if raw.send(request).await.is_ok() {
                    raw.read_to_close(PATIENCE).await;
                }
                latencies.push(due.elapsed());
                // Those that were due meanwhile are one: each would only tell of the same stall again.
                due = (due + EVERY).max(Instant::now());
            }
            latencies
        });
        Others { stop, running }
    }

    async fn stop(self) -> Latencies {
        self.stop.store(true, Ordering::Relaxed);
        self.running.await.unwrap_or_default()
    }
}
