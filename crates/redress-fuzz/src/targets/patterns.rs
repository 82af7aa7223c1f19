//! What is searched for in files: a line with globs, and the pattern.

use serde_json::{Value, json};

use super::{
    cut,
    paths::{PLACE, call},
};
use crate::{oracle::Ending, service};

/// Every line of every file that can be found.
const LINES: [&str; 5] = ["one", "two (three)", "four", "five", "six.*"];

pub(super) fn target(data: &[u8]) {
    let (globs, pattern) = cut(data);
    let (Ok(globs), Ok(pattern)) = (std::str::from_utf8(globs), std::str::from_utf8(pattern)) else { return };
    let globs: Vec<&str> = globs.split(',').filter(|glob| !glob.is_empty()).collect();
    let (_, registry) = &*PLACE;
    service::alone(async {
        let ending = call(registry, "files.search", &json!({"pattern": pattern, "globs": globs})).await;
        match &ending {
            Ending::Well(output) => {
                let lines = found(output);
                assert!(lines.iter().all(|line| LINES.contains(&line.as_str())), "{output}");
            }
            Ending::Badly { code, details, .. } => {
                let known = ["PATTERN_INVALID", "GLOB_INVALID", "INVALID_INPUT"];
                assert!(known.contains(&code.as_str()), "{code}: {details}");
                let said = details["problem"].as_str().unwrap_or_default();
                assert!(pattern.len() < 12 || !said.contains(pattern), "the pattern is shown: {details}");
            }
        }
        // As plain text it is in exactly the lines that hold it.
        let literal = call(registry, "files.search", &json!({"pattern": pattern, "literal": true})).await;
        if let Ending::Well(output) = literal {
            let mut lines = found(&output);
            let mut holding: Vec<&str> = LINES.into_iter().filter(|line| line.contains(pattern)).collect();
            lines.sort();
            holding.sort_unstable();
            assert_eq!(lines, holding, "{pattern:?}");
        }
    });
}

/// A call whose outcome is not looked at: a search, an edit or a read.
pub(super) async fn search(member: &str, text: &[u8]) {
    let (_, registry) = &*PLACE;
    let text = String::from_utf8_lossy(text);
    let (operation, input) = match member {
        "globs" => ("files.search", json!({"pattern": "one", "globs": [text]})),
        "pattern" => ("files.search", json!({"pattern": text})),
        "old" => ("files.edit", json!({"path": "a.md", "old": text, "new": ""})),
        "path" => ("files.read", json!({"path": text})),
        other => unreachable!("no file operation is sent its `{other}`"),
    };
    call(registry, operation, &input).await;
}

fn found(output: &Value) -> Vec<String> {
    let matches = output["matches"].as_array().expect("a search gives matches");
    matches.iter().map(|found| found["text"].as_str().unwrap_or_default().trim_end_matches('\n').to_owned()).collect()
}
