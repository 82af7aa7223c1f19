//! Two operations with three failures, and the four ways a call can end.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]
use redress::{Caller, Ctx, Failure, Outcome, Registry, Request, data, operation};

#[data]
struct At {
    path: String,
}

#[derive(Debug, Failure)]
enum ReadFailure {
    /// The note does not exist.
    #[failure(kind = not_found, message = "no note at {path}", effect = none,
              recover(call = "notes.list", bind(path = folder), why = "see what is there",
                      hint = "List the folder and pick a note that exists."))]
    NoteNotFound { path: String, folder: String },
    /// The disk is busy with something else.
    #[failure(kind = unavailable, retry_after = wait_ms, effect = none,
              recover(wait, hint = "Wait a moment, then read the note again."))]
    DiskBusy { wait_ms: u64 },
}

#[derive(Debug, Failure)]
enum ListFailure {
    /// The folder does not exist.
    #[failure(kind = not_found, effect = none,
              recover(fix_input = "/path", hint = "Give the path of a folder that exists."))]
    FolderNotFound { path: String },
}

/// Read a note.
#[operation(query, name = "notes.read", access(scopes = "notes:read"), deadline = "5s")]
async fn read(_ctx: &Ctx, input: At) -> Outcome<String, ReadFailure> {
    match input.path.as_str() {
        "work/plan.md" => Ok("Say how it fails.".to_owned()),
        "work/busy.md" => Err(ReadFailure::DiskBusy { wait_ms: 250 }.into()),
        "work/broken.md" => Ok("seven".parse::<u32>()?.to_string()), // any other error is contained
        path => Err(ReadFailure::NoteNotFound { path: path.to_owned(), folder: "work".to_owned() }.into()),
    }
}

/// List the notes in a folder.
#[operation(query, name = "notes.list", access(scopes = "notes:read"))]
async fn list(_ctx: &Ctx, input: At) -> Outcome<Vec<&'static str>, ListFailure> {
    match input.path.as_str() {
        "work" => Ok(vec!["work/plan.md", "work/busy.md"]),
        path => Err(ListFailure::FolderNotFound { path: path.to_owned() }.into()),
    }
}

#[tokio::main]
async fn main() -> Result<(), redress::BuildError> {
    let registry = Registry::builder().add(read).add(list).build()?;
    for input in [r#"{"path":"work/plan.md"}"#, r#"{"path":"x"}"#, r#"{"path":"work/broken.md"}"#, r#"{"pth":"x"}"#] {
        let ada = Caller::new("ada").scope("notes:read");
        let outcome = registry.call("notes.read", Request::new(input.as_bytes()).with_caller(ada)).await;
        println!("{input}\n{}\n", String::from_utf8_lossy(&outcome.into_bytes()));
    }
    Ok(())
}
