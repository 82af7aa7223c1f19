//! A state folder that is taken away under a running server, and a second server that wants it.

use std::{
    fs,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    process::{Place, Ran},
    raw::{answer, calls, open},
    serve::Served,
};

const KEPT: &str = "[serve]\nlisten = \"127.0.0.1:0\"\nroot = \"served\"\n";

fn place() -> Place {
    let place = Place::new().with("redress.toml", KEPT);
    fs::create_dir(place.path().join("served")).unwrap();
    place
}

fn start(place: &Place) -> Served {
    Served::start(&mut place.command(&["serve", "redress.toml", "--json"]))
}

fn status(url: &str) -> u16 {
    reqwest::blocking::get(format!("{url}/readyz")).unwrap().status().as_u16()
}

/// How a call ends: `ok`, or its code.
fn called(place: &Place, url: &str) -> String {
    let answer = Ran::of(&mut place.command(&["call", "files.list", "--json", "--server", url])).json();
    answer["code"].as_str().unwrap_or("ok").to_owned()
}

/// Waits until the server says so of itself.
#[track_caller]
fn until_ready_is(url: &str, wanted: u16) {
    let since = Instant::now();
    while status(url) != wanted {
        assert!(since.elapsed() < Duration::from_secs(30), "/readyz never answers {wanted}");
        std::thread::yield_now();
    }
}

#[test]
fn a_server_whose_state_is_removed_is_not_ready_refuses_calls_and_says_so_once() {
    let place = place();
    let mut served = start(&place);
    let (url, mut log) = (served.url(), served.log());
    assert_eq!(called(&place, &url), "ok");
    let (file, away) = (place.path().join("state/redress.db"), place.path().join("away.db"));
    fs::rename(&file, &away).unwrap();
    let told = log.line_with("the state is lost");
    assert!(told.contains("`redress.db` is gone"), "{told}");
    until_ready_is(&url, 503);
    assert_eq!(called(&place, &url), "OVERLOADED");
    let doctor = place.run(&["doctor", "redress.toml", "--json", "--server", &url]);
    assert!(doctor.code == 1 && doctor.out.contains("put the file back"), "{}", doctor.seen());
    // It heals by itself when the same file is back, and has lost nothing.
    fs::rename(&away, &file).unwrap();
    log.line_with("the state is back");
    until_ready_is(&url, 200);
    assert_eq!(called(&place, &url), "ok");
    served.stop();
    let audit = place.run(&["audit", "--json", "redress.toml"]);
    assert_eq!(audit.out.lines().filter(|line| line.contains("files.list")).count(), 2, "{}", audit.seen());
}

#[tokio::test]
async fn while_the_state_is_lost_no_face_makes_a_call() {
    let place = place();
    let served = start(&place);
    let address = served.url().strip_prefix("http://").unwrap().parse().unwrap();
    let (file, away) = (place.path().join("state/redress.db"), place.path().join("away.db"));
    fs::rename(&file, &away).unwrap();
    // It is noticed within a second; until then calls are recorded in the file that was moved away.
    let lost = async || {
        let mut stream = open("127.0.0.1", address, "/ops/files/list", "").await;
        answer(&mut stream, "/ops/files/list", "", "{}").await.contains("OVERLOADED")
    };
    let since = Instant::now();
    while !lost().await {
        assert!(since.elapsed() < Duration::from_secs(30), "nobody has noticed");
    }
    for (path, body) in calls("files.list", &json!({}), 2) {
        let mut stream = open("127.0.0.1", address, &path, "").await;
        let told = answer(&mut stream, &path, "", &body).await;
        assert!(told.contains("OVERLOADED") && !told.contains("entries"), "{path}\n{told}");
    }
    fs::rename(&away, &file).unwrap();
    served.stop();
}

#[test]
fn a_folder_that_is_removed_under_a_server_is_lost_to_it_and_free_for_the_next() {
    let place = place();
    let first = start(&place);
    let refused = place.run(&["serve", "redress.toml", "--json"]);
    assert_eq!((refused.code, refused.json()["code"].as_str()), (2, Some("STATE_UNUSABLE")), "{}", refused.seen());
    // Taking the files away one by one frees nothing.
    for file in fs::read_dir(place.path().join("state")).unwrap() {
        fs::remove_file(file.unwrap().path()).unwrap();
    }
    let refused = place.run(&["serve", "redress.toml", "--json"]);
    assert_eq!((refused.code, refused.json()["code"].as_str()), (2, Some("STATE_UNUSABLE")), "{}", refused.seen());
    fs::remove_dir_all(place.path().join("state")).unwrap();
    let second = start(&place);
    until_ready_is(&first.url(), 503);
    assert_eq!(called(&place, &first.url()), "OVERLOADED");
    assert_eq!((status(&second.url()), called(&place, &second.url()).as_str()), (200, "ok"));
    second.stop();
}

#[test]
fn of_servers_that_start_at_once_one_has_the_folder() {
    let place = place();
    let mut started: Vec<_> = (0..6)
        .map(|_| {
            let mut command = place.command(&["serve", "redress.toml", "--json"]);
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null()).spawn().unwrap()
        })
        .collect();
    let mut running = 0;
    for child in &mut started {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
        match line.contains("\"ok\":true") {
            true => running += 1,
            false => assert!(line.contains("STATE_UNUSABLE"), "{line}"),
        }
    }
    for mut child in started {
        let _ = child.kill();
        child.wait().unwrap();
    }
    assert_eq!(running, 1);
}
