//! What a person sees of a call.

use std::{net::TcpListener, sync::Arc, thread, time::Duration};

use futures_util::future::BoxFuture;
use redress_cli::Program;
use redress_core::{
    DynamicFailure, IdentityError, IdentityProvider, Layers, Operation, Outcome, Registry, Secret,
    contract::{self, Access, Caller, Effect, FailureDeclaration, Kind, Verification},
};
use redress_serve::Faces;
use serde_json::{Value, json};

use crate::notes::registry;

/// What a command wrote, and its exit code.
struct Ran {
    out: String,
    err: String,
    code: u8,
}

fn run(words: &[&str]) -> Ran {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let words = ["notes"].iter().chain(words);
    let code = Program::of(registry()).named("notes").run(words, &mut out, &mut err);
    Ran { out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap(), code }
}

/// Knows nobody, and is there to be asked.
struct Strict;

impl IdentityProvider for Strict {
    fn identify<'a>(&'a self, _: &'a Secret) -> BoxFuture<'a, Result<Caller, IdentityError>> {
        Box::pin(async { Err(IdentityError::Invalid) })
    }
}

#[test]
fn the_doctor_knows_that_a_program_may_know_its_callers_itself() {
    let looked = |registry: Registry| {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let words = ["notes", "doctor", "--listen", "0.0.0.0:0"];
        let code = Program::of(registry).named("notes").run(words, &mut out, &mut err);
        (code, String::from_utf8(out).unwrap())
    };
    let (code, out) = looked(registry());
    assert!(code == 1 && out.contains("other machines could call, and nothing says who may"), "{out}");
    let (code, out) = looked(registry().with_layers(Layers::new().identity(Arc::new(Strict))));
    assert!(code == 0 && out.contains("tokens would travel unencrypted"), "{out}");
}

/// The address of a server with the operations, which ends with the test.
fn server() -> String {
    server_of(registry())
}

fn server_of(registry: Registry) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            Faces::new(registry).serve(listener, std::future::pending()).await.unwrap();
        });
    });
    url
}

#[test]
fn the_operations_at_a_server_are_those_in_process() {
    let (here, there) = (run(&["ops", "--json"]), run(&["ops", "--json", "--server", &server()]));
    assert_eq!(here.out, there.out);
    let listed: Vec<Value> = serde_json::from_str(&here.out).unwrap();
    assert_eq!(listed[0]["name"], "notes.read");
}

#[test]
fn a_list_of_no_operations_says_why_it_is_empty() {
    let url = server_of(registry().with_layers(Layers::new().identity(Arc::new(Strict))));
    let stranger = run(&["ops", "--server", &url]);
    assert_eq!((stranger.code, stranger.out.as_str()), (0, ""), "{}", stranger.err);
    assert!(stranger.err.contains("shows no token") && stranger.err.contains("REDRESS_TOKEN"), "{}", stranger.err);
    let for_programs = run(&["ops", "--server", &url, "--json"]);
    assert_eq!((for_programs.out.trim(), for_programs.err.as_str()), ("[]", ""));
}

