//! A mixed load over every face, with nothing in its way.

use std::{io, time::Duration};

use crate::{ending::Ending, home::Settings, measure::mib, plan::Mix, report::Report, stage::Stage};

/// How much the server may grow once it has met every kind of call. What grows without an end passes any such bound in
/// a run that is long enough.
const GROWTH_KIB: u64 = 48 * 1024;

pub(crate) async fn run(stage: Stage) -> io::Result<Report> {
    let mut report = Report::default();
    let scene = stage.scene(&Settings::default()).await?;
    let running = scene.load("client", Mix::All, 24, Duration::from_millis(5)).start(&scene.ledger);
    tokio::time::sleep(stage.share(30)).await;
    let warm = scene.server.usage();
    stage.say(&format!("{} calls, {}", scene.ledger.seen().len(), mib(warm.rss_kib)));
    tokio::time::sleep(stage.share(60)).await;
    let end = scene.server.usage();
    running.stop().await;
    report.check(end.rss_kib <= warm.rss_kib + GROWTH_KIB, || {
        format!("memory grew from {} to {} under a load that stayed the same", mib(warm.rss_kib), mib(end.rss_kib))
    });
    let files = scene.server.sheds_files(scene.before.files + 8, Duration::from_secs(20)).await;
    report.check(files, || format!("{} files are open after every client has left", scene.server.usage().files));
    scene.close(report, |_: &Ending| false).await
}
