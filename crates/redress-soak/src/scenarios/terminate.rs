//! SIGTERM under load, several times.

use std::{io, time::Duration};

use rustix::process::Signal;
use tokio::time::{Instant, sleep};

use crate::{
    client::{Client, Identity},
    ending::Ending,
    home::{Home, Settings},
    ledger::Ledger,
    load::{Load, politely},
    measure::{Latencies, ms},
    plan::{Message, Mix, Way, What},
    report::Report,
    server::Server,
    stage::{Stage, finish, memory, records},
};

const GRACE_SECS: u64 = 8;
/// Calls that have certainly been accepted when the signal comes, and take longer than that.
const RUNNING: usize = 12;

pub(crate) async fn run(stage: Stage) -> io::Result<Report> {
    let mut report = Report::default();
    let home = Home::new(&Settings { grace_secs: GRACE_SECS, ..Settings::default() }, 4)?;
    let ledger = Ledger::default();
    let mut ends = Latencies::default();
    let until = Instant::now() + stage.time;
    let mut round = 0;
    while round < 2 || (Instant::now() < until && round < 60) {
        let server = Server::start(&home).await?;
        let before = server.usage();
        let load = Load {
            address: server.address(),
            identities: home.identities().to_vec(),
            seed: stage.seed,
            name: format!("{}-{round}", stage.name),
            mix: Mix::All,
            clients: 16,
            every: Duration::from_millis(2),
            at_most: 10_000,
        };
        let load = load.start(&ledger);
        sleep(Duration::from_millis(300)).await;
        let running: Vec<_> = (0..RUNNING)
            .map(|number| {
                let identity = home.identities()[number % home.identities().len()].clone();
                let id = format!("{}-{round}-running-{number}", stage.name);
                tokio::spawn(wait(server.address(), identity, id, number, ledger.clone()))
            })
            .collect();
        sleep(Duration::from_millis(700)).await;
        memory_of_round(&mut report, round, before, &server);
        let since = Instant::now();
        server.signal(Signal::TERM)?;
        let (status, _) = server.ended().await?;
        ends.push(since.elapsed());
        report.check(status.success(), || format!("the server ended with {status}"));
        report.check(since.elapsed() < Duration::from_secs(GRACE_SECS + 2), || {
            format!("the server took {} to end", ms(since.elapsed()))
        });
        for running in running {
            let (id, ending) = running.await.map_err(io::Error::other)?;
            report.check(matches!(ending, Ending::Output(_)), || {
                format!("{id} ran when the signal came, and ended with {ending:?}")
            });
        }
        load.stop().await;
        round += 1;
        stage.say(&format!("{round} times, {} calls", ledger.seen().len()));
    }
    report.figure("signals", round);
    report.figure("took to end", format!("{} at most", ms(ends.per_mille(1000))));
    let records = records(&mut report, &home, &ledger, &[], |ending| matches!(ending, Ending::Cut(_))).await?;
    for seen in ledger.seen().iter().filter(|seen| !seen.ending.is_answer()) {
        report.check(!records.audit.contains_key(&seen.id), || {
            format!("{} was accepted and not answered: {:?}", seen.id, seen.ending)
        });
    }
    finish(stage, home, report)
}

fn memory_of_round(report: &mut Report, round: usize, before: crate::server::Usage, server: &Server) {
    if round == 0 {
        memory(report, before, server.usage());
    }
}

/// A call that takes a second and a half, by a way of its own.
async fn wait(
    address: std::net::SocketAddr,
    identity: Identity,
    id: String,
    number: usize,
    ledger: Ledger,
) -> (String, Ending) {
    let way = Way::ALL[number % Way::ALL.len()];
    let message = Message::one(id, way, What::Wait { ms: 1_500 });
    let mut client = Client::new(address, &identity);
    let answered = politely(&mut client, &message, &ledger).await;
    let ending = answered.endings.into_iter().next().unwrap_or(Ending::Silent);
    (message.call_id(0), ending)
}