/// What a person sees of a call, without its request id.
fn seen(words: &[&str]) -> String {
    let ran = run(words);
    let text = format!("{}{}exit {}", ran.out, ran.err, ran.code);
    let lines = text.lines().map(|line| match line.trim_start().starts_with("request:") {
        true => "  request:  …",
        false => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_failure_shows_what_to_do_and_what_to_type() {
    insta::assert_snapshot!(seen(&["call", "notes.read", r#"{"path":"b.md"}"#]));
}

#[test]
fn a_refused_input_shows_each_issue_and_the_corrected_call() {
    insta::assert_snapshot!(seen(&["call", "notes.read", r#"{"pth":"it's.md"}"#]));
}

#[test]
fn an_unknown_operation_shows_what_is_near() {
    insta::assert_snapshot!(seen(&["call", "notes.raed"]));
}

#[test]
fn a_consent_comes_with_the_call_where_it_would_not_outlive_the_process() {
    insta::assert_snapshot!(seen(&["call", "notes.wipe"]));
    assert_eq!(run(&["call", "notes.wipe", "--consent=spring cleaning"]).code, 0);
    let url = server();
    let asked = seen(&["call", "notes.wipe", "--server", &url]);
    let command = "`redress consent grant notes.wipe --caller local --state DIR`";
    assert!(asked.contains("in memory") && asked.contains(command) && !asked.contains("next:"), "{asked}");
    // There the caller is whoever is on the machine, and nothing tells that it is a person.
    let refused = seen(&["call", "notes.wipe", "--consent", "--server", &url]);
    assert!(refused.starts_with("FORBIDDEN"), "{refused}");
    assert!(refused.contains("details:  missing consent:grant"), "{refused}");
    assert!(refused.contains("`redress token new CALLER --scope consent:grant`"), "{refused}");
}

#[test]
fn a_stream_shows_its_items_and_then_how_it_ended() {
    insta::assert_snapshot!(seen(&["call", "notes.follow", r#"{"path":"torn.md"}"#]));
}

#[test]
fn a_declared_code_is_explained_from_its_declaration() {
    insta::assert_snapshot!(seen(&["explain", "note_not_found"]));
}

#[test]
fn a_program_with_its_own_registry_has_no_folder() {
    assert_eq!(run(&["ops", "--root", "."]).code, 2);
    assert!(!run(&["--help"]).out.contains("--root"));
    assert!(!run(&["serve", "--help"]).out.contains("--max-in-flight"));
}

/// A mutation that never answers, and the query that shows whether it was done.
fn cut_off() -> Registry {
    let order = json!({"type": "object", "properties": {"order": {"type": "integer"}}, "required": ["order"]});
    let paid = json!({"type": "object", "properties": {"paid": {"type": "boolean"}}, "required": ["paid"]});
    let unsure = FailureDeclaration::new("BANK_UNSURE", Kind::Unavailable)
        .with_when("The bank does not know whether it took the payment.")
        .with_effect(Effect::Unknown)
        .with_details(order.clone())
        .with_recovery(verification().into());
    let send =
        contract::OperationDeclaration::mutation("pay.send").with_access(Access::anyone()).with_input(order.clone());
    let send = send.with_deadline(Duration::from_millis(20)).with_verification(verification()).fails(unsure);
    let send =
        Operation::dynamic(send).with_handler(|_, _: Value| std::future::pending::<Outcome<Value, DynamicFailure>>());
    let get = contract::OperationDeclaration::query("pay.get")
        .with_access(Access::anyone())
        .with_input(order)
        .with_output(paid);
    let get = Operation::dynamic(get).with_handler(|_, _: Value| async { Ok(json!({"paid": true})) });
    Registry::builder().add(send).add(get).build().unwrap()
}

fn verification() -> Verification {
    Verification::new("pay.get", "/paid", "Look at the payment, and pay again if not.")
        .is(true)
        .bind("order", "order")
        .why("see whether it is paid")
}

fn ran(words: &[&str]) -> Ran {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = Program::of(cut_off()).named("pay").run(["pay"].iter().chain(words), &mut out, &mut err);
    Ran { out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap(), code }
}

#[test]
fn a_call_that_was_cut_off_shows_how_to_find_out_whether_it_took_place() {
    let shown = ran(&["call", "pay.send", r#"{"order":7}"#]);
    let lines: Vec<&str> = shown.err.lines().filter(|line| !line.contains("request:")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    TIMEOUT  the deadline passed
      hint:     Look at the payment, and pay again if not.
      details:  deadline 20ms
      next:     pay call pay.get '{"order":7}'
                see whether it is paid
      done:     where its answer has /paid is true; otherwise call again
      retry:    after_verify
    "#);
    assert_eq!(shown.code, 1);
}

#[test]
fn the_page_of_a_code_says_how_it_is_verified() {
    let page = ran(&["explain", "BANK_UNSURE"]).out;
    assert!(page.contains("verify") && page.contains("pay.get, done where /paid is true"), "{page}");
}
