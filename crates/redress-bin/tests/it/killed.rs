//! Changes of files under idempotency keys, with a server that is killed in the middle of them.

use std::{
    collections::HashMap,
    fs,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{process::Place, serve::Served};

const CLIENTS: usize = 4;
const KILLS: usize = 4;
/// How many answers there are before a server is killed.
const ANSWERS: usize = 25;

/// The code of an answer, `ok` for a good one; nothing where the connection broke.
fn edit(client: &reqwest::blocking::Client, url: &str, key: &str) -> Option<String> {
    let (name, _) = key.split_once('-').unwrap();
    // Each key adds a line of its own, so its effects can be counted.
    let input = json!({"path": format!("{name}.txt"), "old": "END", "new": format!("{key}\nEND")});
    let request = client.post(format!("{url}/ops/files/edit")).header("idempotency-key", key);
    let answer = request.header("content-type", "application/json").body(input.to_string()).send().ok()?;
    let json: Value = serde_json::from_slice(&answer.bytes().ok()?).ok()?;
    Some(json["code"].as_str().unwrap_or("ok").to_owned())
}

#[test]
fn a_file_is_changed_once_for_each_key_however_often_the_server_is_killed_and_the_key_asked_about() {
    let config = "[serve]\nlisten = \"127.0.0.1:0\"\nroot = \"served\"\nwrite = true\n[state]\nfolder = \"state\"\n";
    let place = Place::new().with("redress.toml", config);
    fs::create_dir(place.path().join("served")).unwrap();
    for name in 0..CLIENTS {
        fs::write(place.path().join(format!("served/{name}.txt")), "END").unwrap();
    }
    let start = || Served::start(&mut place.command(&["serve", "redress.toml", "--json", "--log-level", "off"]));
    let client = reqwest::blocking::Client::new();
    // What each key was answered first; nothing for one that was cut off.
    let asked: Mutex<HashMap<String, Option<String>>> = Mutex::default();
    for kill in 0..KILLS {
        let served = start();
        let (url, answers) = (served.url(), AtomicUsize::new(0));
        thread::scope(|scope| {
            for name in 0..CLIENTS {
                let (client, url, asked, answers) = (&client, &url, &asked, &answers);
                scope.spawn(move || {
                    for number in 0.. {
                        let key = format!("{name}-{kill}-{number}");
                        let answer = edit(client, url, &key);
                        let over = answer.is_none();
                        asked.lock().unwrap().insert(key, answer);
                        if over {
                            return;
                        }
                        answers.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
            while answers.load(Ordering::SeqCst) < ANSWERS * (kill + 1) {
                thread::yield_now();
            }
            served.signal(Signal::KILL);
        });
        drop(served);
    }
    let served = start();
    let (mut unknown, mut cut_off) = (0, 0);
    for (key, before) in asked.into_inner().unwrap() {
        let again = edit(&client, &served.url(), &key).expect("nobody kills this one");
        let lines = fs::read_to_string(place.path().join(format!("served/{}.txt", key.split_once('-').unwrap().0)));
        let effects = lines.unwrap().lines().filter(|line| **line == *key).count();
        match (before.as_deref(), again.as_str()) {
            (Some("ok"), "ok") => assert_eq!(effects, 1, "{key}"),
            // It never ran, was answered into the void, or ran now: once, in any case.
            (None, "ok") => {
                cut_off += 1;
                assert_eq!(effects, 1, "{key}");
            }
            (None, "OUTCOME_UNKNOWN") => {
                (cut_off, unknown) = (cut_off + 1, unknown + 1);
                assert!(effects <= 1, "{key} worked {effects} times");
            }
            (before, again) => panic!("{key}: {before:?}, then {again}"),
        }
    }
    assert_eq!(cut_off, CLIENTS * KILLS);
    assert!(unknown <= cut_off);
    served.stop();
}

#[test]
fn each_change_of_a_file_takes_a_key_and_what_changes_nothing_takes_none() {
    let place = Place::new();
    let call = |words: &[&str]| {
        let ran = place.run(&[&["call", "--json", "--write", "--idempotency-key", "k"], words].concat());
        ran.json()["code"].as_str().unwrap_or("ok").to_owned()
    };
    assert_eq!(call(&["files.write", r#"{"path":"a","content":"x","mode":"create"}"#]), "ok");
    assert_eq!(call(&["files.edit", r#"{"path":"a","old":"x","new":"y"}"#]), "ok");
    assert_eq!(call(&["files.move", r#"{"path":"a","to":"b"}"#]), "ok");
    assert_eq!(call(&["files.remove", r#"{"path":"b"}"#, "--consent"]), "ok");
    assert_eq!(call(&["files.read", r#"{"path":"notes.md"}"#]), "INVALID_REQUEST");
    assert_eq!(call(&["files.watch", "{}"]), "INVALID_REQUEST");
    let odd = place.run(&["call", "files.list", "--idempotency-key", "two words"]);
    assert_eq!(odd.code, 2, "{}", odd.seen());
}
