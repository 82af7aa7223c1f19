//! Pipes, devices and floods in the place of files: nothing waits for them, and no other reload does.

use std::{
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use rustix::process::Signal;

use crate::{
    process::{Place, Ran},
    serve::Served,
    token::{GUARDED, called, guarded, token},
};

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Runs it, and fails where it does not end by itself.
#[track_caller]
fn ends(command: &mut Command) -> Ran {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let since = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if since.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("it waits for ever: {command:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

#[test]
fn a_pipe_in_the_place_of_the_tokens_stops_no_reload_and_the_tokens_are_read_again_once_they_are_back() {
    let place = guarded();
    let (ada, id) = token(&place, &["ada", "--scope", "files:read"]);
    let mut served = Served::start(&mut place.command(&["serve", "redress.toml", "--json"]));
    let (url, mut log) = (served.url(), served.log());
    let (tokens, away) = (place.path().join("tokens.json"), place.path().join("away"));
    fs::rename(&tokens, &away).unwrap();
    pipe(&tokens);
    let told = log.line_with("stays in force");
    assert!(told.contains("tokens.json"), "{told}");
    assert_eq!(called(&place, &url, &ada), "ok", "what was read before holds");
    // The configuration is taken, by a look and by a signal.
    fs::write(place.path().join("redress.toml"), format!("{GUARDED}[limits]\nin_flight = 7\n")).unwrap();
    log.line_with("read again and holds");
    served.signal(Signal::HUP);
    log.line_with("read again and holds");
    fs::remove_file(&tokens).unwrap();
    fs::rename(&away, &tokens).unwrap();
    let revoked = place.run(&["token", "revoke", &id, "--config", "redress.toml"]);
    assert_eq!(revoked.code, 0, "{}", revoked.seen());
    let since = Instant::now();
    while called(&place, &url, &ada) == "ok" {
        assert!(since.elapsed() < Duration::from_secs(30), "the token was revoked");
    }
    served.stop();
}

#[test]
fn tokens_that_are_gone_lock_nobody_out_and_neither_does_a_file_that_is_not_there() {
    let place = guarded();
    let (ada, _) = token(&place, &["ada", "--scope", "files:read"]);
    let mut served = Served::start(&mut place.command(&["serve", "redress.toml", "--json"]));
    let (url, mut log) = (served.url(), served.log());
    fs::remove_file(place.path().join("tokens.json")).unwrap();
    let told = log.line_with("stays in force");
    assert!(told.contains("is gone"), "{told}");
    assert_eq!(called(&place, &url, &ada), "ok");
    fs::write(place.path().join("redress.toml"), GUARDED.replace("tokens.json", "missing/none.json")).unwrap();
    let refused = log.line_with("was refused");
    assert!(refused.contains("there is no file of tokens"), "{refused}");
    assert_eq!(called(&place, &url, &ada), "ok");
    served.stop();
}

#[test]
fn a_pipe_in_the_place_of_the_configuration_is_told_and_the_old_one_holds() {
    let place = guarded();
    let (ada, _) = token(&place, &["ada", "--scope", "files:read"]);
    let mut served = Served::start(&mut place.command(&["serve", "redress.toml", "--json"]));
    let (url, mut log) = (served.url(), served.log());
    let config = place.path().join("redress.toml");
    fs::remove_file(&config).unwrap();
    pipe(&config);
    let refused = log.line_with("was refused");
    assert!(refused.contains("it is a pipe"), "{refused}");
    assert_eq!(called(&place, &url, &ada), "ok");
    fs::remove_file(&config).unwrap();
    fs::write(&config, format!("{GUARDED}[limits]\nin_flight = 7\n")).unwrap();
    log.line_with("read again and holds");
    served.stop();
}

#[test]
fn at_the_start_no_file_is_waited_for_that_is_none() {
    let base = "state = \"memory\"\n[serve]\nlisten = \"127.0.0.1:0\"\nroot = \"served\"\n";
    let places = [
        "[access]\ntokens = \"FILE\"\n",
        "[access.jwt]\njwks_file = \"FILE\"\n",
        "[access.jwt]\nsecret_file = \"FILE\"\n",
        "[access.jwt]\nkey_file = \"FILE\"\n",
        "[tls]\ncertificate = \"FILE\"\nkey = \"FILE\"\n",
        "[tls]\ncertificate = \"cert.pem\"\nkey = \"FILE\"\n",
        "[telemetry]\notlp = \"http://127.0.0.1:1\"\nheaders_file = \"FILE\"\n",
        "[telemetry]\naccess_log = \"FILE\"\n",
    ];
    let place = guarded();
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(place.path().join("cert.pem"), certified.cert.pem()).unwrap();
    pipe(&place.path().join("pipe"));
    for text in places {
        // A log may well go to a device, such as a terminal.
        let files: &[&str] =
            if text.contains("access_log") { &["pipe", "served"] } else { &["pipe", "/dev/zero", "served"] };
        for file in files {
            fs::write(place.path().join("redress.toml"), format!("{base}{}", text.replace("FILE", file))).unwrap();
            for words in [["serve", "redress.toml", "--json"], ["doctor", "redress.toml", "--json"]] {
                let ran = ends(&mut place.command(&words));
                // Whether somebody will read a pipe when the server starts, nobody knows before.
                let may_be = words[0] == "doctor" && text.contains("access_log") && *file == "pipe";
                assert!(ran.code != 0 || may_be, "{words:?} {text} {file}\n{}", ran.seen());
            }
        }
    }
    for file in ["pipe", "/dev/zero", "served"] {
        for words in [["serve", file, "--json"], ["serve", "--state", file]] {
            if words[1] == "--state" && file == "served" {
                continue;
            }
            let ran = ends(place.command(&words).arg("--listen").arg("127.0.0.1:0"));
            assert_eq!(ran.code, 2, "{words:?}\n{}", ran.seen());
        }
    }
}

#[test]
fn a_command_reads_a_pipe_and_no_flood() {
    let place = Place::new();
    let ran = ends(&mut place.command(&["call", "files.list", "@/dev/zero", "--json"]));
    assert_eq!((ran.code, ran.json()["code"].as_str()), (2, Some("FILE_UNREADABLE")), "{}", ran.seen());
    let mut flood = place.command(&["call", "files.list", "-", "--json"]);
    flood.stdin(fs::File::open("/dev/zero").unwrap());
    let ran = ends(&mut flood);
    assert_eq!((ran.code, ran.json()["code"].as_str()), (2, Some("FILE_UNREADABLE")), "{}", ran.seen());
    let mut piped = place.command(&["call", "files.list", "-", "--json"]);
    let mut child = piped.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"{}").unwrap();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
}
