//! `call --json`, in the command's own process or at a server.

use std::{
    env,
    io::{self, BufRead as _, BufReader, Read as _},
    process::{self, Stdio},
    sync::Arc,
    thread,
};

use redress_cli::Program;
use redress_core::{Registry, testing::Canary};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::task::spawn_blocking;

use crate::table::{
    face::{Asking, Face},
    outcome::Outcome,
    rows::{Ask, Row, Who},
    service,
    site::{Marks, Site},
};

pub(crate) struct Command {
    pub(crate) at_server: bool,
}

/// Set in a process that is one command: its words, each on a line.
const WORDS: &str = "REDRESS_TEST_COMMAND";
/// What the command in such a process says once its handler runs.
const BEGUN: &str = "the handler runs";

/// What a command wrote, and its exit code.
struct Ran {
    out: Vec<u8>,
    err: Vec<u8>,
    code: u8,
}

impl Command {
    fn words(&self, site: &Site, row: &Row) -> Vec<String> {
        // The log of a process may hold causes, and is not what the command shows.
        let mut words = ["table", "--log-level", "off", "call", row.operation, &row.input].map(str::to_owned).to_vec();
        if self.at_server {
            words.extend(["--server".to_owned(), format!("http://{}", site.address(row.who))]);
        }
        if let Some(ms) = row.deadline_ms {
            words.extend(["--deadline".to_owned(), format!("{ms}ms")]);
        }
        if let Some(key) = row.key {
            words.extend(["--idempotency-key".to_owned(), key.to_owned()]);
        }
        words
    }

    /// Makes the call of a row as a person would, and shows the canary what the person sees.
    pub(crate) async fn show(&self, site: &Site, row: &Row) {
        let Ran { out, err, code } = self.run(site, self.words(site, row)).await;
        site.canary.check(self.name(), &out);
        site.canary.check(self.name(), &err);
        assert_eq!((code, err.is_empty()), (u8::from(row.code.is_some()), row.code.is_none()), "{}", row.name);
    }

    async fn run(&self, site: &Site, words: Vec<String>) -> Ran {
        // At a server the command must not need any operation of its own.
        let registry = if self.at_server { nothing() } else { site.registry.clone() };
        let run = move || {
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let code = Program::of(registry).named("table").run(words, &mut out, &mut err);
            Ran { out, err, code }
        };
        spawn_blocking(run).await.unwrap()
    }
}

fn nothing() -> Registry {
    Registry::builder().build().unwrap()
}

/// The outcome in the lines that `--json` writes.
fn read(out: &str) -> Outcome {
    let mut lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let end = lines.pop().expect("a command says how the call ended");
    let items = lines.into_iter().map(|mut line| line["item"].take()).collect();
    Outcome::envelope(end).after(items)
}

impl Face for Command {
    fn name(&self) -> &'static str {
        if self.at_server { "call --server" } else { "call" }
    }

    /// Whoever runs an operation in a process of his own is `local` there. The command finds
    /// out by itself whether an operation streams.
    fn carries(&self, row: &Row) -> bool {
        matches!(row.ask, Ask::Call | Ask::Stream) && (self.at_server || row.who == Who::Local)
    }

    fn ask<'a>(&'a self, site: &'a Site, row: &'a Row) -> Asking<'a, Outcome> {
        Box::pin(async move {
            let mut words = self.words(site, row);
            words.push("--json".to_owned());
            let Ran { out, err, code } = self.run(site, words).await;
            site.check(self.name(), &out);
            assert!(err.is_empty(), "{}", String::from_utf8_lossy(&err));
            assert_eq!(code, u8::from(row.code.is_some()));
            read(str::from_utf8(&out).unwrap())
        })
    }

    fn leave<'a>(&'a self, site: &'a Site, row: &'a Row) -> Asking<'a, Option<Outcome>> {
        Box::pin(async move {
            let mut words = self.words(site, row);
            words.push("--json".to_owned());
            let mut child = process::Command::new(env::current_exe().unwrap())
                .args(["--exact", super::super::cancel::LEAVES, "--nocapture"])
                .env(WORDS, words.join("\n"))
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut err = BufReader::new(child.stderr.take().unwrap());
            if self.at_server {
                site.marks.begun().await;
            } else {
                let begun = move || {
                    let begun = err.by_ref().lines().any(|line| line.unwrap() == BEGUN);
                    assert!(begun, "the call did not start");
                    err
                };
                err = spawn_blocking(begun).await.unwrap();
            }
            kill_process(Pid::from_child(&child), Signal::INT).unwrap();
            let mut written = String::new();
            child.stdout.take().unwrap().read_to_string(&mut written).unwrap();
            let mut said = String::new();
            err.read_to_string(&mut said).unwrap();
            let status = child.wait().unwrap();
            site.check(self.name(), format!("{written}{said}"));
            if self.at_server || row.is_stream() {
                // Ctrl-C ends the process itself, and with it the connection.
                assert!(!status.success(), "{written}{said}");
                return None;
            }
            assert!(status.success(), "{written}{said}");
            let envelope = written.lines().find_map(|line| line.get(line.find('{')?..)).unwrap();
            Some(read(envelope))
        })
    }

    fn outlives_its_service(&self) -> bool {
        self.at_server
    }

    /// The command calls first, and subscribes when it is told that the operation streams.
    fn calls(&self, row: &Row) -> usize {
        if row.is_stream() { 2 } else { 1 }
    }
}

/// Runs the command that this process is there for, if it is there for one.
pub(crate) fn is_a_command() -> bool {
    let Ok(words) = env::var(WORDS) else { return false };
    let words: Vec<&str> = words.lines().collect();
    let marks = Arc::new(Marks::default());
    let at_server = words.contains(&"--server");
    let registry = if at_server { nothing() } else { service::registry(&Canary::new(), &marks) };
    let seen = Arc::clone(&marks);
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(seen.begun());
        io::Write::write_all(&mut io::stderr(), format!("{BEGUN}\n").as_bytes()).unwrap();
    });
    let code = Program::of(registry).named("table").run(words, &mut io::stdout(), &mut io::stderr());
    assert_eq!(code, 1);
    assert!(!marks.is_running());
    assert_eq!(marks.endings(), [Some("CANCELLED".to_owned())]);
    true
}
