//! Callers who ask for far more than they read, on every face, while others are measured, with and without them.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Request, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::{
    net::TcpStream,
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use super::abusive::round;
use crate::{
    client::{Identity, asked},
    ending::Ending,
    home::{Home, Settings},
    ledger::Ledger,
    measure::{Latencies, mib, ms},
    plan::{Message, Way, What},
    raw::{Raw, request, text_frame, upgrade},
    report::Report,
    server::Server,
    stage::{Stage, finish, memory, records},
};

const VICTIMS: usize = 8;
const GREEDY: usize = 6;
/// How many of them there are where time is not held to the letter: an unoptimised server has no time to spare.
const GREEDY_SHORT: usize = 2;
const ROUNDS: u32 = 3;
const WRITE_SECS: u64 = 5;
/// How large each answer is, and how many are asked for over one connection.
const LARGE: usize = 1024 * 1024;
/// How large each item of a stream is: as large as they come.
const ITEM: usize = 256 * 1024;
const CALLS: usize = 50;
/// Over how many connections at once one caller calls a tool.
const TOOLS: usize = 8;
/// What answers may hold: in all, of one caller and of one connection, in MiB.
const ANSWERS: [u32; 3] = [64, 16, 8];
/// How much more memory the server may have in a round with them than at the end of the round without them before it. All
/// answers at once have 64 MiB. Twice that: an answer on its way to a WebSocket is there twice while it is copied, and what
/// is given back stays with the allocator for a while. What the load of the others takes is in both.
const MAX_KIB: u64 = 2 * ANSWERS[0] as u64 * 1024;
/// How much may be left of it, from the round without them that follows the first with them to the last. What is never
/// given back passes any such bound in a run that is long enough, and would be in both sides of the figure above.
const LEFT_KIB: u64 = 48 * 1024;
/// By how much the p99 of others may grow, in hundredths. An unoptimised server writes a megabyte in the time of a hundred
/// calls, so there it says nothing.
const PROMISED: u128 = 200;

pub(crate) async fn run(stage: Stage) -> io::Result<Report> {
    let mut report = Report::default();
    let settings = Settings { write_secs: WRITE_SECS, answers_mib: ANSWERS, ..Settings::default() };
    let home = Home::new(&settings, VICTIMS)?;
    let greedy: Vec<Identity> =
        (0..GREEDY).map(|number| home.identity(&format!("greedy-{number}"), None)).collect::<io::Result<_>>()?;
    let server = Server::start(&home).await?;
    let (ledger, before, address) = (Ledger::default(), server.usage(), server.address());
    round(&stage, &home, &ledger, address, "warm", stage.share(4)).await;
    let each = stage.share(85) / (2 * ROUNDS);
    let (mut quiet, mut beside) = (Latencies::default(), Latencies::default());
    let (mut connections, mut grown, mut without) = (0, 0, Vec::new());
    for number in 0..ROUNDS {
        quiet.extend(round(&stage, &home, &ledger, address, &format!("quiet-{number}"), each).await);
        let level = server.usage().rss_kib;
        without.push(level);
        let asking = AskingClients {
            address,
            ledger: ledger.clone(),
            opened: Arc::default(),
            enough: Arc::default(),
            name: format!("{}-{number}", stage.name),
        };
        let callers = if stage.strict { GREEDY } else { GREEDY_SHORT };
        let tasks = asking.start(&greedy[..callers]);
        let watched = async {
            let mut max = 0;
            while !asking.enough.load(Ordering::Relaxed) {
                max = max.max(server.usage().rss_kib);
                sleep(Duration::from_millis(20)).await;
            }
            max
        };
        let measured = async {
            let measured = round(&stage, &home, &ledger, address, &format!("beside-{number}"), each).await;
            asking.enough.store(true, Ordering::Relaxed);
            measured
        };
        let (max, measured) = tokio::join!(watched, measured);
        grown = grown.max(max.saturating_sub(level));
        beside.extend(measured);
        drop(tasks);
        connections += asking.opened.load(Ordering::Relaxed);
        stage.say(&format!(
            "p99 {} without, {} with; {connections} connections that are not read, {} without, {} with",
            ms(quiet.p99()),
            ms(beside.p99()),
            mib(level),
            mib(max)
        ));
    }
    let ratio = beside.p99().as_micros() * 100 / quiet.p99().as_micros().max(1);
    report.figure("connections that are not read", connections);
    report.figure("memory for them, at most", mib(grown));
    let levels: Vec<String> = without.iter().map(|level| mib(*level)).collect();
    report.figure("memory without them, by round", levels.join(", "));
    report.figure(
        "others' p99",
        format!("{} → {}, {}.{:02} ×", ms(quiet.p99()), ms(beside.p99()), ratio / 100, ratio % 100),
    );
    report.check(connections > 0, || "nobody was greedy".to_owned());
    report.check(grown <= MAX_KIB, || format!("{} of memory are held, and {} allowed", mib(grown), mib(MAX_KIB)));
    let left = without.last().zip(without.get(1)).map_or(0, |(last, first)| last.saturating_sub(*first));
    report
        .check(left <= LEFT_KIB, || format!("{} of memory are left of them, and {} allowed", mib(left), mib(LEFT_KIB)));
    report.check(!stage.strict || ratio <= PROMISED, || {
        format!("the p99 of others grew to {ratio} hundredths of what it was")
    });
    let shed = server.sheds_files(before.files + 40, Duration::from_secs(20)).await;
    report.check(shed, || format!("{} files are open after every client has left", server.usage().files));
    memory(&mut report, before, server.usage());
    let (status, _) = server.stop().await?;
    report.check(status.success(), || format!("the server ended with {status}"));
    records(
        &mut report,
        &home,
        &ledger,
        &[],
        |ending| matches!(ending, Ending::Cut(why) if why.ends_with("went away")),
    )
    .await?;
    finish(stage, home, report)
}

