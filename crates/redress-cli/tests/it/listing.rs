//! What `ops` lists, and what it says where there is nothing to list; where `token` keeps its file.

use redress_cli::Program;
use redress_contract::Deprecation;
use redress_core::{
    Operation, Registry,
    contract::{self, Access},
};
use serde_json::json;

fn run(program: &Program, words: &[&str]) -> (u8, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = program.run(["desk"].iter().chain(words), &mut out, &mut err);
    (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

fn query(name: &str) -> contract::OperationDeclaration {
    contract::OperationDeclaration::query(name).with_summary("Find a ticket.").with_access(Access::anyone())
}

#[test]
fn what_is_deprecated_is_listed_with_what_to_call_instead() {
    let mut deprecation = Deprecation::default();
    "2.0.0".clone_into(&mut deprecation.since);
    deprecation.replaced_by = Some("tickets.search".to_owned());
    let run_it = |declared| Operation::dynamic(declared).with_handler(async |_, _| Ok(json!(1)));
    let registry = Registry::builder()
        .add(run_it(query("tickets.find").with_deprecated(deprecation)))
        .add(run_it(query("tickets.search")))
        .build()
        .unwrap();
    let program = Program::of(registry).named("desk");
    let (code, out, _) = run(&program, &["ops"]);
    assert_eq!(code, 0);
    assert!(out.contains("Find a ticket. (deprecated: call tickets.search instead)"), "{out}");
    assert_eq!(out.matches("deprecated").count(), 1, "{out}");
}

#[test]
fn where_nothing_may_be_called_it_says_so() {
    let program = Program::of(Registry::builder().build().unwrap()).named("desk");
    let (code, out, err) = run(&program, &["ops"]);
    assert_eq!((code, out.as_str()), (0, ""));
    assert_eq!(err, "there are no operations: add them with .add(…)\n");
    let (code, out, err) = run(&program, &["ops", "--json"]);
    assert_eq!((code, out.trim(), err.as_str()), (0, "[]", ""));
}

#[test]
fn the_file_of_tokens_is_named_as_serve_names_it_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.json");
    let path = path.to_str().unwrap();
    let program = Program::of(Registry::builder().build().unwrap()).named("desk");
    for flag in ["--file", "--tokens"] {
        let (code, _, err) = run(&program, &["token", "new", "ada", flag, path]);
        assert_eq!(code, 0, "{flag}: {err}");
    }
    let (_, out, _) = run(&program, &["token", "list", "--json", "--tokens", path]);
    assert_eq!(out.matches("ada").count(), 2, "{out}");
}
