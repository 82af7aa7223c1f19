//! Strangers who open as many connections as they may, at a server that may open few files.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::{
    home::{Home, Settings},
    ledger::Ledger,
    measure::{Latencies, ms},
    plan::Mix,
    raw::Raw,
    report::Report,
    server::Server,
    stage::{BYSTANDERS, Scene, Stage},
};

/// How many files the server may open.
const FILES: usize = 256;
/// How many connections each stranger tries to hold: more than all of them together may have.
const WANTED: usize = 300;
/// Where the strangers come from.
const STRANGERS: [[u8; 4]; 3] = [[127, 0, 0, 2], [127, 0, 0, 3], [127, 0, 0, 4]];
/// By how much the p99 of others may grow, in hundredths.
const PROMISED: u128 = 200;
/// The same where time is not held to the letter.
const UNBEARABLE: Duration = Duration::from_secs(5);

pub(crate) async fn run(stage: Stage) -> io::Result<Report> {
    let mut report = Report::default();
    let home = Home::new(&Settings { idle_secs: 600, ..Settings::default() }, 4)?;
    let server = Server::with_files(&home, FILES).await?;
    let before = server.usage();
    let scene = Scene { stage: stage.clone(), home, server, ledger: Ledger::default(), before };
    let others = |name: &str| scene.load(name, Mix::Plain, BYSTANDERS, Duration::from_millis(20)).start(&scene.ledger);
    let quiet = others("quiet");
    sleep(stage.share(30)).await;
    quiet.stop().await;
    let (address, until) = (scene.server.address(), Instant::now() + stage.share(50));
    let mut strangers = JoinSet::new();
    for from in STRANGERS {
        strangers.spawn(fill(address, from.into(), until));
    }
    // Everyone comes anew while there is no place left, and again a little later.
    let (mut round, mut max) = (0, 0);
    while Instant::now() < until {
        let filled = others(&format!("filled-{round}"));
        sleep(stage.share(10)).await;
        max = max.max(scene.server.usage().files);
        filled.stop().await;
        round += 1;
    }
    let mut opened = 0;
    while let Some(stranger) = strangers.join_next().await {
        opened += stranger.map_err(io::Error::other)?;
    }
    report.figure("connections of strangers", opened);
    report.figure("files at most", format!("{max} of {FILES}"));
    report.check(max <= FILES - 8, || format!("{max} of {FILES} files were open, and none was kept back"));
    let (without, with) = (p99(&scene, "quiet"), p99(&scene, "filled"));
    let ratio = with.as_micros() * 100 / without.as_micros().max(1);
    report.figure("others' p99", format!("{} → {}", ms(without), ms(with)));
    let holds = if stage.strict { ratio <= PROMISED } else { with < UNBEARABLE };
    report.check(holds, || format!("the p99 of others grew to {ratio} hundredths of what it was"));
    let shed = scene.server.sheds_files(before.files + 16, Duration::from_secs(20)).await;
    report.check(shed, || format!("{} files are open after every client has left", scene.server.usage().files));
    scene.close(report, |_| false).await
}

/// The p99 of the calls whose clients have this name.
fn p99(scene: &Scene, name: &str) -> Duration {
    let (name, mut latencies) = (format!("{}-{name}", scene.stage.name), Latencies::default());
    let seen = scene.ledger.seen();
    let answered = seen.iter().filter(|seen| seen.id.starts_with(&name) && seen.what.is_met_by(&seen.ending));
    answered.for_each(|seen| latencies.push(seen.took));
    latencies.p99()
}

/// Holds as many connections as can be had from one address, and opens those anew that were closed; tells how many
/// there were.
async fn fill(address: SocketAddr, from: IpAddr, until: Instant) -> usize {
    let (mut held, mut opened) = (Vec::new(), 0);
    while Instant::now() < until {
        held.retain(Raw::is_open);
        while held.len() < WANTED && Instant::now() < until {
            let Ok(raw) = Raw::open_from(from, address).await else { break };
            opened += 1;
            held.push(raw);
            if opened % 16 == 0 {
                break;
            }
        }
        sleep(Duration::from_millis(20)).await;
    }
    opened
}
