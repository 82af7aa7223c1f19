//! Quotas of a server: for parallel calls over HTTP, over a kill and over a reload.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{process::Place, serve::Served};

const CLIENTS: usize = 4;
/// How many answers there are before a server is killed.
const ANSWERS: u64 = 9;
/// How many calls there are to make.
const QUOTA: u64 = 30;

fn config(quota: &str) -> String {
    format!(
        "[serve]\nlisten = \"127.0.0.1:0\"\n[state]\nfolder = \"state\"\n[limits]\n\
         rules = [{{ operations = [\"files.stat\"], quota = {quota} }}]\n"
    )
}

fn start(place: &Place) -> Served {
    Served::start(&mut place.command(&["serve", "redress.toml", "--json"]))
}

/// What one call comes to: its status, its two fields and its body; nothing where the connection broke.
fn stat(client: &reqwest::blocking::Client, url: &str, path: &str, body: &str) -> Option<(u16, [String; 2], Value)> {
    let request = client.post(format!("{url}{path}")).header("content-type", "application/json");
    let answer = request.body(body.to_owned()).send().ok()?;
    let field = |name: &str| answer.headers().get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
    let (status, fields) = (answer.status().as_u16(), [field("ratelimit-policy"), field("ratelimit")]);
    Some((status, fields, serde_json::from_slice(&answer.bytes().ok()?).ok()?))
}

