//! The twenty tasks of `docs/files.md`: each takes the calls that it says, ends as it says, and leaves what it says.

use redress::{data, testing::CallAnswer};
use serde_json::Value;

use crate::folder::Folder;

#[data]
struct Document {
    files: Vec<File>,
    tasks: Vec<Task>,
}

/// A file of the folder: its text, or a line that is there so many times, with its number in the place of `{n}`.
#[data]
struct File {
    path: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    line: String,
    #[serde(default)]
    count: u32,
}

#[data]
struct Task {
    task: String,
    calls: Vec<Call>,
    ending: Ending,
}

#[data]
struct Call {
    call: String,
    input: Value,
    /// `ok`, or a code.
    ends: String,
    /// What the answer says that leads to the call after it, so that it is no dead end.
    #[serde(default)]
    leads_by: Option<String>,
}

/// What the last answer says, or what a file holds in the end.
#[data]
struct Ending {
    #[serde(default)]
    says: Option<String>,
    #[serde(default)]
    file: Option<String>,
    #[serde(default)]
    holds: Option<String>,
}

fn made(files: &[File]) -> Folder {
    let folder = Folder::new();
    for File { path, text, line, count } in files {
        let lines = (1..=*count).map(|n| format!("{}\n", line.replace("{n}", &n.to_string())));
        folder.put(path, text.clone() + &lines.collect::<String>());
    }
    folder
}

/// What an agent has read when it has read the answer.
fn text(answer: &CallAnswer) -> String {
    String::from_utf8_lossy(&answer.bytes()).into_owned()
}

#[tokio::test]
async fn every_task_takes_the_calls_that_are_written_down_and_ends_well() {
    let document: Document = serde_json::from_str(include_str!("../tasks.json")).unwrap();
    assert_eq!(document.tasks.len(), 20);
    for Task { task, calls, ending } in document.tasks {
        let folder = made(&document.files);
        let root = folder.host("").to_str().unwrap().trim_end_matches('/').to_owned();
        let (mut last, mut left) = (String::new(), calls.len());
        for Call { call, mut input, ends, leads_by } in calls {
            if let Some(path) = input["path"].as_str() {
                input["path"] = path.replace("<root>", &root).into();
            }
            let answer = folder.call(&call, input).await;
            last = text(&answer);
            left -= 1;
            assert_eq!(answer.code().unwrap_or("ok"), ends, "{task}: {last:.900}");
            assert_eq!(leads_by.is_some(), left > 0, "{task}: an answer that is not the last leads on");
            assert!(leads_by.is_none_or(|words| last.contains(&words)), "{task}: {last:.900}");
        }
        match ending {
            Ending { says: Some(says), .. } => assert!(last.contains(&says), "{task}: {last:.900}"),
            Ending { file: Some(file), holds: Some(holds), .. } => {
                assert!(folder.text(&file).contains(&holds), "{task}: {}", folder.text(&file));
            }
            Ending { .. } => panic!("{task} says nothing of its end"),
        }
    }
}
