//! Clients that reset their connection in the middle of a body, a call or a stream, and come again.

use std::{io, net::SocketAddr, time::Duration};

use fastrand::Rng;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use crate::{
    client::{Client, Identity},
    ending::Ending,
    home::Settings,
    ledger::Ledger,
    load::politely,
    plan::{Message, Way, What},
    raw::{Raw, request, text_frame, upgrade},
    report::Report,
    stage::Stage,
};

const CLIENTS: usize = 20;

pub(crate) async fn run(stage: Stage) -> io::Result<Report> {
    let mut report = Report::default();
    let scene = stage.scene(&Settings::default()).await?;
    let bystanders = scene.bystanders();
    let until = Instant::now() + stage.share(80);
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let identity = scene.identity(number).clone();
        let (address, ledger) = (scene.server.address(), scene.ledger.clone());
        let rng = Rng::with_seed(stage.seed ^ number as u64);
        clients.spawn(client(address, identity, ledger, rng, format!("{}-{number}", stage.name), until));
    }
    let mut resets = 0;
    while let Some(client) = clients.join_next().await {
        resets += client.map_err(io::Error::other)??;
    }
    report.figure("resets", resets);
    bystanders.stop().await;
    let files = scene.server.sheds_files(scene.before.files + 8, Duration::from_secs(20)).await;
    report.check(files, || format!("{} files are open after every client has left", scene.server.usage().files));
    scene.close(report, is_from_reset).await
}

/// The endings that resets bring about: the client's own, and that the outcome of a call that was cut off is not known.
fn is_from_reset(ending: &Ending) -> bool {
    match ending {
        Ending::Cut(why) => why.ends_with("went away"),
        Ending::Failure(told) => told.code == "OUTCOME_UNKNOWN",
        Ending::Output(_) | Ending::Silent => false,
    }
}

/// Resets until it is time; tells how often.
async fn client(
    address: SocketAddr,
    identity: Identity,
    ledger: Ledger,
    mut rng: Rng,
    name: String,
    until: Instant,
) -> io::Result<usize> {
    let mut again = Client::new(address, &identity);
    let mut made = 0;
    while Instant::now() < until && made < 2_000 {
        made += 1;
        let id = format!("{name}.{made}");
        let message = match rng.u32(..5) {
            0 => in_body(address, &identity, &id).await?,
            1 | 2 => in_call(address, &identity, &id, &mut rng).await?,
            3 => in_stream(address, &identity, &id).await?,
            _ => in_socket(address, &identity, &id, &mut rng).await?,
        };
        ledger.enter_cut(&message, &identity);
        if message.key.is_some() {
            // Whoever has a key comes again and asks what became of it.
            politely(&mut again, &message.again(format!("{id}-again")), &ledger).await;
        }
    }
    Ok(made)
}

async fn in_body(address: SocketAddr, identity: &Identity, id: &str) -> io::Result<Message> {
    let message = Message::one(id, Way::Http1, What::Large { bytes: 10 });
    let mut raw = Raw::open(address).await?;
    let (head, body) = request(identity, &message, &message.calls[0]);
    raw.send(&head).await?;
    raw.send(&body[..body.len() / 2]).await?;
    raw.reset()?;
    Ok(message)
}

async fn in_call(address: SocketAddr, identity: &Identity, id: &str, rng: &mut Rng) -> io::Result<Message> {
    let add = What::Add { entry: id.to_owned(), before_ms: rng.u64(..20), after_ms: rng.u64(..20), refuse: false };
    let message = Message::one(id, Way::Http1, add).with_key(format!("k-{id}"));
    let mut raw = Raw::open(address).await?;
    let (head, body) = request(identity, &message, &message.calls[0]);
    raw.send(&[head, body].concat()).await?;
    sleep(Duration::from_millis(rng.u64(..30))).await;
    raw.reset()?;
    Ok(message)
}

async fn in_stream(address: SocketAddr, identity: &Identity, id: &str) -> io::Result<Message> {
    let message = Message::one(id, Way::Http1, What::Follow { items: 10_000, every_ms: 1, bytes: 100 });
    let mut raw = Raw::open(address).await?;
    let (head, body) = request(identity, &message, &message.calls[0]);
    raw.send(&[head, body].concat()).await?;
    for _ in 0..3 {
        let _ = timeout(Duration::from_secs(5), raw.read_some()).await;
    }
    raw.reset()?;
    Ok(message)
}

async fn in_socket(address: SocketAddr, identity: &Identity, id: &str, rng: &mut Rng) -> io::Result<Message> {
    let add = What::Add { entry: id.to_owned(), before_ms: rng.u64(..20), after_ms: rng.u64(..20), refuse: false };
    let message = Message::one(id, Way::WebSocket, add).with_key(format!("k-{id}"));
    let mut raw = Raw::open(address).await?;
    raw.send(&upgrade(identity)).await?;
    let _ = timeout(Duration::from_secs(5), raw.read_some()).await;
    raw.send(&text_frame(&crate::client::asked(&message, &message.calls[0]).to_string())).await?;
    sleep(Duration::from_millis(rng.u64(..30))).await;
    raw.reset()?;
    Ok(message)
}
