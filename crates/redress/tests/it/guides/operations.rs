//! The code of `docs/operations.md`.

mod testing;

use std::collections::BTreeMap;

use futures_util::stream;
use redress::{
    BuildError, Caller, Ctx, Events, Failure, Outcome, Registry, State, data, operation,
    testing::{Harness, assert_failure, assert_ok},
};
use serde_json::json;

/// The files, in memory.
#[derive(Clone, Default)]
struct Workspace {
    files: BTreeMap<String, String>,
}

impl Workspace {
    fn with(path: &str, text: &str) -> Workspace {
        Workspace { files: BTreeMap::from([(path.to_owned(), text.to_owned())]) }
    }

    fn text(&self, path: &str) -> Option<String> {
        self.files.get(path).cloned()
    }
}

#[data]
struct Read {
    path: String,
}

#[data]
#[derive(Debug)]
struct Text {
    text: String,
}

#[derive(Debug, Failure)]
enum ReadFailure {
    /// The file does not exist.
    #[failure(kind = not_found, message = "no file at {path}", effect = none,
              recover(ask_user, hint = "Ask for the path of a file that exists."))]
    FileNotFound { path: String },
}

/// Read a text file from the workspace.
///
/// It has to be UTF-8. The whole comment is the description, and its first paragraph the summary.
#[operation(
    query,
    name = "files.read",
    access(scopes = "files:read"),
    deadline = "5s",
    example(input = r#"{"path": "a.md"}"#, output = r#"{"text": "one\ntwo\n"}"#)
)]
async fn read(workspace: State<Workspace>, input: Read) -> Outcome<Text, ReadFailure> {
    match workspace.text(&input.path) {
        Some(text) => Ok(Text { text }),
        None => Err(ReadFailure::FileNotFound { path: input.path }.into()),
    }
}

#[data]
struct Copy {
    from: String,
    to: String,
}

#[data]
#[derive(Debug)]
struct Copied {
    bytes: u64,
}

#[derive(Debug, Failure)]
#[failure(include(ReadFailure))]
enum CopyFailure {
    /// There is a file already where the copy would be.
    #[failure(kind = conflict, message = "there is a file at {to}", effect = none,
              recover(fix_input = "/to", hint = "Give a path at which no file is."))]
    FileExists { to: String },
}

/// Copy a file.
#[operation(
    mutation,
    name = "files.copy",
    access(scopes = "files:write"),
    calls("files.read"),
    authority("files:read")
)]
async fn copy(ctx: &Ctx, input: Copy) -> Outcome<Copied, CopyFailure> {
    if ctx.call(&read, Read { path: input.to.clone() }).await.is_ok() {
        return Err(CopyFailure::FileExists { to: input.to }.into());
    }
    let text = ctx.call(&read, Read { path: input.from }).await?; // FILE_NOT_FOUND passes: it is included
    Ok(Copied { bytes: text.text.len() as u64 })
}

/// Give the lines of a file, one by one.
#[operation(subscription, name = "files.lines", access(scopes = "files:read"), buffer = 64, idle = "10m")]
async fn lines(workspace: State<Workspace>, input: Read) -> Outcome<Events<String, ReadFailure>, ReadFailure> {
    let Some(text) = workspace.text(&input.path) else {
        return Err(ReadFailure::FileNotFound { path: input.path }.into());
    };
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    Ok(Events::new(stream::iter(lines.into_iter().map(Ok))))
}

fn registry(workspace: Workspace) -> Result<Registry, BuildError> {
    let registry = Registry::builder().state(workspace).add(read).add(copy).add(lines).build()?;
    Ok(registry)
}

#[tokio::test]
async fn what_the_guide_declares_does_what_it_says() {
    let registry = registry(Workspace::with("a.md", "one\ntwo\n")).unwrap();
    let ada = Harness::new(registry).as_caller(Caller::new("ada").scopes(["files:read", "files:write"]));
    assert_eq!(assert_ok!(ada.call("files.read", json!({"path": "a.md"})).await)["text"], "one\ntwo\n");
    assert_failure!(ada.call("files.copy", json!({"from": "b.md", "to": "c.md"})).await, FILE_NOT_FOUND);
    assert_failure!(ada.call("files.copy", json!({"from": "a.md", "to": "a.md"})).await, FILE_EXISTS);
    assert_eq!(assert_ok!(ada.call("files.copy", json!({"from": "a.md", "to": "b.md"})).await)["bytes"], 8);
    let watched = ada.subscribe("files.lines", json!({"path": "a.md"})).await;
    assert_eq!((watched.items::<String>(), watched.is_completed()), (vec!["one".to_owned(), "two".to_owned()], true));
    let described = ada.registry().operation("files.read").unwrap();
    assert_eq!(described.summary(), "Read a text file from the workspace.");
}
