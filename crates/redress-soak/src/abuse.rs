//! The abuser: one caller in a process of its own who asks for all that it can, and for what it may not.

use std::{
    env, io,
    net::SocketAddr,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use crate::{
    client::{Client, Identity},
    plan::{Message, Way, What},
    raw::{Raw, request},
};

/// The variable that holds the abuser's token.
pub(crate) const TOKEN: &str = "SOAK_TOKEN";

/// The most requests in all.
const MAX: u64 = 200_000;
/// How many connections flood with requests.
const FLOODING: usize = 40;
/// How many open streams and take more when those are refused.
const STREAMING: usize = 8;
/// How many send bodies that are far too large.
const GIANT: usize = 8;
/// How many open a connection, ask once, and go.
const FLEETING: usize = 8;
const GIANT_BYTES: usize = 32 * 1024 * 1024;

/// Abuses until it is time, and prints how many requests that were.
#[expect(clippy::print_stdout, reason = "the driver reads the count from there")]
pub(crate) fn main() -> ExitCode {
    // It stands for another machine: what it costs to be abusive must not be taken from the others.
    if rustix::process::nice(19).is_err() {
        return ExitCode::FAILURE;
    }
    let Some(abuser) = Abuser::from_environment() else { return ExitCode::FAILURE };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let Ok(runtime) = runtime else { return ExitCode::FAILURE };
    let made = runtime.block_on(abuser.abuse());
    println!("{made}");
    ExitCode::SUCCESS
}

#[derive(Clone)]
struct Abuser {
    address: SocketAddr,
    identity: Identity,
    until: Instant,
    seed: u64,
    made: Arc<AtomicU64>,
}

impl Abuser {
    fn from_environment() -> Option<Abuser> {
        let mut arguments = env::args().skip(2);
        let address = arguments.next()?.parse().ok()?;
        let seed = arguments.next()?.parse().ok()?;
        let time = Duration::from_millis(arguments.next()?.parse().ok()?);
        let identity = Identity { caller: "abuser".into(), token: env::var(TOKEN).ok()?.into() };
        Some(Abuser { address, identity, until: Instant::now() + time, seed, made: Arc::default() })
    }

    /// Whether there is one more request to be made.
    fn goes_on(&self) -> bool {
        Instant::now() < self.until && self.made.fetch_add(1, Ordering::Relaxed) < MAX
    }

    async fn abuse(self) -> u64 {
        let mut all = JoinSet::new();
        for number in 0..FLOODING {
            all.spawn(self.clone().flood(number));
        }
        (0..STREAMING).for_each(|number| drop(all.spawn(self.clone().stream(number))));
        (0..GIANT).for_each(|number| drop(all.spawn(self.clone().giant(number))));
        (0..FLEETING).for_each(|number| drop(all.spawn(self.clone().fleeting(number))));
        let patience = self.until.saturating_duration_since(Instant::now()) + Duration::from_secs(1);
        let _ = timeout(patience, async { while all.join_next().await.is_some() {} }).await;
        self.made.load(Ordering::Relaxed).min(MAX)
    }

    fn id(&self, kind: &str, number: usize, count: u64) -> String {
        format!("abuse-{}-{kind}-{number}.{count}", self.seed)
    }

    /// One request after the other, whatever the answers say.
    async fn flood(self, number: usize) {
        let mut client = Client::new(self.address, &self.identity);
        let way = [Way::Http1, Way::Http2, Way::Rpc, Way::WebSocket][number % 4];
        let mut count = 0;
        while self.goes_on() {
            count += 1;
            let what = if count % 4 == 0 { What::Wait { ms: 200 } } else { What::Large { bytes: 20_000 } };
            let message = Message::one(self.id("flood", number, count), way, what);
            // Whoever is cut off at once would only measure how fast this machine connects.
            if client.make(&message).await.endings.iter().any(|ending| !ending.is_answer()) {
                sleep(Duration::from_millis(5)).await;
            }
        }
    }

    async fn stream(self, number: usize) {
        let mut count = 0;
        while self.goes_on() {
            count += 1;
            let follow = What::Follow { items: 100_000, every_ms: 1, bytes: 1_000 };
            let message = Message::one(self.id("stream", number, count), Way::WebSocket, follow);
            let mut client = Client::new(self.address, &self.identity);
            let _ = timeout(Duration::from_millis(300), client.make(&message)).await;
        }
    }

    async fn giant(self, number: usize) {
        let mut count = 0;
        while self.goes_on() {
            count += 1;
            let id = self.id("giant", number, count);
            let _ = timeout(Duration::from_secs(2), self.send_giant(&id)).await;
            sleep(Duration::from_millis(20)).await;
        }
    }

    async fn send_giant(&self, id: &str) -> io::Result<()> {
        let message = Message::one(id, Way::Http1, What::Read { n: 1 });
        let (head, body) = request(&self.identity, &message, &message.calls[0]);
        let announced = format!("Content-Length: {GIANT_BYTES}");
        let head = String::from_utf8_lossy(&head).replace(&format!("Content-Length: {}", body.len()), &announced);
        let mut raw = Raw::open(self.address).await?;
        raw.send(head.as_bytes()).await?;
        let piece = vec![b' '; 64 * 1024];
        for _ in 0..GIANT_BYTES / piece.len() {
            raw.send(&piece).await?;
        }
        Ok(())
    }

    async fn fleeting(self, number: usize) {
        let mut count = 0;
        while self.goes_on() {
            count += 1;
            let message = Message::one(self.id("fleeting", number, count), Way::Http1, What::Read { n: 1 });
            Client::new(self.address, &self.identity).make(&message).await;
            // Ports are few, and a closed connection keeps its own for a minute.
            sleep(Duration::from_millis(20)).await;
        }
    }
}
