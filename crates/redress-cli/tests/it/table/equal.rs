//! The comparison: a call ends in the same way on every face.

use std::{fmt::Write as _, time::Duration};

use redress_core::contract::EngineCode;
use serde_json::json;

use super::{
    face::Face,
    faces::{self, InProcess},
    rows::{self, Row},
    site::{SOON, Site},
};

/// The codes of the engine that no row ends with, and where they are seen instead.
const ELSEWHERE: [(&str, &str); 7] = [
    ("CANCELLED", "cancel.rs: whoever goes away is told nothing"),
    ("PARSE_ERROR", "a message that is no JSON is refused by its face, and is no call"),
    ("HANDLER_NOT_BOUND", "no registry is built with such an operation"),
    ("STREAM_OVERFLOW", "it takes a reader that is slower than the source"),
    ("UPSTREAM_UNDECLARED", "no operation here is another service's"),
    ("CREDENTIALS_REQUIRED", "no operation here is another service's"),
    ("CONTRACT_CHANGED", "no operation here is another service's"),
];

/// Asserts that the observers were told of the call of `row` once, and of nothing else.
fn told_once(site: &Site, face: &dyn Face, row: &Row) {
    let mut endings = site.marks.endings();
    assert_eq!(endings.pop(), Some(row.code.clone()), "{} by {}: how the observers saw it", row.name, face.name());
    let mut more = vec![Some("INVALID_OPERATION_TYPE".to_owned()); face.calls(row) - 1];
    more.extend(row.below.map(|code| Some(code.to_owned())));
    assert_eq!(endings, more, "{} by {}: what else the observers saw", row.name, face.name());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_ends_in_the_same_way_on_every_face_and_nothing_leaks() {
    let site = Site::start(Duration::from_secs(5)).await;
    let faces = faces::all();
    let mut shown = String::new();
    let rows = rows::all(&site);
    for row in &rows {
        let expected = InProcess.ask(&site, row).await;
        assert_eq!(expected.code(), row.code.as_deref(), "{}: {}", row.name, expected.end);
        told_once(&site, &InProcess, row);
        if row.operation == rows::VERIFIED {
            let verify =
                json!({"verb": "verify", "operation": "table.check", "done": {"pointer": "/stored", "is": true}});
            assert_eq!(expected.end["recovery"], verify, "{}", row.name);
            assert_eq!(expected.end["retry"], "after_verify", "{}", row.name);
            assert_eq!(expected.end["next_actions"][0]["input"], json!({"n": 7}), "{}", row.name);
        }
        let mut carried = Vec::new();
        for face in faces.iter().skip(1).filter(|face| face.carries(row)) {
            let asked = tokio::time::timeout(SOON, face.ask(&site, row)).await;
            let outcome = asked.unwrap_or_else(|_| panic!("{} by {} does not end", row.name, face.name()));
            assert_eq!(outcome, expected, "{} by {}", row.name, face.name());
            told_once(&site, &**face, row);
            carried.push(face.name());
        }
        let code = row.code.as_deref().unwrap_or("ok");
        writeln!(shown, "{:30} {code:25} {}", row.name, carried.join(", ")).unwrap();
    }
    for code in EngineCode::ALL.map(EngineCode::as_str) {
        let elsewhere = ELSEWHERE.iter().any(|(name, _)| *name == code);
        assert_eq!(!elsewhere, rows.iter().any(|row| row.code.as_deref() == Some(code)), "{code}");
    }
    // Kept, so that no row and no face drops out of the table unseen.
    insta::assert_snapshot!(shown);
    for canary in [&site.canary, &site.typed] {
        canary.assert_clean();
        let names: Vec<_> = faces.iter().map(|face| face.name().to_owned()).collect();
        let searched = canary.report().faces;
        assert!(names.iter().all(|name| searched.contains(name)), "{searched:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_undeclared_reaches_a_terminal_of_a_person() {
    let site = Site::start(Duration::from_secs(5)).await;
    for row in rows::all(&site) {
        for at_server in [false, true] {
            let command = faces::command::Command { at_server };
            if command.carries(&row) {
                command.show(&site, &row).await;
            }
        }
    }
    site.canary.assert_clean();
}
