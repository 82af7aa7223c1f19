//! Clients that ask for much and never read.

use std::{io, net::SocketAddr, time::Duration};

use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use crate::{
    client::{Identity, asked},
    ending::Ending,
    home::Settings,
    measure::mib,
    plan::{Message, Way, What},
    raw::{Raw, request, text_frame, upgrade},
    report::Report,
    stage::{BYSTANDERS, Stage},
};

const WRITE_SECS: u64 = 3;
const CLIENTS: usize = 30;
/// How long it may take until the system holds no more for them, and they are noticed.
const SLACK: Duration = Duration::from_secs(25);
/// How many connections one of the others has at most: HTTP/1.1, HTTP/2 and a WebSocket.
const WAYS: usize = 3;
/// What the answers to one connection may hold, in MiB: the promise of `answer_bytes_per_connection`.
const ANSWERS_MIB: u32 = 8;

pub(crate) async fn run(stage: Stage) -> io::Result<Report> {
    let mut report = Report::default();
    let mut settings = Settings { write_secs: WRITE_SECS, ..Settings::default() };
    settings.answers_mib[2] = ANSWERS_MIB;
    let scene = stage.scene(&settings).await?;
    let bystanders = scene.bystanders();
    sleep(Duration::from_secs(1)).await;
    let before = scene.server.usage();
    let until = Instant::now() + stage.share(70);
    let (mut opened, mut round, mut peak) = (0_usize, 0, 0);
    while round == 0 || (Instant::now() < until && round < 20) {
        let mut clients = JoinSet::new();
        for number in 0..CLIENTS {
            let id = format!("{}-{round}-{number}", stage.name);
            let identity = scene.identity(number).clone();
            let messages = match number % 3 {
                0 => (0..8).map(|call| large(&format!("{id}-{call}"))).collect(),
                1 => vec![follow(&id, Way::Http1)],
                _ => (0..2).map(|call| follow(&format!("{id}-{call}"), Way::WebSocket)).collect::<Vec<_>>(),
            };
            messages.iter().for_each(|message| scene.ledger.enter_cut(message, &identity));
            clients.spawn(open(scene.server.address(), identity, messages));
        }
        let mut held = Vec::new();
        while let Some(client) = clients.join_next().await {
            held.push(client.map_err(io::Error::other)??);
        }
        opened += held.len();
        // They hold their connections for longer than an answer may wait.
        let leaves = Instant::now() + Duration::from_secs(WRITE_SECS) + SLACK;
        let mut cut = false;
        while !cut && Instant::now() < leaves {
            sleep(Duration::from_millis(100)).await;
            let usage = scene.server.usage();
            peak = peak.max(usage.rss_kib);
            // A WebSocket has a rule of its own for silence, which is longer; its streams are cut off before.
            cut = usage.files <= scene.before.files + BYSTANDERS * WAYS + CLIENTS / 3 + 4;
        }
        report.check(cut, || format!("{} files are open while nobody reads", scene.server.usage().files));
        stage.say(&format!("{opened} clients that never read, {} at most", mib(peak)));
        drop(held);
        round += 1;
    }
    let each = peak.saturating_sub(before.rss_kib) / CLIENTS as u64;
    report.figure("clients that never read", opened);
    report.figure("memory each, at most", format!("{each} KiB"));
    report.check(each <= u64::from(ANSWERS_MIB) * 1024, || format!("a client that never reads holds {each} KiB"));
    bystanders.stop().await;
    let shed = scene.server.sheds_files(scene.before.files + 8, Duration::from_secs(20)).await;
    report.check(shed, || format!("{} files are open after every client has left", scene.server.usage().files));
    scene.close(report, |ending| matches!(ending, Ending::Cut(why) if why.ends_with("went away"))).await
}

fn large(id: &str) -> Message {
    Message::one(id, Way::Http1, What::Large { bytes: 1024 * 1024 })
}

fn follow(id: &str, way: Way) -> Message {
    Message::one(id, way, What::Follow { items: 100_000, every_ms: 50, bytes: 128 * 1024 })
}

/// Asks for all of it over one connection, and reads nothing.
async fn open(address: SocketAddr, identity: Identity, messages: Vec<Message>) -> io::Result<Raw> {
    let mut raw = Raw::narrow(address).await?;
    if messages.iter().all(|message| message.way == Way::WebSocket) {
        raw.send(&upgrade(&identity)).await?;
        let _ = timeout(Duration::from_secs(10), raw.read_some()).await;
        for message in &messages {
            raw.send(&text_frame(&asked(message, &message.calls[0]).to_string())).await?;
        }
        return Ok(raw);
    }
    for message in &messages {
        let (head, body) = request(&identity, message, &message.calls[0]);
        // The server may stop reading before it has all of them; that is its right.
        let _ = timeout(Duration::from_millis(200), raw.send(&[head, body].concat())).await;
    }
    Ok(raw)
}
