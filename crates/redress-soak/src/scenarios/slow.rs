//! Clients that send a byte at a time.

use std::{io, net::SocketAddr, time::Duration};

use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::{
    client::Identity,
    ending::Ending,
    home::Settings,
    measure::Latencies,
    measure::ms,
    plan::{Message, Way, What},
    raw::{Raw, request},
    report::Report,
    stage::Stage,
};

const REQUEST_SECS: u64 = 2;
const CLIENTS: usize = 200;
const SLACK: Duration = Duration::from_secs(6);

pub(crate) async fn run(stage: Stage) -> io::Result<Report> {
    let mut report = Report::default();
    let scene = stage.scene(&Settings { request_secs: REQUEST_SECS, ..Settings::default() }).await?;
    let bystanders = scene.bystanders();
    let until = Instant::now() + stage.share(70);
    let mut lives = Latencies::default();
    let mut round = 0;
    while round == 0 || (Instant::now() < until && round < 30) {
        let mut clients = JoinSet::new();
        for number in 0..CLIENTS {
            let message = Message::one(format!("{}-{round}-{number}", stage.name), Way::Http1, What::Read { n: 7 });
            let identity = scene.identity(number).clone();
            scene.ledger.enter_cut(&message, &identity);
            clients.spawn(client(scene.server.address(), identity, message, number % 2 == 0));
        }
        while let Some(client) = clients.join_next().await {
            match client.map_err(io::Error::other)?? {
                Some(life) => lives.push(life),
                None => report.broken("a client that sends a byte at a time was let be"),
            }
        }
        round += 1;
        stage.say(&format!("{} slow clients were cut off", lives.len()));
    }
    report.figure("slow clients", lives.len());
    report.figure("cut off after", format!("{} at most", ms(lives.per_mille(1000))));
    bystanders.stop().await;
    scene.close(report, |ending| matches!(ending, Ending::Cut(why) if why.ends_with("went away"))).await
}

/// Sends a byte at a time, of the head or of the body, and tells how long the server bore it.
async fn client(
    address: SocketAddr,
    identity: Identity,
    message: Message,
    in_head: bool,
) -> io::Result<Option<Duration>> {
    let mut raw = Raw::open(address).await?;
    let since = Instant::now();
    let (head, body) = request(&identity, &message, &message.calls[0]);
    let long_head = [&head[..head.len() - 2], b"X-Padding: ".as_slice(), &[b'x'; 400]].concat();
    // The body is announced longer than it will ever come to be.
    let long_body =
        String::from_utf8_lossy(&head).replace(&format!("Content-Length: {}", body.len()), "Content-Length: 4000");
    let drops = if in_head { long_head } else { [long_body.as_bytes(), &[b' '; 400]].concat() };
    let begun = if in_head { 0 } else { long_body.len() };
    raw.send(&drops[..begun]).await?;
    for drop in &drops[begun..] {
        if raw.send(&[*drop]).await.is_err() || raw.read_to_close(Duration::from_millis(200)).await.is_some() {
            return Ok(Some(since.elapsed()));
        }
        if since.elapsed() > Duration::from_secs(REQUEST_SECS) + SLACK {
            return Ok(None);
        }
        sleep(Duration::from_millis(20)).await;
    }
    Ok(None)
}
