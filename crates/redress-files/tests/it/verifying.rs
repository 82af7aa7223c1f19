//! Whether a change took place that ended without saying so.

use std::{future::Future, sync::mpsc};

use redress::{
    Effect, Request, Retry,
    contract::{Problem, RecoveryStep},
    testing::{CallAnswer, assert_failure, assert_ok},
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::folder::Folder;

/// Follows the advice of `problem`: whether what was asked for took place.
pub(crate) async fn follow(folder: &Folder, problem: &Problem) -> bool {
    let Some(RecoveryStep::Verify { operation, done }) = &problem.recovery else { panic!("{:?}", problem.recovery) };
    let [next] = &problem.next_actions[..] else { panic!("{:?}", problem.next_actions) };
    assert_eq!((next.operation.as_str(), operation.as_str()), ("files.check", "files.check"));
    let input: Value = serde_json::from_str(next.input.get()).unwrap();
    done.shown_by(&folder.output("check", input).await)
}

#[tokio::test]
async fn a_path_is_compared_with_what_it_should_hold() {
    let folder = Folder::with(&[("a.txt", "one"), ("b/c.txt", "")]);
    std::os::unix::fs::symlink("a.txt", folder.host("link")).unwrap();
    std::os::unix::fs::symlink("nothing", folder.host("loose")).unwrap();
    let one = "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed";
    let rows = [
        (json!({"path": "a.txt"}), json!({"path": "a.txt", "exists": true, "kind": "file"})),
        (
            json!({"path": "a.txt", "content": "one"}),
            json!({"path": "a.txt", "exists": true, "kind": "file", "same": true}),
        ),
        (
            json!({"path": "a.txt", "content": "two"}),
            json!({"path": "a.txt", "exists": true, "kind": "file", "same": false}),
        ),
        (
            json!({"path": "a.txt", "content": "b25l", "encoding": "base64"}),
            json!({"path": "a.txt", "exists": true, "kind": "file", "same": true}),
        ),
        (
            json!({"path": "a.txt", "sha256": one}),
            json!({"path": "a.txt", "exists": true, "kind": "file", "same": true}),
        ),
        (
            json!({"path": "link", "content": "one"}),
            json!({"path": "link", "exists": true, "kind": "link", "same": true}),
        ),
        (
            json!({"path": "loose", "content": ""}),
            json!({"path": "loose", "exists": true, "kind": "link", "same": false}),
        ),
        (json!({"path": "b", "content": ""}), json!({"path": "b", "exists": true, "kind": "folder", "same": false})),
        (json!({"path": "d"}), json!({"path": "d", "exists": false})),
        (json!({"path": "d/e", "content": ""}), json!({"path": "d/e", "exists": false, "same": false})),
        (json!({"path": "a.txt/e"}), json!({"path": "a.txt/e", "exists": false})),
        (
            json!({"path": "a.txt", "from": "d/gone"}),
            json!({"path": "a.txt", "exists": true, "kind": "file", "moved": true}),
        ),
        (
            json!({"path": "b/c.txt", "from": "a.txt"}),
            json!({"path": "b/c.txt", "exists": true, "kind": "file", "moved": false}),
        ),
        (json!({"path": "d", "from": "gone"}), json!({"path": "d", "exists": false, "moved": false})),
    ];
    for (input, expected) in rows {
        assert_eq!(folder.output("check", input.clone()).await, expected, "{input}");
    }
    assert_failure!(folder.call("check", json!({"path": "../a"})).await, PATH_OUTSIDE);
    assert_failure!(
        folder.call("check", json!({"path": "a.txt", "content": "?", "encoding": "base64"})).await,
        CONTENT_NOT_BASE64
    );
    assert_failure!(folder.call("check", json!({"path": "a.txt", "content": "", "sha256": one})).await, EXPECTED_TWICE);
}

/// Makes a call that is cancelled after it has begun and before any of its work is done: the one thread for that is
/// taken.
async fn cut_off(folder: &Folder, name: &str, input: &Value) -> CallAnswer {
    let (release, held) = mpsc::channel::<()>();
    let taken = tokio::task::spawn_blocking(move || held.recv());
    let token = CancellationToken::new();
    let request = Request::new(input.to_string().into_bytes()).with_cancellation(token.clone());
    let name = format!("files.{name}");
    let (answer, ()) = tokio::join!(folder.harness.send(&name, request), async { token.cancel() });
    drop(release);
    assert!(taken.await.unwrap().is_err());
    answer
}

fn with_one_thread(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).enable_all().build();
    runtime.unwrap().block_on(test);
}

#[test]
fn a_change_that_is_cut_off_says_how_to_find_out_whether_it_took_place() {
    with_one_thread(async {
        let folder = Folder::with(&[("a.txt", "old")]);
        assert_ok!(folder.harness.call("consent.grant", json!({"operation": "files.remove"})).await);
        for (name, input) in [
            ("write", json!({"path": "a.txt", "content": "new", "mode": "replace"})),
            ("write", json!({"path": "c.bin", "content": "AAEC", "encoding": "base64", "mode": "create"})),
            ("move", json!({"path": "a.txt", "to": "b.txt"})),
            ("remove", json!({"path": "b.txt"})),
        ] {
            let problem = assert_failure!(cut_off(&folder, name, &input).await, CANCELLED).clone();
            assert_eq!((problem.retry, problem.effect), (Retry::AfterVerify, Effect::Unknown), "{name}");
            assert!(
                !follow(&folder, &problem).await,
                "{name}: it was cut off before its work began, and does none after"
            );
            assert_ok!(folder.call(name, input.clone()).await);
            assert!(follow(&folder, &problem).await, "{name}: it was made again");
        }
    });
}

/// That nothing is at the old path says nothing where nothing ever was there.
#[test]
fn a_move_of_what_never_was_there_does_not_verify_as_done() {
    with_one_thread(async {
        let folder = Folder::with(&[("a.txt", "old")]);
        let input = json!({"path": "never.txt", "to": "b.txt"});
        let problem = assert_failure!(cut_off(&folder, "move", &input).await, CANCELLED).clone();
        assert!(!follow(&folder, &problem).await);
        assert_failure!(folder.call("move", input).await, FILE_NOT_FOUND);
    });
}

#[test]
fn an_edit_that_is_cut_off_cannot_be_told_from_its_input() {
    with_one_thread(async {
        let folder = Folder::with(&[("a.txt", "old")]);
        let edit = json!({"path": "a.txt", "old": "old", "new": "new"});
        let problem = assert_failure!(cut_off(&folder, "edit", &edit).await, CANCELLED).clone();
        assert_eq!((problem.effect, problem.next_actions.len()), (Effect::Unknown, 0));
        assert_eq!(folder.output("check", json!({"path": "a.txt", "content": "old"})).await["same"], true);
    });
}
