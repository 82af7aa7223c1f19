//! What a person sees on a terminal of what others have written: a hostile file, a hostile server, hostile names.

use std::{
    fs::{self, File},
    io::{Read as _, Write as _},
    net::TcpListener,
    process::Stdio,
};

use rustix::{
    fs::{Mode, OFlags},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
};

use crate::process::Place;

/// ESC, CSI in one byte, DEL, writing that runs backwards, isolates, and what cannot be seen.
const HOSTILE: &str =
    "a\u{1b}]0;owned\u{7}b\u{9b}2Jc\u{7f}d\u{202e}e\u{2066}f\u{200f}g\u{200b}h\u{feff}i\u{e0041}j\u{85}k";

/// What nobody but us may send to a terminal.
fn is_obeyed(c: char) -> bool {
    matches!(c, '\u{7f}'..='\u{9f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || matches!(c, '\u{feff}' | '\u{e0041}' | '\u{7}' | '\u{8}')
}

/// Runs the command on a terminal of its own, and gives all that it wrote there.
fn on_a_terminal(place: &Place, words: &[&str]) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let terminal =
        rustix::fs::open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
    let mut command = place.command(words);
    let out = terminal.try_clone().unwrap();
    let mut child =
        command.stdout(Stdio::from(out)).stderr(Stdio::from(terminal)).env("TERM", "xterm").spawn().unwrap();
    // Both ends that this process holds have to go, or the reading never ends.
    drop(command);
    let reading = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // The end of a terminal is an error, on Linux.
        let _ = File::from(master).read_to_end(&mut bytes);
        bytes
    });
    child.wait().unwrap();
    String::from_utf8_lossy(&reading.join().unwrap()).into_owned()
}

#[track_caller]
fn is_harmless(what: &str, text: &str) {
    let odd: Vec<char> = text.chars().filter(|c| is_obeyed(*c)).collect();
    assert!(odd.is_empty(), "{what}: {odd:?} in {text:?}");
    // Styles are ours; every other escape is somebody else's.
    for after in text.split('\u{1b}').skip(1) {
        let end = after.trim_start_matches(|c: char| c == '[' || c == ';' || c.is_ascii_digit());
        assert!(after.starts_with('[') && end.starts_with('m'), "{what}: {after:?}");
    }
}

/// A server that answers everything with the same hostile words.
fn hostile_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut asked = [0; 8192];
            let read = stream.read(&mut asked).unwrap_or(0);
            let asked = String::from_utf8_lossy(&asked[..read]).into_owned();
            let text = HOSTILE.replace('\u{1b}', "\\u001b").replace('\u{7}', "\\u0007");
            let (kind, body) = if asked.starts_with("POST /subscribe") {
                // Raw, as no server of ours would send it.
                let end = "{\"ok\":true,\"_meta\":{\"request_id\":\"r\"}}";
                ("text/event-stream", format!("data: \"{HOSTILE}\u{1b}[8m\"\n\nevent: end\ndata: {end}\n\n"))
            } else if asked.starts_with("GET /ops") {
                let operation = format!("{{\"name\":\"{text}\",\"shape\":\"{text}\",\"summary\":\"{text}\"}}");
                ("application/json", format!("{{\"operations\":[{operation}]}}"))
            } else if asked.contains("\"stream.it\"") {
                (
                    "application/json",
                    "{\"ok\":false,\"code\":\"INVALID_OPERATION_TYPE\",\"details\":{\"shape\":\"subscription\"}}"
                        .to_owned(),
                )
            } else if asked.contains("\"fail.it\"") {
                let next = format!("[{{\"operation\":\"{text}\",\"input\":{{\"a\":\"{text}\"}},\"why\":\"{text}\"}}]");
                let issue = format!("{{\"pointer\":\"{text}\",\"expected\":\"{text}\",\"near\":\"{text}\"}}");
                let body = format!(
                    "{{\"ok\":false,\"code\":\"{text}\",\"error\":\"{text}\",\"hint\":\"{text}\",\"retry\":\"{text}\",\"next_actions\":{next},\
                     \"similar\":[{{\"value\":\"{text}\"}}],\"details\":{{\"issues\":[{issue}]}},\"_meta\":{{\"request_id\":\"{text}\"}}}}"
                );
                ("application/json", body)
            } else {
                ("application/json", format!("{{\"ok\":true,\"result\":{{\"{text}\":\"{text}\"}},\"_meta\":{{}}}}"))
            };
            let length = body.len();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
            );
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    url
}

#[test]
fn nothing_that_others_wrote_commands_the_terminal_of_whoever_reads_it() {
    let place = Place::new().with("hostile.txt", HOSTILE);
    fs::write(place.path().join(HOSTILE.replace('/', "")), "x").unwrap();
    let url = hostile_server();
    let config = format!("[serve]\nroot = \"{}\"\n", HOSTILE.replace(['\u{1b}', '\u{7}', '\u{7f}'], ""));
    let place = place
        .with("hostile.toml", &config)
        .with("broken.toml", &format!("\"{}\" = 1\n", HOSTILE.replace(['\u{1b}', '\u{7}', '\u{7f}'], "")));
    let commands: Vec<Vec<&str>> = vec![
        vec!["call", "files.read", r#"{"path":"hostile.txt"}"#],
        vec!["call", "files.read", r#"{"path":"hostile.txt"}"#, "--json"],
        vec!["call", "files.list"],
        vec!["call", "files.search", r#"{"text":"a"}"#],
        vec!["call", "any.thing", "--server", &url],
        vec!["call", "any.thing", "--server", &url, "--json"],
        vec!["call", "fail.it", "--server", &url],
        vec!["call", "fail.it", "--server", &url, "--json"],
        vec!["call", "stream.it", "--server", &url],
        vec!["call", "stream.it", "--server", &url, "--json"],
        vec!["ops", "--server", &url],
        vec!["ops", "--server", &url, "--json"],
        vec!["doctor", "--server", &url],
        vec!["doctor", "hostile.toml"],
        vec!["doctor", "broken.toml"],
        vec!["serve", "hostile.toml"],
        vec!["explain", HOSTILE],
        vec!["call", HOSTILE, "{"],
        vec!["audit", "--state", HOSTILE],
        vec!["token", "list", "--file", HOSTILE],
        vec![HOSTILE],
    ];
    for words in commands {
        let text = on_a_terminal(&place, &words);
        assert!(!text.trim().is_empty(), "{words:?} said nothing");
        is_harmless(&format!("{words:?}"), &text);
    }
}

#[test]
fn what_is_piped_stays_as_it_was_written() {
    let place = Place::new().with("hostile.txt", HOSTILE);
    let ran = place.run(&["call", "files.read", r#"{"path":"hostile.txt"}"#, "--json"]);
    assert!(ran.out.contains('\u{9b}') && ran.json()["ok"] == true, "{}", ran.seen());
}
