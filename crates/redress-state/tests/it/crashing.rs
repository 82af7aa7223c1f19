//! A service that is killed, and one whose disk is full: real processes, real signals.

#![cfg(target_os = "linux")]

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use redress_core::{Operation, Registry, contract};
use redress_state::{AuditFilter, AuditReader, StateOptions, StateStore};
use serde_json::json;

use crate::service::{Runs, call, keyed, open_state, service, until};

/// Where a child keeps its state. A test that finds this set is its own child, and plays the service.
const FOLDER: &str = "REDRESS_STATE_TEST_FOLDER";

/// This test binary once more, as a child that runs only the test `name`.
fn child(name: &str, folder: &Path, before: &str) -> Child {
    // Ignored, the signal becomes an error of the write that goes too far.
    let script = format!("trap '' XFSZ; {before} exec \"$0\" \"$@\"");
    Command::new("sh")
        .args(["-c", &script])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("crashing::{name}"), "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn folder_of_child() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(PathBuf::from)
}

/// What a child tells, word by word.
struct Told(std::io::Lines<BufReader<std::process::ChildStdout>>);

impl Told {
    fn by(child: &mut Child) -> Told {
        Told(BufReader::new(child.stdout.take().unwrap()).lines())
    }

    /// The rest of the next line that begins with `word`.
    fn next(&mut self, word: &str) -> String {
        // The test harness writes lines of its own, before ours too.
        self.0.find_map(|line| line.unwrap().split_once(word).map(|(_, rest)| rest.to_owned())).unwrap()
    }
}

fn tell(word: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{word}").unwrap();
    out.flush().unwrap();
}

/// A service that answers calls as fast as it can, tells of each, and at last hangs in the middle of one.
async fn works_until_it_is_killed(folder: &Path) {
    let state = open_state(folder).await;
    let registry = service(&state, &Runs::default());
    let hang = contract::OperationDeclaration::mutation("pay.hang")
        .with_summary("Never end.")
        .with_access(contract::Access::anyone())
        .with_idempotency_key();
    let hang = Operation::dynamic(hang).with_handler(|_, _| async {
        tell("hangs");
        std::future::pending().await
    });
    let hanging = Registry::builder()
        .add(hang)
        .build()
        .unwrap()
        .with_layers(redress_core::Layers::new().idempotency(state.keys()).audit(state.audit()));
    tokio::spawn(async move { keyed(&hanging, "pay.hang", "k", &json!({})).await });
    for n in 0.. {
        let sent = keyed(&registry, "pay.send", &format!("k{n}"), &json!({})).await;
        tell(&format!("answered {} {n}", sent.meta().request_id));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_before_a_kill_is_kept_and_what_was_cut_off_never_runs_again() {
    if let Some(folder) = folder_of_child() {
        return works_until_it_is_killed(&folder).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let name = "what_was_answered_before_a_kill_is_kept_and_what_was_cut_off_never_runs_again";
    let mut child = child(name, folder.path(), "");
    let mut told = Told::by(&mut child);
    told.next("hangs");
    let answered: Vec<String> = (0..50).map(|_| told.next("answered ")).collect();
    // SIGKILL, in the middle of whatever it does.
    child.kill().unwrap();
    child.wait().unwrap();
    let state = open_state(folder.path()).await;
    let mut reader = AuditReader::open(folder.path()).await.unwrap();
    let records = reader.read(&AuditFilter::new().limit(usize::MAX)).await.unwrap();
    let runs = Runs::default();
    let registry = service(&state, &runs);
    for line in &answered {
        let (id, n) = line.split_once(' ').unwrap();
        assert_eq!(records.iter().filter(|record| record.request_id == id).count(), 1, "{line}");
        assert!(keyed(&registry, "pay.send", &format!("k{n}"), &json!({})).await.is_ok(), "{line}");
    }
    assert_eq!(runs.get(), 0);
    let hang = contract::OperationDeclaration::mutation("pay.hang")
        .with_summary("Never end.")
        .with_access(contract::Access::anyone())
        .with_idempotency_key();
    let counted = runs.clone();
    let hang = Operation::dynamic(hang).with_handler(move |_, _| std::future::ready(Ok(json!(counted.up()))));
    let again = Registry::builder().add(hang).build().unwrap();
    let again = again.with_layers(redress_core::Layers::new().idempotency(state.keys()));
    for _ in 0..2 {
        assert_eq!(keyed(&again, "pay.hang", "k", &json!({})).await.code(), Some("OUTCOME_UNKNOWN"));
    }
    assert_eq!(runs.get(), 0);
    state.close().await.unwrap();
}

/// A service whose disk has little room, until its parent makes some.
async fn works_until_its_disk_is_full(folder: &Path) {
    let options = StateOptions::new(folder).patience(Duration::from_millis(100));
    let state = StateStore::open(options).await.unwrap();
    let runs = Runs::default();
    let registry = service(&state, &runs);
    // Callers with long names fill it soon.
    let caller = contract::Caller::new("x".repeat(20_000));
    let request = || redress_core::Request::new(b"{}".as_slice()).with_caller(caller.clone());
    let mut answered = 0;
    while state.is_open() {
        answered += u64::from(registry.call("pay.send", request()).await.is_ok());
    }
    let refused = registry.call("pay.send", request()).await;
    assert_eq!(refused.code(), Some("OVERLOADED"));
    assert_eq!(keyed(&registry, "pay.send", "k", &json!({})).await.code(), Some("OVERLOADED"));
    assert_eq!(runs.get(), answered);
    tell("full");
    until(|| state.is_open()).await;
    assert!(call(&registry, "pay.send", &json!({})).await.is_ok());
    state.close().await.unwrap();
    tell(&format!("answered {}", answered + 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_refuses_calls_before_they_run_loses_no_record_and_heals_by_itself() {
    if let Some(folder) = folder_of_child() {
        return works_until_its_disk_is_full(&folder).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let name = "a_full_disk_refuses_calls_before_they_run_loses_no_record_and_heals_by_itself";
    let mut child = child(name, folder.path(), "ulimit -S -f 1000;");
    let mut told = Told::by(&mut child);
    told.next("full");
    let made = Command::new("prlimit").args(["--pid", &child.id().to_string(), "--fsize=unlimited"]).status().unwrap();
    assert!(made.success());
    let answered: usize = told.next("answered ").parse().unwrap();
    assert!(child.wait().unwrap().success());
    let mut reader = AuditReader::open(folder.path()).await.unwrap();
    let records = reader.read(&AuditFilter::new().limit(usize::MAX)).await.unwrap();
    assert_eq!(records.len(), answered);
}
