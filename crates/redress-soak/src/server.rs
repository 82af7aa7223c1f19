//! The server: a real process that is started, watched, told to stop and killed.

use std::{
    fs::{self, File, OpenOptions},
    io,
    net::SocketAddr,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader},
    process::{Child, Command},
    time::{Instant, timeout},
};

use crate::home::{EFFECTS, Home};

/// How long a server may take to say where it listens; an unoptimised build on a busy machine is slow.
const START: Duration = Duration::from_secs(60);

pub(crate) struct Server {
    child: Child,
    address: SocketAddr,
}

/// What the system says about a process.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) rss_kib: u64,
    pub(crate) peak_kib: u64,
    pub(crate) files: usize,
}

impl Server {
    /// Starts the server of a folder, on a port that is free.
    pub(crate) async fn start(home: &Home) -> io::Result<Server> {
        Server::spawn(home, own_command()?, None).await
    }

    /// Starts it again on the port that it had.
    pub(crate) async fn again(home: &Home, address: SocketAddr) -> io::Result<Server> {
        Server::spawn(home, own_command()?, Some(address)).await
    }

    /// Starts it with these variables in its environment.
    pub(crate) async fn with(home: &Home, variables: &[(&str, String)]) -> io::Result<Server> {
        let mut command = own_command()?;
        command.envs(variables.iter().map(|(name, value)| (*name, value.as_str())));
        Server::spawn(home, command, None).await
    }

    /// Starts it with this many files that it may open.
    pub(crate) async fn with_files(home: &Home, files: usize) -> io::Result<Server> {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -n {files} && exec \"$@\""), "sh"]).arg(std::env::current_exe()?);
        Server::spawn(home, command, None).await
    }

    /// Starts it again on the port that it had, with these variables in its environment.
    pub(crate) async fn again_with(
        home: &Home,
        address: SocketAddr,
        variables: &[(&str, String)],
    ) -> io::Result<Server> {
        let mut command = own_command()?;
        command.envs(variables.iter().map(|(name, value)| (*name, value.as_str())));
        Server::spawn(home, command, Some(address)).await
    }

    /// Starts it deaf to a signal.
    pub(crate) async fn ignoring(home: &Home, signal: &str) -> io::Result<Server> {
        let mut command = Command::new("env");
        command.arg(format!("--ignore-signal={signal}")).arg(std::env::current_exe()?);
        Server::spawn(home, command, None).await
    }

    async fn spawn(home: &Home, mut command: Command, listen: Option<SocketAddr>) -> io::Result<Server> {
        let log = OpenOptions::new().create(true).append(true).open(home.path().join("log"))?;
        command.args(["serve", "redress.toml", "--json"]).current_dir(home.path());
        if let Some(address) = listen {
            command.args(["--listen", &address.to_string()]);
        }
        command.env(EFFECTS, home.effects_path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).kill_on_drop(true);
        let mut child = command.spawn()?;
        let stdout = child.stdout.take().ok_or_else(|| io::Error::other("the server has no output"))?;
        let mut lines = BufReader::new(stdout);
        let mut first = String::new();
        timeout(START, lines.read_line(&mut first))
            .await
            .map_err(|_| io::Error::other("the server did not say where it listens"))??;
        let Some(address) = address(&first) else {
            return Err(io::Error::other(format!("the server did not start: {first}{}", tail(home))));
        };
        // Whatever it still writes must not fill the pipe.
        tokio::spawn(async move {
            let mut rest = Vec::new();
            let _ = lines.read_to_end(&mut rest).await;
        });
        Ok(Server { child, address })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn usage(&self) -> Usage {
        let Some(pid) = self.child.id() else { return Usage::default() };
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let kib = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
        };
        let files = fs::read_dir(format!("/proc/{pid}/fd")).map(Iterator::count).unwrap_or(0);
        Usage { rss_kib: kib("VmRSS:"), peak_kib: kib("VmHWM:"), files }
    }

    fn pid(&self) -> io::Result<Pid> {
        let pid = self.child.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
        pid.ok_or_else(|| io::Error::other("the server has ended already"))
    }

    pub(crate) fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(kill_process(self.pid()?, signal)?)
    }

    /// Limits what it may use from now on.
    pub(crate) fn limit(&self, resource: Resource, limit: Rlimit) -> io::Result<()> {
        prlimit(Some(self.pid()?), resource, limit)?;
        Ok(())
    }

    /// Waits until it has ended, and tells how long that took.
    pub(crate) async fn ended(mut self) -> io::Result<(ExitStatus, Duration)> {
        let since = Instant::now();
        let status = timeout(Duration::from_secs(60), self.child.wait())
            .await
            .map_err(|_| io::Error::other("the server did not end within a minute"))??;
        Ok((status, since.elapsed()))
    }

    /// Tells it to stop, and waits until it has.
    pub(crate) async fn stop(self) -> io::Result<(ExitStatus, Duration)> {
        self.signal(Signal::TERM)?;
        self.ended().await
    }

    /// Ends it at once, as a crash would.
    pub(crate) async fn kill(self) -> io::Result<()> {
        self.signal(Signal::KILL)?;
        self.ended().await.map(drop)
    }

    /// Waits until it holds at most this many files open, and tells whether it came to that.
    pub(crate) async fn sheds_files(&self, at_most: usize, within: Duration) -> bool {
        let until = Instant::now() + within;
        while self.usage().files > at_most {
            if Instant::now() > until {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        true
    }
}

/// This binary, which is the server too.
fn own_command() -> io::Result<Command> {
    Ok(Command::new(std::env::current_exe()?))
}

/// Where the first screen says that the server listens.
fn address(first: &str) -> Option<SocketAddr> {
    let screen: Value = serde_json::from_str(first).ok()?;
    screen["url"].as_str()?.strip_prefix("http://")?.trim_end_matches('/').parse().ok()
}

/// The last lines that the server wrote to its error stream.
pub(crate) fn tail(home: &Home) -> String {
    let text = File::open(home.path().join("log")).and_then(io::read_to_string).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(8)..].join("\n")
}
