//! One caller floods, and the others are measured, with and without it.

use std::{io, net::SocketAddr, process::Stdio, time::Duration};

use tokio::{
    process::Command,
    task::JoinSet,
    time::{Instant, sleep_until},
};

use crate::{
    abuse::TOKEN,
    client::{Client, Identity},
    ending::Ending,
    home::{Home, Settings},
    ledger::Ledger,
    measure::{Latencies, ms},
    plan::{Message, Way, What},
    report::Report,
    server::Server,
    stage::{Stage, finish, memory, records},
};

const VICTIMS: usize = 8;
/// How often each victim calls, and how long its call waits for something real.
const EVERY: Duration = Duration::from_millis(40);
const WAIT_MS: u64 = 10;
/// How many rounds there are of each kind.
const ROUNDS: u32 = 6;
/// By how much the p99 may grow, in hundredths.
const PROMISED: u128 = 200;
/// The same where time is not held to the letter; and then only what nobody would bear counts.
const GENEROUS: u128 = 1_000;
const UNBEARABLE: Duration = Duration::from_secs(5);

pub(crate) async fn run(stage: Stage) -> io::Result<Report> {
    let mut report = Report::default();
    let settings = Settings { limits: [100, 100, 16, 8, 8], request_secs: 5, write_secs: 5, ..Settings::default() };
    let home = Home::new(&settings, VICTIMS)?;
    let abuser = home.identity("abuser", None)?;
    let server = Server::start(&home).await?;
    let (ledger, before, address) = (Ledger::default(), server.usage(), server.address());
    // What is done for the first time only is no part of either kind of round.
    round(&stage, &home, &ledger, address, "warm", stage.share(4)).await;
    let each = stage.share(90) / (2 * ROUNDS);
    let (mut quiet, mut abused) = (Latencies::default(), Latencies::default());
    let mut flooded = 0;
    for number in 0..ROUNDS {
        quiet.extend(round(&stage, &home, &ledger, address, &format!("quiet-{number}"), each).await);
        let abuse = abuse(address, &abuser, stage.seed + u64::from(number), each)?;
        abused.extend(round(&stage, &home, &ledger, address, &format!("abused-{number}"), each).await);
        let output = abuse.wait_with_output().await?;
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        report.check(output.status.success(), || format!("the abuser could not go on: {told}"));
        flooded += told.trim().parse::<u64>().unwrap_or(0);
        stage.say(&format!("p99 {} without, {} with; {flooded} abusive requests", ms(quiet.p99()), ms(abused.p99())));
    }
    let ratio = abused.p99().as_micros() * 100 / quiet.p99().as_micros().max(1);
    report.figure("others' p50", format!("{} → {}", ms(quiet.p50()), ms(abused.p50())));
    report.figure(
        "others' p99",
        format!("{} → {}, {}.{:02} ×", ms(quiet.p99()), ms(abused.p99()), ratio / 100, ratio % 100),
    );
    report.figure("samples", format!("{} and {}", quiet.len(), abused.len()));
    report.figure("abusive requests", flooded);
    let holds = if stage.strict { ratio <= PROMISED } else { ratio <= GENEROUS || abused.p99() < UNBEARABLE };
    report.check(holds, || format!("the p99 of others grew to {ratio} hundredths of what it was"));
    report.check(flooded > 0, || "nobody was abusive".to_owned());
    memory(&mut report, before, server.usage());
    let (status, _) = server.stop().await?;
    report.check(status.success(), || format!("the server ended with {status}"));
    let turned_away = ledger.seen().iter().filter(|seen| seen.ending.is_turned_away()).count();
    let allowed = if stage.strict { 100 } else { 10 };
    report.figure("others turned away", turned_away);
    report.check(turned_away * allowed <= ledger.seen().len(), || {
        format!("{turned_away} of {} calls of others were turned away", ledger.seen().len())
    });
    records(&mut report, &home, &ledger, &["abuser"], |_| false).await?;
    finish(stage, home, report)
}

/// Starts the abuser: a process of its own, which stands for another machine and so gives way to everything on this one.
fn abuse(address: SocketAddr, identity: &Identity, seed: u64, time: Duration) -> io::Result<tokio::process::Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["abuse", &address.to_string(), &seed.to_string(), &time.as_millis().to_string()]);
    command.env(TOKEN, &*identity.token).stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
    command.spawn()
}

/// Lets every victim call at its pace, and tells how long the calls took.
pub(super) async fn round(
    stage: &Stage,
    home: &Home,
    ledger: &Ledger,
    address: SocketAddr,
    name: &str,
    time: Duration,
) -> Latencies {
    let mut victims = JoinSet::new();
    let since = Instant::now();
    for (number, identity) in home.identities().iter().enumerate() {
        let way = [Way::Http1, Way::Http2, Way::Rpc, Way::WebSocket][number % 4];
        let start = since + EVERY * u32::try_from(number).unwrap_or(0) / u32::try_from(VICTIMS).unwrap_or(1);
        let id = format!("{}-{name}-{number}", stage.name);
        victims.spawn(victim(Client::new(address, identity), ledger.clone(), way, id, start, since + time));
    }
    let mut latencies = Latencies::default();
    while let Some(victim) = victims.join_next().await {
        latencies.extend(victim.unwrap_or_default());
    }
    latencies
}

/// Calls at a steady pace. A call that is late because the one before it took long is late from when it was due:
/// whoever waits to ask waits too.
async fn victim(mut client: Client, ledger: Ledger, way: Way, id: String, start: Instant, until: Instant) -> Latencies {
    let mut latencies = Latencies::default();
    let mut due = start;
    let mut made = 0;
    while due < until {
        sleep_until(due).await;
        made += 1;
        let message = Message::one(format!("{id}.{made}"), way, What::Wait { ms: WAIT_MS });
        let answered = client.make(&message).await;
        ledger.enter(&message, client.identity(), &answered);
        if answered.endings.iter().all(|ending| matches!(ending, Ending::Output(_))) {
            latencies.push(due.elapsed());
        }
        due += EVERY;
    }
    latencies
}
