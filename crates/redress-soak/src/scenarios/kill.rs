//! SIGKILL under load, several times, with the server started again on what it left.

use std::{io, net::SocketAddr, time::Duration};

use fastrand::Rng;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::{
    client::Client,
    ending::Ending,
    home::{Home, Settings},
    ledger::{Ledger, Seen},
    load::{Load, politely},
    plan::{Message, Mix, Way, What},
    report::Report,
    server::Server,
    stage::{Stage, finish, memory, records},
};

pub(crate) async fn run(stage: Stage) -> io::Result<Report> {
    let mut report = Report::default();
    let home = Home::new(&Settings::default(), 4)?;
    let ledger = Ledger::default();
    let mut rng = Rng::with_seed(stage.seed);
    let mut server = Server::start(&home).await?;
    let (address, before) = (server.address(), server.usage());
    let until = Instant::now() + stage.share(70);
    let mut round = 0;
    while round < 3 || (Instant::now() < until && round < 60) {
        let load = Load {
            address,
            identities: home.identities().to_vec(),
            seed: stage.seed,
            name: format!("{}-{round}", stage.name),
            mix: Mix::Effects,
            clients: 16,
            every: Duration::from_millis(2),
            at_most: 10_000,
        };
        let load = load.start(&ledger);
        sleep(Duration::from_millis(rng.u64(400..1_500))).await;
        server.kill().await?;
        load.stop().await;
        server = Server::again(&home, address).await?;
        round += 1;
        stage.say(&format!("killed {round} times, {} calls", ledger.seen().len()));
    }
    report.figure("kills", round);
    let asked = ask_again(&home, &ledger, address).await;
    report.figure("keys asked about again", asked);
    memory(&mut report, before, server.usage());
    let (status, _) = server.stop().await?;
    report.check(status.success(), || format!("the server ended with {status}"));
    records(&mut report, &home, &ledger, &[], |ending| {
        matches!(ending, Ending::Cut(_)) || ending.code() == Some("OUTCOME_UNKNOWN")
    })
    .await?;
    finish(stage, home, report)
}

/// Repeats every call with a key, as a client would that does not know what became of it; and those that were answered
/// too, since their answers must come again as they were.
pub(crate) async fn ask_again(home: &Home, ledger: &Ledger, address: SocketAddr) -> usize {
    let mut asking = JoinSet::new();
    let adds: Vec<Seen> = ledger.seen().into_iter().filter(|seen| matches!(seen.what, What::Add { .. })).collect();
    let count = adds.len();
    for identity in home.identities() {
        let (own, ledger) = (adds.iter().filter(|seen| seen.caller == identity.caller), ledger.clone());
        let own: Vec<Seen> = own.cloned().collect();
        for part in own.chunks(own.len().div_ceil(4).max(1)) {
            let (mut client, ledger, part) = (Client::new(address, identity), ledger.clone(), part.to_vec());
            asking.spawn(async move {
                for seen in &part {
                    politely(&mut client, &repetition(seen), &ledger).await;
                }
            });
        }
    }
    while asking.join_next().await.is_some() {}
    count
}

/// The same call once more, alone and by another way.
fn repetition(seen: &Seen) -> Message {
    let way = if seen.face == "websocket" { Way::Http2 } else { Way::WebSocket };
    let message = Message::one(format!("{}-again", seen.id), way, seen.what.clone());
    Message { key: seen.key.clone(), ..message }
}
