//! Clients that stop in the middle and leave the connection open.

use std::{io, time::Duration};

use tokio::{task::JoinSet, time::sleep};

use crate::{
    client::Identity,
    home::Settings,
    plan::{Message, Way, What},
    raw::{Raw, request, upgrade},
    report::Report,
    stage::Stage,
};

const REQUEST_SECS: u64 = 2;
/// Longer than any pause of those who are to notice nothing.
const IDLE_SECS: u64 = 5;
/// How late a busy machine may be.
const SLACK: Duration = Duration::from_secs(6);

/// Where a client stops.
#[derive(Clone, Copy, Debug)]
enum Stops {
    /// Before anything.
    Before,
    /// In the head of a request.
    InHead,
    /// In the body.
    InBody,
    /// After the request, with its own half closed.
    AfterRequest,
    /// In the frame of a WebSocket.
    InFrame,
}

pub(crate) async fn run(stage: Stage) -> io::Result<Report> {
    let mut report = Report::default();
    let scene =
        stage.scene(&Settings { request_secs: REQUEST_SECS, idle_secs: IDLE_SECS, ..Settings::default() }).await?;
    let bystanders = scene.bystanders();
    sleep(Duration::from_millis(200)).await;
    let until = tokio::time::Instant::now() + stage.share(80);
    let mut opened = 0_usize;
    let mut round = 0_usize;
    while round == 0 || (tokio::time::Instant::now() < until && round < 40) {
        let mut clients = JoinSet::new();
        for number in 0..100_usize {
            let stops = [Stops::Before, Stops::InHead, Stops::InBody, Stops::AfterRequest, Stops::InFrame][number % 5];
            let message = Message::one(format!("{}-{round}-{number}", stage.name), Way::Http1, What::Read { n: 7 });
            let identity = scene.identity(number).clone();
            scene.ledger.enter_cut(&message, &identity);
            clients.spawn(client(scene.server.address(), identity, message, stops));
            opened += 1;
        }
        while let Some(client) = clients.join_next().await {
            match client.map_err(io::Error::other)? {
                Ok(None) => {}
                Ok(Some(why)) => report.broken(why),
                Err(error) => report.broken(format!("a client could not connect: {error}")),
            }
        }
        round += 1;
        stage.say(&format!("{opened} clients stopped in the middle"));
    }
    report.figure("half-open clients", opened);
    bystanders.stop().await;
    let files = scene.server.sheds_files(scene.before.files + 8, SLACK).await;
    report.check(files, || format!("{} files are open after every client has left", scene.server.usage().files));
    scene
        .close(report, |ending| {
            !ending.is_answer() && matches!(ending, crate::ending::Ending::Cut(why) if why.ends_with("went away"))
        })
        .await
}

/// One client; tells what was wrong with how the server treated it.
async fn client(
    address: std::net::SocketAddr,
    identity: Identity,
    message: Message,
    stops: Stops,
) -> io::Result<Option<String>> {
    let mut raw = Raw::open(address).await?;
    let (head, body) = request(&identity, &message, &message.calls[0]);
    match stops {
        Stops::Before => {}
        Stops::InHead => raw.send(&head[..head.len() / 2]).await?,
        Stops::InBody => {
            raw.send(&head).await?;
            raw.send(&body[..body.len() / 2]).await?;
        }
        Stops::AfterRequest => {
            raw.send(&[head, body].concat()).await?;
            raw.half_close().await?;
        }
        Stops::InFrame => {
            raw.send(&upgrade(&identity)).await?;
            raw.read_some().await?;
            raw.send(&[0x81, 0xfe]).await?;
        }
    }
    // A WebSocket is given up by its own rule for silence, which is longer than this scenario.
    if matches!(stops, Stops::InFrame) {
        return Ok(None);
    }
    let closed = raw.read_to_close(Duration::from_secs(IDLE_SECS) + SLACK).await;
    Ok(closed.is_none().then(|| format!("a client that stopped {stops:?} is still connected")))
}
