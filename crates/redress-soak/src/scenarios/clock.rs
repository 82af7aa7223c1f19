//! The clock on the wall jumps, under load.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use tokio::time::{Instant, sleep};

use crate::{
    client::{Client, Identity},
    ending::{Ending, ObservedFailure},
    home::{Home, Settings},
    ledger::Ledger,
    load::{Load, politely},
    plan::{Message, Mix, Way, What},
    records::Records,
    report::Report,
    server::Server,
    stage::{Stage, finish, memory, records},
};

/// How the clock stands beside the true one, one after the other.
const JUMPS: [&str; 6] = ["+0", "+1h", "+0", "-1h", "+10y", "+0"];
const HALF_AN_HOUR: Duration = Duration::from_secs(30 * 60);
/// How long the call lasts that is under way when the clock jumps.
const UNDER_WAY_MS: u64 = 600;
/// How often a month a caller may have what is counted.
const QUOTA: usize = 5;

pub(crate) async fn run(stage: Stage) -> io::Result<Report> {
    let mut report = Report::default();
    let Some(library) = library() else {
        report.skip("libfaketime is not there; `apt-get install faketime` brings it");
        return Ok(report);
    };
    let home = Home::new(&Settings { quota: Some(QUOTA), ..Settings::default() }, 4)?;
    // It has a token that ends in half an hour; the others have tokens that do not.
    let ending = home.identity("ending", Some(SystemTime::now() + HALF_AN_HOUR))?;
    let clock = Clock(home.path().join("clock"));
    clock.stands(JUMPS[0])?;
    let server = Server::with(&home, &clock.variables(&library)).await?;
    let (ledger, before, address) = (Ledger::default(), server.usage(), server.address());
    let load = Load {
        address,
        identities: home.identities().to_vec(),
        seed: stage.seed,
        name: format!("{}-client", stage.name),
        mix: Mix::Plain,
        clients: 6,
        every: Duration::from_millis(20),
        at_most: 100_000,
    };
    let load = load.start(&ledger);
    let identity = home.identities().first().ok_or_else(|| io::Error::other("there is no caller"))?;
    let mut asking = AskingCaller { client: Client::new(address, identity), ledger: ledger.clone(), made: 0 };
    let mut ending = AskingCaller { client: Client::new(address, &ending), ledger: ledger.clone(), made: 0 };

    let granted = asking.ask(What::Grant { minutes: 30 }, None).await;
    report.check(matches!(granted, Ending::Output(_)), || format!("no consent can be given: {granted:?}"));
    let add = What::Add { entry: "clock-kept".to_owned(), before_ms: 0, after_ms: 0, refuse: false };
    let first = asking.ask(add.clone(), Some("k-clock-kept")).await;
    let mut counted: HashMap<String, usize> = HashMap::new();
    for (number, stands) in JUMPS.into_iter().enumerate() {
        let under_way = under_way(address, identity, &ledger, format!("clock-under-way-{number}"));
        let jump = async {
            sleep(Duration::from_millis(UNDER_WAY_MS / 3)).await;
            clock.stands(stands)
        };
        let ((took, waited), jumped) = tokio::join!(under_way, jump);
        jumped?;
        let slack = Duration::from_secs(if stage.strict { 2 } else { 10 });
        report.check(matches!(waited, Ending::Output(_)) && took < Duration::from_millis(UNDER_WAY_MS) + slack, || {
            format!("a call of {UNDER_WAY_MS} ms ended with {waited:?} after {took:?} as the clock jumped to {stands}")
        });
        let ahead = stands == "+1h" || stands == "+10y";
        let again = asking.ask(add.clone(), Some("k-clock-kept")).await;
        report.check(again == first, || format!("at {stands} a repeated key got {again:?} and not {first:?}"));
        let agreed = asking.ask(What::Agreed { n: 4 }, None).await;
        // Set back, a clock leaves a consent what is left of its true time.
        report.check(!ahead || agreed.code() == Some("CONSENT_REQUIRED"), || {
            format!("at {stands} a consent for half an hour ended with {agreed:?}")
        });
        let known = ending.ask(What::Read { n: 6 }, None).await;
        let unknown = known.code() == Some("AUTH_REQUIRED");
        report.check(unknown == ahead, || format!("at {stands} a token for half an hour ended with {known:?}"));
        let (answered, refused) = asking.ask_until_refused().await;
        match refused {
            Ending::Failure(ObservedFailure { code, renews_at: Some(renews), .. }) if code == "QUOTA_EXHAUSTED" => {
                *counted.entry(renews).or_default() += answered;
            }
            other @ (Ending::Output(_) | Ending::Failure(_) | Ending::Cut(_) | Ending::Silent) => {
                report.broken(format!("at {stands}, after {answered} calls, a quota of {QUOTA} ended with {other:?}"))
            }
        }
        sleep((stage.share(80) / 6).saturating_sub(Duration::from_millis(UNDER_WAY_MS))).await;
        stage.say(&format!("the clock stood at {stands}; {} calls", ledger.seen().len()));
    }
    load.stop().await;
    // An hour may lie in another month, and ten years do: each has its own, and none of them gives anything twice.
    let given: Vec<usize> = counted.values().copied().collect();
    report.figure("counted", format!("{given:?} of {QUOTA} each"));
    report.check(counted.len() > 1 && given.iter().all(|given| *given == QUOTA), || {
        format!("of {QUOTA} a month the months gave {counted:?}")
    });
    report.figure("jumps", JUMPS.len() - 1);
    let kept = Records::read(&home.state()).await?.audited();
    report.check(kept > 0, || "the audit is empty".to_owned());
    memory(&mut report, before, server.usage());
    let (status, _) = server.stop().await?;
    report.check(status.success(), || format!("the server ended with {status}"));
    records(&mut report, &home, &ledger, &[], |ending| {
        matches!(ending.code(), Some("CONSENT_REQUIRED" | "AUTH_REQUIRED"))
    })
    .await?;
    finish(stage, home, report)
}

