//! SIGKILL under load, several times, with the server started again on what it left.

use std::{collections::HashMap, io, time::Duration};

use fastrand::Rng;
use tokio::time::{Instant, sleep};

use crate::{
    client::Client,
    ending::Ending,
    home::{Home, Settings},
    ledger::{Ledger, Seen},
    load::Load,
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
    records(&mut report, &home, &ledger, |ending| {
        matches!(ending, Ending::Cut(_)) || ending.code() == Some("OUTCOME_UNKNOWN")
    })?;
    finish(stage, home, report)
}

/// Repeats every call with a key, as a client would that does not know what became of it; and those that were answered
/// too, since their answers must come again as they were.
async fn ask_again(home: &Home, ledger: &Ledger, address: std::net::SocketAddr) -> usize {
    let mut clients: HashMap<&str, Client> =
        home.identities().iter().map(|identity| (&*identity.caller, Client::new(address, identity))).collect();
    let seen = ledger.seen();
    let mut asked = 0;
    for seen in seen.iter().filter(|seen| matches!(seen.what, What::Add { .. })) {
        let Some(client) = clients.get_mut(&*seen.caller) else { continue };
        let message = repetition(seen);
        let answered = client.make(&message).await;
        ledger.enter(&message, client.identity(), &answered);
        asked += 1;
    }
    asked
}

/// The same call once more. The key of a call in a batch is the batch's with its place behind it.
fn repetition(seen: &Seen) -> Message {
    let way = if seen.face == "websocket" { Way::Http2 } else { Way::WebSocket };
    Message::one(format!("{}-again", seen.id), way, seen.what.clone()).with_key(format!("k-{}", seen.id))
}
