//! A new configuration for a server that runs: taken whole, or refused whole.

use std::{
    io::{BufRead as _, BufReader},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use rustix::process::Signal;
use serde_json::Value;

use crate::{
    process::Place,
    serve::Served,
    token::{GUARDED, called, guarded, token},
};

/// Puts a configuration in the place of the old one, in one step as editors do.
fn write(place: &Place, text: &str) {
    let new = place.path().join("redress.toml.new");
    std::fs::write(&new, text).unwrap();
    std::fs::rename(new, place.path().join("redress.toml")).unwrap();
}

#[test]
fn a_reload_drops_no_call_and_no_stream() {
    let place = guarded();
    let (ada, _) = token(&place, &["ada", "--scope", "files:read"]);
    let mut served = Served::start(&mut place.command(&["serve", "redress.toml", "--json"]));
    let (url, mut log) = (served.url(), served.log());
    let client = reqwest::blocking::Client::builder().timeout(None).build().unwrap();
    let watch = r#"{"operation":"files.watch","input":{"path":""}}"#;
    let stream = client.post(format!("{url}/subscribe")).bearer_auth(&ada).header("content-type", "application/json");
    let stream = stream.body(watch).send().unwrap();
    assert_eq!(stream.status(), 200);

    let (stop, ended) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let callers: Vec<_> = (0..2)
        .map(|_| {
            let (stop, ended, client, url, ada) =
                (Arc::clone(&stop), Arc::clone(&ended), client.clone(), url.clone(), ada.clone());
            thread::spawn(move || {
                while !stop.load(Relaxed) {
                    let answer = client.post(format!("{url}/ops/files/list")).bearer_auth(&ada);
                    let answer = answer.header("content-type", "application/json").body("{}").send().unwrap();
                    assert_eq!(answer.status(), 200, "{}", answer.text().unwrap());
                    ended.fetch_add(1, Relaxed);
                }
            })
        })
        .collect();
    for rate in ["100000/s", "200000/s", "300000/s"] {
        let before = ended.load(Relaxed);
        write(&place, &format!("{GUARDED}[limits]\nrate = \"{rate}\"\n"));
        log.line_with("read again and holds");
        served.signal(Signal::HUP);
        log.line_with("read again and holds");
        assert!(ended.load(Relaxed) > before, "calls went on");
    }
    stop.store(true, Relaxed);
    callers.into_iter().for_each(|caller| caller.join().unwrap());
    // The stream that was open before the first reload still tells what happens.
    std::fs::write(place.path().join("served/after.md"), "x").unwrap();
    let told = BufReader::new(stream).lines().map_while(Result::ok).find(|line| line.contains("after.md"));
    assert!(told.is_some());
    served.stop();
}

#[test]
fn a_new_limit_holds_at_once() {
    let place = guarded();
    let (ada, _) = token(&place, &["ada", "--scope", "files:read"]);
    let mut served = Served::start(&mut place.command(&["serve", "redress.toml", "--json"]));
    let (url, mut log) = (served.url(), served.log());
    assert_eq!(called(&place, &url, &ada), "ok");
    write(&place, &format!("{GUARDED}[limits]\nrate = \"1/h\"\n"));
    log.line_with("read again and holds");
    assert_eq!((called(&place, &url, &ada).as_str(), called(&place, &url, &ada).as_str()), ("ok", "RATE_LIMITED"));
    // Counts go on over a reload: nobody gets a second burst by it.
    served.signal(Signal::HUP);
    log.line_with("read again and holds");
    assert_eq!(called(&place, &url, &ada), "RATE_LIMITED");
    served.stop();
}

#[test]
fn a_wrong_configuration_changes_nothing() {
    let place = guarded().with("broken.json", "{");
    let (ada, _) = token(&place, &["ada", "--scope", "files:read"]);
    let mut served = Served::start(&mut place.command(&["serve", "redress.toml", "--json", "--log-format", "json"]));
    let (url, mut log) = (served.url(), served.log());
    let wrong = [
        ("[serve\n", "CONFIG_INVALID"),
        ("[serve]\nlisten = \"127.0.0.1:0\"\nwriet = true\n", "CONFIG_UNKNOWN_KEY"),
        (
            "state = \"memory\"\n[serve]\nlisten = \"127.0.0.1:0\"\nroot = \"served\"\n[access]\ntokens = \"broken.json\"\n[limits]\nrate = \"1/h\"\n",
            "ACCESS_UNUSABLE",
        ),
        (
            "state = \"memory\"\n[serve]\nlisten = \"127.0.0.1:1\"\nroot = \"served\"\n[access]\ntokens = \"tokens.json\"\n[limits]\nrate = \"1/h\"\n",
            "CONFIG_NEEDS_RESTART",
        ),
        (
            "state = \"memory\"\n[serve]\nlisten = \"127.0.0.1:0\"\nroot = \"served\"\n[access]\ntokens = \"tokens.json\"\n[limits]\nrate = \"1/h\"\n[mcp]\nprofile = \"nobody\"\n",
            "USAGE",
        ),
    ];
    for (text, code) in wrong {
        write(&place, text);
        let line: Value = serde_json::from_str(&log.line_with("was refused")).unwrap();
        assert_eq!((line["code"].as_str(), line["level"].as_str()), (Some(code), Some("ERROR")), "{line}");
        for _ in 0..3 {
            assert_eq!(called(&place, &url, &ada), "ok", "{code}");
        }
    }
    let metrics = reqwest::blocking::get(format!("{url}/metrics")).unwrap();
    assert_eq!(metrics.status(), 401, "who may call stays as it was");
    write(&place, GUARDED);
    log.line_with("read again and holds");
    served.stop();
}

#[test]
fn access_is_not_taken_away_from_an_address_that_others_can_reach() {
    let everywhere = GUARDED.replace("127.0.0.1:0", "0.0.0.0:0");
    let place = guarded().with("redress.toml", &everywhere);
    let (ada, _) = token(&place, &["ada", "--scope", "files:read"]);
    let mut served = Served::start(&mut place.command(&["serve", "redress.toml", "--json"]));
    let (url, mut log) = (served.url().replace("0.0.0.0", "127.0.0.1"), served.log());
    write(&place, &everywhere.replace("[access]\ntokens = \"tokens.json\"\n", ""));
    assert!(log.line_with("was refused").contains("CONFIG_NEEDS_RESTART"));
    assert_eq!((called(&place, &url, &ada), called(&place, &url, "rd_a_b")), ("ok".into(), "AUTH_REQUIRED".into()));
    served.stop();
}

/// Whoever writes a file in place is for a while in the middle of it, and what comes before `[access]` is a configuration
/// of its own.
#[test]
fn a_file_that_was_written_in_half_lets_nobody_in() {
    let place = guarded();
    let (ada, _) = token(&place, &["ada", "--scope", "files:read"]);
    let mut served = Served::start(&mut place.command(&["serve", "redress.toml", "--json"]));
    let (url, mut log) = (served.url(), served.log());
    let (half, _) = GUARDED.split_once("[access]").unwrap();
    let callers = || (called(&place, &url, &ada), called(&place, &url, "rd_a_b"));
    let kept = || assert_eq!(callers(), ("ok".into(), "AUTH_REQUIRED".into()));
    std::fs::write(place.path().join("redress.toml"), half).unwrap();
    assert!(log.line_with("was refused").contains("CONFIG_NEEDS_RESTART"));
    kept();
    served.signal(Signal::HUP);
    assert!(log.line_with("was refused").contains("CONFIG_NEEDS_RESTART"));
    kept();
    std::fs::write(place.path().join("redress.toml"), GUARDED).unwrap();
    log.line_with("read again and holds");
    kept();
    served.stop();
}

#[test]
fn without_a_configuration_a_hang_up_ends_nothing() {
    let place = Place::new();
    let mut served = Served::start(&mut place.command(&["serve", "--listen", "127.0.0.1:0", "--json"]));
    let mut log = served.log();
    served.signal(Signal::HUP);
    log.line_with("read again and holds");
    assert_eq!(called(&place, &served.url(), "any"), "ok");
    served.stop();
}