/// How a client asks for more than it reads.
#[derive(Clone, Copy)]
enum Greed {
    Batch,
    RpcBatch,
    WebSocket,
    /// Over HTTP/2, without any window.
    NoWindow,
    Events,
    /// Tools over many connections, half of them with their progress.
    Tools,
    /// A little of an answer at a time.
    Slowly,
}

const GREEDS: [Greed; 7] =
    [Greed::Batch, Greed::RpcBatch, Greed::WebSocket, Greed::NoWindow, Greed::Events, Greed::Tools, Greed::Slowly];

/// Clients that ask.
#[derive(Clone)]
struct AskingClients {
    address: SocketAddr,
    ledger: Ledger,
    opened: Arc<AtomicU64>,
    enough: Arc<AtomicBool>,
    name: String,
}

impl AskingClients {
    /// Lets every caller ask in every way, until it is enough or what is returned is dropped.
    fn start(&self, callers: &[Identity]) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        for (caller, identity) in callers.iter().enumerate() {
            for (way, greed) in GREEDS.into_iter().enumerate() {
                let id = format!("{}-{caller}-{way}", self.name);
                tasks.spawn(self.clone().ask_again(identity.clone(), greed, id));
            }
        }
        tasks
    }

    async fn ask_again(self, identity: Identity, greed: Greed, id: String) {
        let mut made = 0;
        while !self.enough.load(Ordering::Relaxed) {
            made += 1;
            self.opened.fetch_add(1, Ordering::Relaxed);
            // What cannot be sent is the server's right to refuse.
            let _ = self.ask(&identity, greed, &format!("{id}-{made}")).await;
            sleep(Duration::from_millis(100)).await;
        }
    }

    fn enter(&self, identity: &Identity, message: &Message) {
        self.ledger.enter_cut(message, identity);
    }

    /// Asks for all of it over one connection, and holds that for longer than an answer may wait.
    async fn ask(&self, identity: &Identity, greed: Greed, id: &str) -> io::Result<()> {
        let large = || What::Large { bytes: LARGE };
        let holds = Duration::from_secs(WRITE_SECS + 2);
        let mut raw = Raw::narrow(self.address).await?;
        match greed {
            Greed::Batch => {
                let message = Message { calls: vec![large(); CALLS], ..Message::one(id, Way::Batch, large()) };
                self.enter(identity, &message);
                let call = |call: &What| json!({"operation": call.operation(), "input": call.input()});
                let body: Vec<Value> = message.calls.iter().map(call).collect();
                raw.send(&post(identity, "/batch", id, &body.into())).await?;
            }
            Greed::RpcBatch => {
                let mut body = Vec::new();
                for place in 0..CALLS {
                    let call = large();
                    body.push(
                        json!({"jsonrpc": "2.0", "id": place, "method": call.operation(), "params": call.input()}),
                    );
                    self.enter(identity, &Message::one(format!("{id}:{place}"), Way::Rpc, call));
                }
                raw.send(&post(identity, "/rpc", id, &body.into())).await?;
            }
            Greed::WebSocket => {
                raw.send(&upgrade(identity)).await?;
                let _ = timeout(Duration::from_secs(10), raw.read_some()).await;
                for place in 0..CALLS {
                    let message = Message::one(format!("{id}-{place}"), Way::WebSocket, large());
                    self.enter(identity, &message);
                    raw.send(&text_frame(&asked(&message, &message.calls[0]).to_string())).await?;
                }
            }
            Greed::NoWindow => return self.no_window(identity, id, holds).await,
            Greed::Events => {
                let follow = What::Follow { items: 100_000, every_ms: 0, bytes: ITEM };
                let message = Message::one(id, Way::Http1, follow);
                self.enter(identity, &message);
                let (head, body) = request(identity, &message, &message.calls[0]);
                raw.send(&[head, body].concat()).await?;
            }
            Greed::Tools => return self.tools(identity, id, holds).await,
            Greed::Slowly => {
                let message = Message::one(id, Way::Http1, large());
                self.enter(identity, &message);
                let (head, body) = request(identity, &message, &message.calls[0]);
                raw.send(&[head, body].concat()).await?;
                let until = Instant::now() + holds;
                while Instant::now() < until && !self.enough.load(Ordering::Relaxed) {
                    let _ = timeout(Duration::from_millis(50), raw.read_some()).await;
                    sleep(Duration::from_millis(50)).await;
                }
                return Ok(());
            }
        }
        self.hold(holds).await;
        drop(raw);
        Ok(())
    }

    async fn hold(&self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until && !self.enough.load(Ordering::Relaxed) {
            sleep(Duration::from_millis(50)).await;
        }
    }

    async fn tools(&self, identity: &Identity, id: &str, holds: Duration) -> io::Result<()> {
        let mut open = Vec::new();
        for place in 0..TOOLS {
            let message = Message::one(format!("{id}-{place}"), Way::Mcp, What::Large { bytes: LARGE });
            self.enter(identity, &message);
            let mut params = json!({"name": "soak_large", "arguments": message.calls[0].input()});
            if place % 2 == 1 {
                params["_meta"] = json!({"progressToken": place});
            }
            let body = json!({"jsonrpc": "2.0", "id": place, "method": "tools/call", "params": params});
            let mut raw = Raw::narrow(self.address).await?;
            raw.send(&post(identity, "/mcp", &message.id, &body)).await?;
            open.push(raw);
        }
        self.hold(holds).await;
        Ok(())
    }

    async fn no_window(&self, identity: &Identity, id: &str, holds: Duration) -> io::Result<()> {
        let stream = TcpStream::connect(self.address).await?;
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(0);
        let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { drop(connection.await) });
        for place in 0..CALLS {
            let message = Message::one(format!("{id}-{place}"), Way::Http2, What::Large { bytes: LARGE });
            self.enter(identity, &message);
            let request = Request::post(format!("http://{}/ops/soak/large", self.address))
                .header("content-type", "application/json")
                .header("authorization", format!("Bearer {}", identity.token))
                .header("x-request-id", &message.id)
                .body(Full::new(Bytes::from(message.calls[0].input().to_string())))
                .map_err(io::Error::other)?;
            sender.ready().await.map_err(io::Error::other)?;
            let answer = sender.send_request(request);
            tasks.spawn(async move {
                // The answer is kept, and nothing of it is read.
                if let Ok(answer) = answer.await {
                    std::future::pending::<()>().await;
                    drop(answer);
                }
            });
        }
        self.hold(holds).await;
        Ok(())
    }
}

fn post(identity: &Identity, path: &str, id: &str, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAuthorization: Bearer {}\r\n\
         Accept: application/json, text/event-stream\r\nX-Request-Id: {id}\r\nContent-Length: {}\r\n\r\n{body}",
        identity.token,
        body.len()
    )
    .into_bytes()
}
