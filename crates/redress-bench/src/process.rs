//! A server in a process of its own: started, asked, measured, ended.

use std::{
    fs,
    io::{self, BufRead as _, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
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

/// A server that is spoken to over its input and output. It ends when this is dropped.
pub struct Piped {
    child: Child,
    /// What it reads.
    pub input: ChildStdin,
    /// What it writes.
    pub output: BufReader<ChildStdout>,
}

impl Program {
    /// Starts the server and waits until it says where it listens.
    pub fn start(&self) -> io::Result<Running> {
        let mut command = Command::new(&self.path);
        command.args(&self.arguments);
        Running::of(command)
    }

    /// The server under callgrind, which will write to `out`.
    fn counting(&self, out: &Path) -> Command {
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--quiet"]).arg(format!("--callgrind-out-file={}", out.display()));
        command.arg(&self.path).args(&self.arguments);
        command
    }

    /// Starts the server to speak to it over its input and output.
    pub fn start_piped(&self) -> io::Result<Piped> {
        let mut command = Command::new(&self.path);
        command.args(&self.arguments);
        Piped::of(command)
    }

    /// Starts the server as [`start_piped`](Program::start_piped) does, under callgrind. Gives
    /// where that writes its report when the server has ended.
    pub fn start_piped_counted(&self) -> io::Result<(Piped, PathBuf)> {
        let out = report();
        Ok((Piped::of(self.counting(&out))?, out))
    }

    /// The instructions of one request: those of a run with `times` more requests than
    /// another, less those of the other, for each of them.
    pub fn instructions(&self, request: &[u8], times: usize) -> io::Result<f64> {
        const WARM: usize = 200;
        let few = self.counted(request, WARM)?;
        let many = self.counted(request, WARM + times)?;
        Ok((many - few) / times as f64)
    }

    fn counted(&self, request: &[u8], times: usize) -> io::Result<f64> {
        let out = report();
        let running = Running::of(self.counting(&out))?;
        let mut connection = Connection::open(running.address)?;
        for _ in 0..times {
            connection.ask(request)?;
        }
        running.end()?;
        total(&out)
    }
}

/// Where callgrind writes.
fn report() -> PathBuf {
    std::env::temp_dir().join(format!("redress-bench-{}.callgrind", std::process::id()))
}

/// The instructions that the report counts; it is removed.
pub fn total(out: &Path) -> io::Result<f64> {
    let report = fs::read_to_string(out)?;
    fs::remove_file(out)?;
    let total = report.lines().find_map(|line| line.strip_prefix("totals: "));
    let total = total.and_then(|total| total.trim().parse().ok());
    total.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "callgrind wrote no total"))
}

impl Piped {
    fn of(mut command: Command) -> io::Result<Piped> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        Ok(Piped { child, input, output: BufReader::new(output) })
    }

    /// Tells the server to end, and waits until it has.
    pub fn end(self) -> io::Result<()> {
        let Piped { mut child, input, output } = self;
        drop(input);
        child.wait()?;
        drop(output);
        Ok(())
    }

    /// The time that the server's threads have used, in seconds, to the nanosecond.
    pub fn cpu_seconds(&self) -> io::Result<f64> {
        cpu_seconds(self.child.id())
    }

    /// The most memory that the server has held, in megabytes.
    pub fn peak_mb(&self) -> io::Result<f64> {
        status_mb(self.child.id(), "VmHWM:")
    }
}

/// A line of the kernel's status of a process that is in kilobytes, in megabytes.
fn status_mb(process: u32, name: &str) -> io::Result<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    let kb: f64 = line.trim().trim_end_matches(" kB").parse().unwrap_or_default();
    Ok(kb / 1024.0)
}

/// The time that the threads of a process have used, in seconds, to the nanosecond.
fn cpu_seconds(process: u32) -> io::Result<f64> {
    let mut nanoseconds = 0;
    for task in fs::read_dir(format!("/proc/{process}/task"))? {
        // A thread may end between the two.
        let Ok(times) = fs::read_to_string(task?.path().join("schedstat")) else { continue };
        nanoseconds += times.split_whitespace().next().and_then(|time| time.parse::<u64>().ok()).unwrap_or_default();
    }
    Ok(nanoseconds as f64 / 1e9)
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
        cpu_seconds(self.child.id())
    }

    /// The memory that the server holds, in megabytes.
    pub fn resident_mb(&self) -> io::Result<f64> {
        status_mb(self.child.id(), "VmRSS:")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.input.take();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