/// One caller who asks one thing after the other.
struct AskingCaller {
    client: Client,
    ledger: Ledger,
    made: u32,
}

impl AskingCaller {
    async fn ask(&mut self, what: What, key: Option<&str>) -> Ending {
        self.made += 1;
        let identity = self.client.identity().clone();
        let mut message = Message::one(format!("clock-{}-{}", identity.caller, self.made), Way::Http1, what);
        message.key = key.map(str::to_owned);
        let answered = politely(&mut self.client, &message, &self.ledger).await;
        answered.endings.into_iter().next().unwrap_or(Ending::Silent)
    }
}

impl AskingCaller {
    /// Calls what is counted until nothing is left of it; tells how often it was answered, and how it was refused then.
    async fn ask_until_refused(&mut self) -> (usize, Ending) {
        let mut answered = 0;
        loop {
            self.made += 1;
            let id = format!("clock-counted-{}", self.made);
            let message = Message::one(id, Way::Http1, What::Counted { n: 3 });
            let made = self.client.make(&message).await;
            self.ledger.enter(&message, self.client.identity(), &made);
            match made.endings.into_iter().next().unwrap_or(Ending::Silent) {
                Ending::Output(_) if answered <= QUOTA => answered += 1,
                other @ (Ending::Output(_) | Ending::Failure(_) | Ending::Cut(_) | Ending::Silent) => {
                    return (answered, other);
                }
            }
        }
    }
}

/// A call that is under way when the clock jumps.
async fn under_way(
    address: std::net::SocketAddr,
    identity: &Identity,
    ledger: &Ledger,
    id: String,
) -> (Duration, Ending) {
    let message = Message::one(id, Way::WebSocket, What::Wait { ms: UNDER_WAY_MS });
    let since = Instant::now();
    let answered = politely(&mut Client::new(address, identity), &message, ledger).await;
    (since.elapsed(), answered.endings.into_iter().next().unwrap_or(Ending::Silent))
}

/// The file that tells the server's clock how it stands.
struct Clock(PathBuf);

impl Clock {
    /// Sets the clock, in one step: a file that is half written tells no time.
    fn stands(&self, offset: &str) -> io::Result<()> {
        let next = self.0.with_extension("next");
        fs::write(&next, format!("{offset}\n"))?;
        fs::rename(next, &self.0)
    }

    /// What makes a process go by this clock. Only the clock on the wall can be set; the one that runs is let be.
    fn variables(&self, library: &Path) -> Vec<(&'static str, String)> {
        vec![
            ("LD_PRELOAD", library.display().to_string()),
            ("FAKETIME_TIMESTAMP_FILE", self.0.display().to_string()),
            ("FAKETIME_NO_CACHE", "1".to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
            ("DONT_FAKE_MONOTONIC", "1".to_owned()),
            ("NO_FAKE_STAT", "1".to_owned()),
        ]
    }
}

/// Where libfaketime is.
fn library() -> Option<PathBuf> {
    let folders = ["x86_64-linux-gnu/faketime", "aarch64-linux-gnu/faketime", "faketime"];
    let mut paths = folders.iter().map(|folder| Path::new("/usr/lib").join(folder).join("libfaketimeMT.so.1"));
    paths.find(|path| path.is_file())
}
