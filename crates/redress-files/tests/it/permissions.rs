//! What the operating system denies. The administrator is denied nothing, so these run as
//! somebody else: the test binary starts itself again.

use std::{fs, os::unix::fs::PermissionsExt as _, os::unix::process::CommandExt as _, process::Command};

use redress::{
    Effect, Retry,
    testing::{assert_failure, assert_ok},
};
use serde_json::json;

use crate::{folder::Folder, verifying::follow};

const STARTED: &str = "REDRESS_FILES_AS_NOBODY";
const NOBODY: u32 = 65_534;

fn mode(folder: &Folder, path: &str, mode: u32) {
    fs::set_permissions(folder.host(path), fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn what_the_operating_system_denies_has_a_code_of_its_own() {
    if std::env::var_os(STARTED).is_some() {
        return as_somebody_who_may_not();
    }
    let mut again = Command::new(std::env::current_exe().unwrap());
    again
        .args(["--exact", "permissions::what_the_operating_system_denies_has_a_code_of_its_own", "--nocapture"])
        .env(STARTED, "1");
    if rustix::process::geteuid().is_root() {
        again.uid(NOBODY).gid(NOBODY).current_dir("/");
    }
    let output = again.output().unwrap();
    let told = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
}

#[tokio::main(flavor = "current_thread")]
async fn as_somebody_who_may_not() {
    let folder =
        Folder::with(&[("closed", "x"), ("shut/x", "x"), ("fixed/x", "x"), ("part/a", ""), ("part/shut/b", "")]);
    mode(&folder, "closed", 0o000);
    mode(&folder, "shut", 0o000);
    mode(&folder, "fixed", 0o555);
    mode(&folder, "part/shut", 0o555);
    for (name, input) in [
        ("read", json!({"path": "closed"})),
        ("read", json!({"path": "shut/x"})),
        ("stat", json!({"path": "shut/x"})),
        ("stat", json!({"path": "closed", "hash": true})),
        ("list", json!({"path": "shut"})),
        ("search", json!({"path": "shut", "pattern": "x"})),
        ("edit", json!({"path": "closed", "old": "x", "new": "y"})),
        ("write", json!({"path": "fixed/y", "content": "", "mode": "create"})),
        ("write", json!({"path": "fixed/d/y", "content": "", "mode": "create", "make_folders": true})),
        ("move", json!({"path": "fixed/x", "to": "y"})),
    ] {
        let answer = folder.call(name, input.clone()).await;
        let problem = assert_failure!(answer, FILE_PERMISSION_DENIED);
        assert_eq!((problem.kind.to_string().as_str(), problem.http), ("forbidden", 403), "{name} {input}");
    }
    assert_failure!(folder.remove(json!({"path": "fixed/x"})).await, FILE_PERMISSION_DENIED);
    let partly = folder.remove(json!({"path": "part", "recursive": true})).await;
    assert_failure!(partly, REMOVE_INCOMPLETE);
    assert_eq!(partly.details(), json!({"path": "part", "removed": 1}));
    let listing = folder.output("list", json!({"depth": 3})).await;
    assert_eq!(listing["unreadable"], 1);
    assert_ok!(folder.call("read", json!({"path": "fixed/x"})).await);
    unconfirmed(&folder).await;
    for path in ["shut", "fixed", "part/shut"] {
        mode(&folder, path, 0o755);
    }
}

/// In a folder that can be changed and not read, a name can be put, and the disk cannot be made to confirm it.
async fn unconfirmed(folder: &Folder) {
    folder.put("blind/a", "old");
    folder.put("blind/b", "new");
    folder.put("blind/e", "old");
    let mut ended = Vec::new();
    mode(folder, "blind", 0o333);
    for (name, input, code) in [
        ("write", json!({"path": "blind/a", "content": "new", "mode": "replace"}), "WRITE_UNCONFIRMED"),
        ("write", json!({"path": "blind/c", "content": "new", "mode": "create"}), "WRITE_UNCONFIRMED"),
        ("edit", json!({"path": "blind/e", "old": "old", "new": "new"}), "WRITE_UNCONFIRMED"),
        ("move", json!({"path": "blind/b", "to": "blind/d"}), "MOVE_UNCONFIRMED"),
    ] {
        let answer = folder.call(name, input.clone()).await;
        let problem = answer.problem();
        assert_eq!((problem.code.as_str(), problem.effect), (code, Effect::Unknown), "{name} {input}");
        assert_eq!(problem.retry, Retry::AfterVerify, "{name} {input}");
        // The content is there to be read, and that it is does not say that the disk keeps it.
        let [next] = &problem.next_actions[..] else { panic!("{:?}", problem.next_actions) };
        let input = serde_json::from_str(next.input.get()).unwrap();
        let unkept = folder.call("check", input).await;
        assert_eq!(assert_failure!(unkept, CHECK_UNCONFIRMED).effect, Effect::None, "{name}");
        ended.push((name, problem.clone()));
    }
    mode(folder, "blind", 0o755);
    for (name, problem) in &ended {
        assert!(follow(folder, problem).await, "{name}: the change was made, and the disk confirms it");
    }
    for (path, text) in [("blind/a", "new"), ("blind/c", "new"), ("blind/d", "new"), ("blind/e", "new")] {
        assert_eq!(folder.text(path), text);
    }
}
