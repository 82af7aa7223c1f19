//! A state that cannot be written for a while: a disk without room, and a file that another process has locked.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::PathBuf,
    time::Duration,
};

use rustix::{
    mount::{MountFlags, UnmountFlags, mount, unmount},
    process::{Resource, Rlimit},
};
use sqlx::{Executor as _, SqliteConnection};
use tokio::time::{Instant, sleep};

use super::kill::ask_again;
use crate::{
    client::{Client, Http, Version},
    ending::Ending,
    home::{Home, Settings},
    ledger::Ledger,
    load::Load,
    measure::ms,
    plan::{Message, Mix, Way, What},
    records::connect,
    report::Report,
    server::Server,
    stage::{Stage, finish, memory, records},
};

/// The size of the disk that is filled.
const DISK: &str = "24m";
/// How large a file may be where a limit on files stands for a full disk. The log of the state is longer by then.
const FILE_LIMIT: u64 = 256 * 1024;
/// How soon calls are taken again.
const HEALS: Duration = Duration::from_secs(8);

/// What is in the way of the state.
enum Trouble {
    /// A disk of its own, which is filled.
    Disk(Disk),
    /// No file of the server may grow. It stands for a full disk where this process may mount none.
    FileLimit,
    /// Another process holds the file's lock.
    Lock(Option<SqliteConnection>),
}

/// A small disk in memory, given back when it is dropped.
struct Disk(PathBuf);

impl Disk {
    fn mount(folder: PathBuf) -> io::Result<Disk> {
        fs::create_dir_all(&folder)?;
        let options = format!("size={DISK},mode=0700");
        let options = std::ffi::CString::new(options).map_err(io::Error::other)?;
        mount("soak", &folder, "tmpfs", MountFlags::empty(), Some(options.as_c_str()))?;
        Ok(Disk(folder))
    }

    /// Leaves no byte free.
    fn fill(&self) -> io::Result<()> {
        let mut filler = File::create(self.0.join("filler"))?;
        for size in [65_536, 1] {
            let piece = vec![b'x'; size];
            while filler.write_all(&piece).is_ok() {}
        }
        Ok(())
    }

    fn empty(&self) -> io::Result<()> {
        fs::remove_file(self.0.join("filler"))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = unmount(&self.0, UnmountFlags::DETACH);
    }
}

impl Trouble {
    async fn begin(&mut self, home: &Home, server: &Server) -> io::Result<()> {
        match self {
            Trouble::Disk(disk) => disk.fill(),
            Trouble::FileLimit => server.limit(Resource::Fsize, Rlimit { current: Some(FILE_LIMIT), maximum: None }),
            Trouble::Lock(held) => {
                let mut connection = connect(&home.state()).await?;
                connection.execute("BEGIN EXCLUSIVE").await.map_err(io::Error::other)?;
                *held = Some(connection);
                Ok(())
            }
        }
    }

    async fn end(&mut self, server: &Server) -> io::Result<()> {
        match self {
            Trouble::Disk(disk) => disk.empty(),
            Trouble::FileLimit => server.limit(Resource::Fsize, Rlimit { current: None, maximum: None }),
            Trouble::Lock(held) => match held.take() {
                Some(mut connection) => {
                    connection.execute("ROLLBACK").await.map_err(io::Error::other)?;
                    sqlx::Connection::close(connection).await.map_err(io::Error::other)
                }
                None => Ok(()),
            },
        }
    }
}

pub(crate) async fn full_disk(stage: Stage) -> io::Result<Report> {
    let home = Home::new(&Settings::default(), 4)?;
    let trouble = match Disk::mount(home.state()) {
        Ok(disk) => Trouble::Disk(disk),
        Err(error) => {
            stage.say(&format!("no disk can be mounted here ({error}), so a limit on the size of files stands for it"));
            Trouble::FileLimit
        }
    };
    run(stage, home, trouble).await
}

pub(crate) async fn locked(stage: Stage) -> io::Result<Report> {
    let home = Home::new(&Settings::default(), 4)?;
    run(stage, home, Trouble::Lock(None)).await
}

async fn run(stage: Stage, home: Home, mut trouble: Trouble) -> io::Result<Report> {
    let mut report = Report::default();
    // A process that may not make a file larger is sent a signal, which would end it.
    let server = Server::ignoring(&home, "XFSZ").await?;
    let (ledger, before, address) = (Ledger::default(), server.usage(), server.address());
    let load = Load {
        address,
        identities: home.identities().to_vec(),
        seed: stage.seed,
        name: format!("{}-client", stage.name),
        mix: Mix::Plain,
        clients: 12,
        every: Duration::from_millis(10),
        at_most: 100_000,
    };
    let load = load.start(&ledger);
    let identity = home.identities().first().ok_or_else(|| io::Error::other("there is no caller"))?;
    let (mut client, mut http) = (Client::new(address, identity), Http::new(address, Version::One, identity));
    let rounds: u32 = if stage.time > Duration::from_secs(20) { 3 } else { 1 };
    let mut slowest = Duration::ZERO;
    for round in 0..rounds {
        sleep((stage.share(30) / rounds).max(Duration::from_secs(1))).await;
        trouble.begin(&home, &server).await?;
        let refused = is_ready(&mut http, false, HEALS).await;
        report.check(refused, || "the server goes on saying that it is ready".to_owned());
        sleep((stage.share(40) / rounds).max(Duration::from_secs(2))).await;
        stage.say(&format!("{:?}", ledger.endings()));
        trouble.end(&server).await?;
        let since = Instant::now();
        let mut attempt = 0;
        let healed = loop {
            attempt += 1;
            let message =
                Message::one(format!("{}-heals-{round}-{attempt}", stage.name), Way::Http1, What::Read { n: 5 });
            let answered = client.make(&message).await;
            ledger.enter(&message, identity, &answered);
            if matches!(answered.endings.as_slice(), [Ending::Output(_)]) {
                break true;
            }
            if since.elapsed() > HEALS {
                break false;
            }
            sleep(Duration::from_millis(20)).await;
        };
        slowest = slowest.max(since.elapsed());
        report.check(healed, || format!("no call is taken {} after the trouble was over", ms(since.elapsed())));
        let ready = is_ready(&mut http, true, HEALS).await;
        report.check(ready, || "the server does not say that it is ready again".to_owned());
    }
    sleep(stage.share(20).max(Duration::from_secs(1))).await;
    load.stop().await;
    report.figure("healed in", ms(slowest));
    let turned_away = ledger.endings().get("OVERLOADED").copied().unwrap_or(0);
    report.check(turned_away > 0, || "no call was refused, so there was no trouble".to_owned());
    let asked = ask_again(&home, &ledger, address).await;
    report.figure("keys asked about again", asked);
    memory(&mut report, before, server.usage());
    let (status, _) = server.stop().await?;
    report.check(status.success(), || format!("the server ended with {status}"));
    records(&mut report, &home, &ledger, &[], |_| false).await?;
    drop(trouble);
    finish(stage, home, report)
}

/// Waits until `/readyz` says so, and tells whether it came to that.
async fn is_ready(http: &mut Http, wanted: bool, within: Duration) -> bool {
    let until = Instant::now() + within;
    while Instant::now() < until {
        if let Ok(reply) = http.get("/readyz").await {
            let ready = reply.0.status().is_success();
            let _ = reply.bytes().await;
            if ready == wanted {
                return true;
            }
        }
        sleep(Duration::from_millis(50)).await;
    }
    false
}
