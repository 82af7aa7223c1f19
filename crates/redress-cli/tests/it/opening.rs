//! A program that opens something before it has operations.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use redress_cli::{Program, SetupError};
use redress_core::{
    Operation, Registry,
    contract::{self, Access, ProgramInfo},
};
use serde_json::Value;

use crate::notes::registry;

/// A program that counts how often it was opened, and says whether that was in a runtime.
fn program(opened: &Arc<AtomicUsize>) -> Program {
    let opened = Arc::clone(opened);
    Program::opening(async move |context| {
        // As a pool of connections does: it spawns, waits for a timer, and wants a runtime that goes on.
        tokio::spawn(async { tokio::time::sleep(std::time::Duration::from_millis(1)).await }).await?;
        opened.fetch_add(1, Ordering::Relaxed);
        assert_eq!(context.program().version(), "0.3.0");
        assert!(!context.is_serving());
        Ok(registry())
    })
    .info(info())
    .named("hd")
}

fn info() -> ProgramInfo {
    ProgramInfo::new("helpdesk", "0.3.0").with_title("The helpdesk").with_description("Tickets, and who has them.")
}

fn run(program: &Program, words: &[&str]) -> (u8, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = program.run(["hd"].iter().chain(words), &mut out, &mut err);
    (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

#[test]
fn only_a_command_that_needs_operations_opens_them_and_once() {
    let folder = tempfile::tempdir().unwrap();
    let man = folder.path().to_str().unwrap();
    let rows: &[(&[&str], usize)] = &[
        (&["--help"], 0),
        (&["serve", "--help"], 0),
        (&["--version"], 0),
        (&["completions", "bash"], 0),
        (&["man", man], 0),
        (&["explain", "TIMEOUT"], 0),
        (&["explain", "no-recovery"], 0),
        (&["explain", "SETUP_FAILED"], 0),
        (&["ops", "--server", "http://127.0.0.1:9"], 0),
        (&["ops"], 1),
        (&["ops", "--cost"], 1),
        (&["doctor", "--listen", "127.0.0.1:0"], 1),
        (&["gen", "alerts"], 1),
    ];
    for (words, wanted) in rows {
        let opened = Arc::default();
        let (_, out, err) = run(&program(&opened), words);
        assert_eq!(opened.load(Ordering::Relaxed), *wanted, "{words:?}: {out}{err}");
    }
    let opened = Arc::default();
    let program = program(&opened);
    run(&program, &["ops"]);
    run(&program, &["ops"]);
    assert_eq!(opened.load(Ordering::Relaxed), 1);
}

#[test]
fn what_could_not_be_opened_is_one_message_with_a_hint_and_a_next_step() {
    let broken = || {
        Program::opening(async |_| {
            let refused = std::io::Error::other("no route to postgres://ada:hunter2@db.local/tickets?password=hunter2");
            Err(SetupError::new(refused).hint("Start the database, or set DATABASE_URL."))
        })
        .named("hd")
    };
    for words in [&["ops"][..], &["call", "notes.read", "{}"], &["serve"], &["mcp"], &["gen", "alerts"]] {
        let (code, out, err) = run(&broken(), words);
        assert_eq!((code, out.as_str()), (2, ""), "{words:?}: {err}");
        assert!(err.starts_with("SETUP_FAILED  the program could not set itself up: no route to"), "{err}");
        assert!(err.contains("hint:     Start the database, or set DATABASE_URL."), "{err}");
        assert!(err.contains("next:     hd explain SETUP_FAILED"), "{err}");
        assert!(!err.contains("hunter2"), "{err}");
    }
    let (code, out, _) = run(&broken(), &["ops", "--json"]);
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &told["code"], &told["ok"]), (2, &"SETUP_FAILED".into(), &false.into()));
    let (code, out, _) = run(&broken(), &["doctor", "--listen", "127.0.0.1:0"]);
    assert!(code == 1 && out.contains("could not set itself up"), "{out}");
    let (code, ..) = run(&broken(), &["--help"]);
    assert_eq!(code, 0);
}

#[test]
fn a_set_up_that_panics_ends_the_command_and_not_the_process() {
    let panics = Program::opening(async |_| {
        let urls: [&str; 0] = [];
        let first = urls.first().expect("a URL is given");
        Err(SetupError::new(*first))
    });
    let (code, _, err) = run(&panics, &["ops"]);
    assert!(code == 2 && err.contains("it panicked: a URL is given"), "{err}");
}

#[test]
fn unsound_declarations_are_told_as_findings_whoever_builds_them() {
    let nameless = || {
        let declared = contract::OperationDeclaration::query("no_namespace")
            .with_summary("Nothing.")
            .with_access(Access::anyone());
        Registry::builder().add(Operation::dynamic(declared).with_handler(|_, _| async { Ok(Value::Null) }))
    };
    let by_function = Program::opening(async move |_| Ok(nameless().build()?)).named("hd");
    let by_result = redress_cli::IntoProgram::into_program(nameless().build()).named("hd");
    for program in [by_function, by_result] {
        let (code, _, err) = run(&program, &["ops"]);
        assert!(code == 2 && err.starts_with("REGISTRY_INVALID") && err.contains("bad-name"), "{err}");
    }
}

#[test]
fn a_program_says_of_itself_what_its_author_says() {
    let opened = Arc::default();
    let (_, out, _) = run(&program(&opened), &["--version"]);
    assert_eq!(out, format!("helpdesk 0.3.0 (redress {})\n", env!("CARGO_PKG_VERSION")));
    let (_, out, _) = run(&program(&opened), &["--help"]);
    assert!(out.starts_with("Tickets, and who has them.\n") && out.contains("Usage: hd "), "{out}");
}

/// A program may be started from `#[tokio::main]`, of either flavour.
#[test]
fn it_may_be_started_in_a_runtime() {
    for threads in [None, Some(2)] {
        let mut builder = match threads {
            None => tokio::runtime::Builder::new_current_thread(),
            Some(_) => tokio::runtime::Builder::new_multi_thread(),
        };
        let runtime = builder.enable_all().build().unwrap();
        // What was typed is what started the tests, which is no command: it ends with 2, and does not panic.
        runtime.block_on(async {
            let opened = Arc::default();
            let code = program(&opened).main();
            assert_eq!(format!("{code:?}"), format!("{:?}", std::process::ExitCode::from(2)));
        });
    }
}
