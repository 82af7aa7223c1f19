//! A server in a process of its own: started, asked, measured, ended.

use std::{
    fs,
    io::{self, BufRead as _, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
};

use crate::client::Connection;

/// How a server is started: its program and arguments.
#[derive(Clone, Debug)]
pub struct Program {
    /// The executable.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// A server that runs. It ends when this is dropped.
pub struct Running {
    child: Child,
    /// Closing it tells the server to end.
    input: Option<ChildStdin>,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Program {
    /// Starts the server and waits until it says where it listens.
    pub fn start(&self) -> io::Result<Running> {
        let mut command = Command::new(&self.path);
        command.args(&self.arguments);
        Running::of(command)
    }

    /// Starts the server under callgrind, which will write to `out`.
    fn start_counted(&self, out: &Path) -> io::Result<Running> {
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--quiet"]).arg(format!("--callgrind-out-file={}", out.display()));
        command.arg(&self.path).args(&self.arguments);
        Running::of(command)
    }

    /// The instructions of one request: those of a run with `times` more requests than
    /// another, less those of the other, for each of them.
    pub fn instructions(&self, request: &[u8], times: usize) -> io::Result<f64> {
        const WARM: usize = 200;
        let few = self.counted(request, WARM)?;
        let many = self.counted(request, WARM + times)?;
        Ok((many as f64 - few as f64) / times as f64)
    }

    fn counted(&self, request: &[u8], times: usize) -> io::Result<u64> {
        let out = std::env::temp_dir().join(format!("redress-bench-{}.callgrind", std::process::id()));
        let running = self.start_counted(&out)?;
        let mut connection = Connection::open(running.address)?;
        for _ in 0..times {
            connection.ask(request)?;
        }
        running.end()?;
        let report = fs::read_to_string(&out)?;
        fs::remove_file(&out)?;
        let total =
            report.lines().find_map(|line| line.strip_prefix("totals: ")).and_then(|total| total.trim().parse().ok());
        total.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "callgrind wrote no total"))
    }
}

impl Running {
    fn of(mut command: Command) -> io::Result<Running> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let address = line.trim().parse().map_err(|_| io::Error::other("the server did not say where it listens"))?;
        Ok(Running { child, input, address })
    }

    /// Tells the server to end, and waits until it has.
    fn end(mut self) -> io::Result<()> {
        self.input.take();
        self.child.wait().map(drop)
    }

    /// The time that the server's threads have used, in seconds, to the nanosecond.
    pub fn cpu_seconds(&self) -> io::Result<f64> {
        let mut nanoseconds = 0;
        for task in fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let times = fs::read_to_string(task?.path().join("schedstat"))?;
            nanoseconds +=
                times.split_whitespace().next().and_then(|time| time.parse::<u64>().ok()).unwrap_or_default();
        }
        Ok(nanoseconds as f64 / 1e9)
    }

    /// The memory that the server holds, in megabytes.
    pub fn resident_mb(&self) -> io::Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
        let kb: f64 = line.trim().trim_end_matches(" kB").parse().unwrap_or_default();
        Ok(kb / 1024.0)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.input.take();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
