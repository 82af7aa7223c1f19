//! What every scenario is given, and what most of them begin with.

use std::{io, time::Duration};

use crate::{
    agree,
    client::Identity,
    ending::Ending,
    home::{Home, Settings},
    ledger::Ledger,
    load::{Load, Running},
    measure::{mib, ms},
    plan::Mix,
    records::Records,
    report::Report,
    server::{Server, Usage, tail},
};

/// How many callers go on as ever while something happens to others.
pub(crate) const BYSTANDERS: usize = 6;

/// What a scenario is given.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub(crate) name: &'static str,
    pub(crate) seed: u64,
    /// About how long it may take.
    pub(crate) time: Duration,
    /// Whether promises about time are held to the letter. In the short form they are not: a machine that builds and
    /// tests beside it says nothing about time.
    pub(crate) strict: bool,
}

/// A server with callers, a ledger of what they saw, and what it used when it had just started.
pub(crate) struct Scene {
    pub(crate) stage: Stage,
    pub(crate) home: Home,
    pub(crate) server: Server,
    pub(crate) ledger: Ledger,
    pub(crate) before: Usage,
}

impl Stage {
    /// Tells a person how far it is.
    #[expect(clippy::print_stdout, reason = "a soak tells its progress")]
    pub(crate) fn say(&self, text: &str) {
        println!("{:>10}  {text}", self.name);
    }

    /// A server in a folder of its own.
    pub(crate) async fn scene(&self, settings: &Settings) -> io::Result<Scene> {
        let home = Home::new(settings, 4)?;
        let server = Server::start(&home).await?;
        let before = server.usage();
        Ok(Scene { stage: self.clone(), home, server, ledger: Ledger::default(), before })
    }

    /// A share of the time, in hundredths.
    pub(crate) fn share(&self, hundredths: u32) -> Duration {
        self.time * hundredths / 100
    }
}

impl Scene {
    /// The caller at a place.
    pub(crate) fn identity(&self, number: usize) -> &Identity {
        let identities = self.home.identities();
        &identities[number % identities.len()]
    }

    pub(crate) fn load(&self, name: &str, mix: Mix, clients: usize, every: Duration) -> Load {
        Load {
            address: self.server.address(),
            identities: self.home.identities().to_vec(),
            seed: self.stage.seed,
            name: format!("{}-{name}", self.stage.name),
            mix,
            clients,
            every,
            at_most: 100_000,
        }
    }

    /// Callers who are to notice nothing of what the scenario does.
    pub(crate) fn bystanders(&self) -> Running {
        self.load("bystander", Mix::Plain, BYSTANDERS, Duration::from_millis(20)).start(&self.ledger)
    }

    /// Stops the server, and holds its records against what clients saw.
    pub(crate) async fn close(self, mut report: Report, also: impl Fn(&Ending) -> bool) -> io::Result<Report> {
        let after = self.server.usage();
        memory(&mut report, self.before, after);
        let (status, _) = self.server.stop().await?;
        report.check(status.success(), || format!("the server ended with {status}"));
        records(&mut report, &self.home, &self.ledger, &[], also).await?;
        finish(self.stage, self.home, report)
    }
}

/// The figures of memory.
pub(crate) fn memory(report: &mut Report, before: Usage, after: Usage) {
    report.figure("RSS", format!("{} → {}, peak {}", mib(before.rss_kib), mib(after.rss_kib), mib(after.peak_kib)));
}

/// Holds everything that the server left behind against what clients saw. `others` are callers whose calls are in no
/// ledger, and `also` says which other endings the scenario brings about.
pub(crate) async fn records(
    report: &mut Report,
    home: &Home,
    ledger: &Ledger,
    others: &[&str],
    also: impl Fn(&Ending) -> bool,
) -> io::Result<Records> {
    let seen = ledger.seen();
    let latencies = ledger.latencies();
    report.figure("calls", seen.len());
    report.figure("p50/p99", format!("{}/{}", ms(latencies.p50()), ms(latencies.p99())));
    let endings: Vec<String> = ledger.endings().iter().map(|(name, count)| format!("{name} {count}")).collect();
    report.figure("endings", endings.join(", "));
    agree::endings(report, ledger, also);
    agree::effects(report, &seen, &home.effects()?);
    let records = Records::read(&home.state()).await?;
    report.figure("records", format!("{} calls, {} keys, compared one by one", records.audited(), records.keys.len()));
    agree::audit(report, &seen, &records, others);
    agree::keys(report, &seen, &records);
    Ok(records)
}

/// Keeps the folder where something was broken, for a person to look at.
pub(crate) fn finish(stage: Stage, home: Home, report: Report) -> io::Result<Report> {
    if report.is_broken() {
        let log = tail(&home);
        stage.say(&format!("broken; what it left is in {}\n{log}", home.keep().display()));
    }
    Ok(report)
}