const STAT: (&str, &str) = ("/ops/files/stat", r#"{"path":"notes.md"}"#);

/// What the state says that was used.
fn used(place: &Place) -> Vec<Value> {
    let ran = place.run(&["quota", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.seen());
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_quota_is_exact_over_parallel_calls_and_servers_that_are_killed_in_the_middle_of_them() {
    let place = Place::new().with("redress.toml", &config(&format!("\"{QUOTA}/month\"")));
    let client = reqwest::blocking::Client::new();
    let (answered, cut_off, refused) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    for kill in 1.. {
        let served = start(&place);
        let url = served.url();
        thread::scope(|scope| {
            for _ in 0..CLIENTS {
                let (client, url, answered, cut_off, refused) = (&client, &url, &answered, &cut_off, &refused);
                scope.spawn(move || {
                    loop {
                        match stat(client, url, STAT.0, STAT.1) {
                            Some((200, _, _)) => answered.fetch_add(1, Ordering::SeqCst),
                            Some((429, _, problem)) => {
                                assert_eq!(problem["code"], "QUOTA_EXHAUSTED");
                                refused.fetch_add(1, Ordering::SeqCst);
                                return;
                            }
                            Some(other) => panic!("{other:?}"),
                            None => {
                                cut_off.fetch_add(1, Ordering::SeqCst);
                                return;
                            }
                        };
                    }
                });
            }
            while answered.load(Ordering::SeqCst) < ANSWERS * kill && refused.load(Ordering::SeqCst) == 0 {
                thread::yield_now();
            }
            if refused.load(Ordering::SeqCst) == 0 {
                served.signal(Signal::KILL);
            }
        });
        drop(served);
        // A call that was answered is counted, and one that was cut off may be.
        let (min, more) = (answered.load(Ordering::SeqCst), cut_off.load(Ordering::SeqCst));
        let counted = used(&place)[0]["used"].as_u64().unwrap();
        assert!((min..=min + more).contains(&counted), "{counted} of {min} and {more}");
        assert!(counted <= QUOTA);
        if refused.load(Ordering::SeqCst) > 0 {
            assert_eq!(counted, QUOTA);
            break;
        }
    }
    assert!(cut_off.into_inner() >= 1, "no server was killed in the middle");
}

#[test]
fn what_is_left_is_in_the_headers_and_a_refusal_says_when_it_is_whole_again() {
    let place = Place::new().with("redress.toml", &config(r#"["2/month", "9/day", "9/hour"]"#));
    let served = start(&place);
    let (url, client) = (served.url(), reqwest::blocking::Client::new());
    let (status, [policy, limit], _) = stat(&client, &url, STAT.0, STAT.1).unwrap();
    let window = |name: &str| policy.split(", ").find(|item| item.starts_with(name)).unwrap().to_owned();
    assert_eq!((status, window("\"rule1-day\"").as_str()), (200, "\"rule1-day\";q=9;w=86400"));
    assert!(window("\"rule1-month\"").starts_with("\"rule1-month\";q=2;w=2"), "{policy}");
    assert!(limit.starts_with("\"rule1-month\";r=1;t=") && limit.contains("\"rule1-day\";r=8;t="), "{limit}");
    let call = json!({"operation": "files.stat", "input": {"path": "notes.md"}}).to_string();
    let (status, [_, limit], _) = stat(&client, &url, "/call", &call).unwrap();
    assert!(status == 200 && limit.starts_with("\"rule1-month\";r=0;t="), "{limit}");
    for (path, body) in [STAT, ("/call", call.as_str())] {
        let (status, [policy, limit], refused) = stat(&client, &url, path, body).unwrap();
        assert!(status == 429 && policy.contains("q=2") && limit.contains("\"rule1-month\";r=0;t="), "{limit}");
        let told = json!([refused["code"], refused["retryable"], refused["retry"], refused["recovery"]["verb"]]);
        assert_eq!(told, json!(["QUOTA_EXHAUSTED", false, "after_fix", "ask_user"]));
        assert_eq!((&refused["details"]["limit"], &refused["details"]["used"]), (&json!(2), &json!(2)));
        assert!(refused["details"]["renews_at"].as_str().unwrap().ends_with("-01T00:00:00.000Z"), "{refused}");
        assert!(refused["retry_after_ms"].as_u64().unwrap() > 0);
    }
    // What has none says nothing of any.
    let (status, fields, _) = stat(&client, &url, "/ops/files/list", "{}").unwrap();
    assert_eq!((status, fields), (200, [String::new(), String::new()]));
    // Whoever is refused is counted among those over their limit, and in no audit.
    let metrics = client.get(format!("{url}/metrics")).send().unwrap().text().unwrap();
    assert!(metrics.contains("redress_limited_total{operation=\"files.stat\"} 2"), "{metrics}");
    served.stop();
    let audit = place.run(&["audit", "--json", "--operation", "files.stat"]);
    assert_eq!(audit.out.lines().count(), 2, "{}", audit.out);
    let shown = place.run(&["quota", "--caller", "local"]);
    assert!(shown.out.contains("2 of 2") && shown.out.contains("2 of 9") && shown.out.contains("files.stat"));
    assert!(shown.out.contains("an hour, until") && !shown.out.contains("a hour"), "{}", shown.out);
    let configured = place.path().join("redress.toml").canonicalize().unwrap().display().to_string();
    assert!(shown.err.contains(&configured), "nobody has named it: {}", shown.err);
    assert_eq!(place.run(&["quota", "--caller", "eve", "--json"]).out, "");
    let nothing = place.run(&["quota", "redress.toml", "--caller", "eve"]);
    assert_eq!(nothing.seen(), "nobody has used anything of a quota that runs\nexit 0");
    let nothing = place.run(&["audit", "redress.toml", "--caller", "eve"]);
    assert_eq!(nothing.seen(), "no call is recorded that fits\nexit 0");
}

#[test]
fn a_reload_with_another_number_keeps_what_was_counted() {
    let place = Place::new().with("redress.toml", &config("\"2/month\""));
    let mut served = start(&place);
    let (url, mut log, client) = (served.url(), served.log(), reqwest::blocking::Client::new());
    let status = || stat(&client, &url, STAT.0, STAT.1).unwrap().0;
    assert_eq!([status(), status(), status()], [200, 200, 429]);
    for (quota, expected) in [("\"3/month\"", [200, 429]), ("\"1/month\"", [429, 429])] {
        std::fs::write(place.path().join("new"), config(quota)).unwrap();
        std::fs::rename(place.path().join("new"), place.path().join("redress.toml")).unwrap();
        log.line_with("read again and holds");
        assert_eq!([status(), status()], expected, "{quota}");
    }
    drop(log);
    served.signal(Signal::TERM);
    served.ends_well();
    assert_eq!((&used(&place)[0]["used"], &used(&place)[0]["limit"]), (&json!(3), &json!(3)));
}

#[test]
fn quotas_are_not_counted_where_they_would_not_last() {
    let place = Place::new().with("redress.toml", &config("\"2/month\""));
    let memory = place.run(&["serve", "redress.toml", "--state", "memory", "--json"]);
    assert!(memory.code == 2 && memory.out.contains("quotas are counted in a folder alone"), "{}", memory.seen());
    let served = start(&place);
    let beside = place.run(&["mcp", "redress.toml"]);
    assert!(beside.code == 2 && beside.err.contains("STATE_UNUSABLE"), "{}", beside.seen());
    served.stop();
    let unread = Place::new().run(&["quota", "--json"]);
    assert_eq!((unread.code, &unread.json()["code"]), (2, &json!("QUOTA_UNREADABLE")));
}
