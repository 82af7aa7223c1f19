//! Ten thousand connections that are open and do nothing.

use std::{io, time::Duration};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::{
    ending::Ending,
    home::Settings,
    measure::mib,
    plan::{Message, Way, What},
    raw::{Raw, request},
    report::Report,
    stage::Stage,
};

const WANTED: usize = 10_000;
/// What each process needs besides; the server keeps a tenth back for its work.
const SPARE: usize = 1_200;
/// What one idle connection may cost the server.
const PER_CONNECTION_KIB: u64 = 32;
/// How many clients connect at once.
const AT_ONCE: usize = 50;

pub(crate) async fn run(stage: Stage) -> io::Result<Report> {
    let mut report = Report::default();
    // The server inherits the limit.
    let files = raise_files(WANTED + SPARE);
    let wanted = WANTED.min(files.saturating_sub(SPARE));
    if wanted < WANTED {
        stage.say(&format!("this system lets a process open {files} files, so there are {wanted} connections"));
    }
    let scene =
        stage.scene(&Settings { idle_secs: 600, request_secs: 600, behind_proxy: true, ..Settings::default() }).await?;
    let since = Instant::now();
    let mut opened: Vec<Raw> = Vec::with_capacity(wanted);
    let mut opening = JoinSet::new();
    for number in 0..wanted {
        if opening.len() >= AT_ONCE {
            opened.push(next(&mut opening).await?);
        }
        if number % 2_000 == 0 && number > 0 {
            stage.say(&format!("{number} connections"));
        }
        let address = scene.server.address();
        let message = Message::one(format!("{}-{number}", stage.name), Way::Http1, What::Read { n: 3 });
        let identity = scene.identity(number).clone();
        // One in ten has made a call before, as a browser or a pool would have.
        let ledger = (number % 10 == 0).then(|| scene.ledger.clone());
        opening.spawn(async move {
            let mut raw = Raw::open(address).await?;
            if let Some(ledger) = ledger {
                let (head, body) = request(&identity, &message, &message.calls[0]);
                raw.send(&[head, body].concat()).await?;
                raw.read_some().await?;
                let output = serde_json::json!({"n": 3, "square": 9});
                let answered = crate::client::Answered { endings: vec![Ending::Output(output)], took: Duration::ZERO };
                ledger.enter(&message, &identity, &answered);
            }
            Ok(raw)
        });
    }
    while !opening.is_empty() {
        opened.push(next(&mut opening).await?);
    }
    report.figure("connections", format!("{} in {:.1} s", opened.len(), since.elapsed().as_secs_f64()));
    sleep(Duration::from_millis(500)).await;
    let held = scene.server.usage();
    report.check(held.files >= wanted, || format!("the server holds {} of {wanted} connections", held.files));
    let each = held.rss_kib.saturating_sub(scene.before.rss_kib) / wanted.max(1) as u64;
    report.figure("memory each", format!("{each} KiB"));
    report.check(each <= PER_CONNECTION_KIB, || format!("an idle connection costs {each} KiB"));
    stage.say(&format!("{} connections, {} in all", opened.len(), mib(held.rss_kib)));
    let bystanders = scene.bystanders();
    sleep(stage.share(50)).await;
    bystanders.stop().await;
    drop(opened);
    let shed = scene.server.sheds_files(scene.before.files + 16, Duration::from_secs(20)).await;
    report.check(shed, || format!("{} files are open after every client has left", scene.server.usage().files));
    scene.close(report, |_| false).await
}

async fn next(opening: &mut JoinSet<io::Result<Raw>>) -> io::Result<Raw> {
    match opening.join_next().await {
        Some(opened) => opened.map_err(io::Error::other)?,
        None => Err(io::Error::other("nothing is being opened")),
    }
}

/// Lets this process and its children open this many files, or as many as the system lets them.
fn raise_files(wanted: usize) -> usize {
    let wanted = wanted as u64;
    let now = getrlimit(Resource::Nofile);
    let enough = |limit: Option<u64>| limit.is_none_or(|limit| limit >= wanted);
    if !enough(now.current) {
        let maximum = if enough(now.maximum) { now.maximum } else { Some(wanted) };
        // Beyond its own maximum only a privileged process may go.
        let raised = Rlimit { current: Some(wanted), maximum };
        if setrlimit(Resource::Nofile, raised).is_err() {
            let _ = setrlimit(Resource::Nofile, Rlimit { current: now.maximum, maximum: now.maximum });
        }
    }
    getrlimit(Resource::Nofile).current.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
}
