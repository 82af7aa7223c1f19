//! `doctor`: a set-up that is good, and each way in which one is not.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use serde_json::Value;

use crate::{
    process::{Place, Ran},
    serve::Served,
    token::{GUARDED, guarded, token},
};

fn looked(place: &Place, words: &[&str]) -> (i32, Vec<Value>) {
    let ran = place.run(&[&["doctor", "--json"], words].concat());
    (ran.code, ran.json().as_array().unwrap().clone())
}

/// The word on `check` that is worst.
fn worst(checks: &[Value], check: &str) -> String {
    let of = |status: &str| checks.iter().any(|found| found["check"] == check && found["status"] == status);
    ["fail", "warn", "ok"].into_iter().find(|status| of(status)).unwrap_or("nothing").to_owned()
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_good_set_up_is_found_to_be_good() {
    let place = guarded().with("redress.toml", &GUARDED.replace("state = \"memory\"\n", ""));
    token(&place, &["ada"]);
    let (code, checks) = looked(&place, &["redress.toml"]);
    assert_eq!(code, 0, "{checks:?}");
    for check in ["config", "access", "tokens", "state", "port", "folder"] {
        assert_eq!(worst(&checks, check), "ok", "{checks:?}");
    }
}

#[test]
fn everything_that_is_wrong_is_told_with_what_to_do() {
    let place = Place::new();
    let (_, checks) = looked(&place.with("redress.toml", "[serve]\nlisten = \"0.0.0.0:0\"\n"), &["redress.toml"]);
    assert_eq!(worst(&checks, "access"), "fail", "{checks:?}");

    let collector = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let text = format!(
        "state = \"memory\"\n[serve]\nroot = \"served\"\n[access]\ntokens = \"tokens.json\"\n[access.jwt]\njwks_url = \"http://{collector}/keys\"\n\
         [tls]\ncertificate = \"notes.md\"\nkey = \"notes.md\"\n[limits]\nrules = [{{ operations = [\"flies.*\"], rate = \"1/s\" }}]\n\
         [telemetry]\notlp = \"http://{collector}\"\naccess_log = \"nowhere/access.log\"\n"
    );
    let place = guarded().with("redress.toml", &text);
    token(&place, &["ada"]);
    mode(&place.path().join("tokens.json"), 0o644);
    let (code, checks) = looked(&place, &["redress.toml"]);
    assert_eq!(code, 1);
    for (check, status) in [
        ("tokens", "warn"),
        ("keys", "fail"),
        ("tls", "fail"),
        ("state", "warn"),
        ("limits", "fail"),
        ("telemetry", "fail"),
    ] {
        assert_eq!(worst(&checks, check), status, "{check}: {checks:?}");
    }
    assert!(checks.iter().all(|check| check["status"] == "ok" || check["next"].is_string()), "{checks:?}");
}

#[test]
fn what_serve_would_refuse_is_found_before() {
    let wrong = [
        ("[http]\ntrusted_proxies = [\"nonsense\"]\n", "config"),
        ("[limits]\nrules = [{ operations = [\"files.re*\"], rate = \"1/s\" }]\n", "limits"),
        ("[mcp]\nprofile = \"nobody\"\n", "mcp"),
        ("[telemetry]\naccess_log = \"served\"\n", "telemetry"),
    ];
    for (text, check) in wrong {
        let place = guarded().with("redress.toml", &format!("{GUARDED}{text}"));
        token(&place, &["ada"]);
        assert_eq!(place.run(&["serve", "redress.toml"]).code, 2, "{text}");
        let (code, checks) = looked(&place, &["redress.toml"]);
        assert_eq!((code, worst(&checks, check).as_str()), (1, "fail"), "{text}: {checks:?}");
    }
}

#[test]
fn what_was_typed_and_the_environment_are_looked_at_without_a_file() {
    let place = Place::new().with("broken.json", "{");
    let (code, checks) = looked(&place, &["--listen", "0.0.0.0:0"]);
    assert_eq!((code, worst(&checks, "access").as_str()), (1, "fail"), "{checks:?}");
    let (code, checks) = looked(&place, &["--listen", "127.0.0.1:0", "--state", "notes.md"]);
    assert_eq!((code, worst(&checks, "state").as_str()), (1, "fail"), "{checks:?}");
    let (code, checks) = looked(&place, &["--listen", "127.0.0.1:0"]);
    assert_eq!((code, worst(&checks, "state").as_str()), (0, "ok"), "{checks:?}");
    for (variable, value, check) in
        [("REDRESS_TOKENS", "broken.json", "tokens"), ("REDRESS_TLS_CERTIFICATE", "notes.md", "config")]
    {
        let mut command = place.command(&["doctor", "--json", "--listen", "127.0.0.1:0"]);
        let ran = Ran::of(command.env(variable, value));
        let checks = ran.json().as_array().unwrap().clone();
        assert_eq!((ran.code, worst(&checks, check).as_str()), (1, "fail"), "{variable}: {checks:?}");
    }
}

#[test]
fn a_state_that_is_taken_or_broken_is_told() {
    let place = Place::new().with("redress.toml", "[serve]\nlisten = \"127.0.0.1:0\"\n");
    let served = Served::start(&mut place.command(&["serve", "redress.toml", "--json"]));
    let (_, checks) = looked(&place, &["redress.toml"]);
    assert_eq!(worst(&checks, "state"), "warn", "{checks:?}");
    let (_, checks) = looked(&place, &["redress.toml", "--server", &served.url()]);
    assert_eq!(worst(&checks, "state"), "ok", "{checks:?}");
    served.stop();
    fs::write(place.path().join("state/redress.db"), "no database".repeat(100)).unwrap();
    let (code, checks) = looked(&place, &["redress.toml"]);
    assert_eq!((code, worst(&checks, "state").as_str()), (1, "fail"), "{checks:?}");
}

#[test]
fn the_password_of_a_collector_is_shown_nowhere() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let text = format!(
        "state = \"memory\"\n[serve]\nlisten = \"127.0.0.1:0\"\n[telemetry]\notlp = \"http://user:hunter2@{nobody}/hunter3\"\n"
    );
    let place = Place::new().with("redress.toml", &text);
    let told = place.run(&["doctor", "redress.toml"]).seen();
    assert!(told.contains(&format!("http://{nobody}")) && !told.contains("hunter"), "{told}");
    let served = Served::start(&mut place.command(&["serve", "redress.toml"]));
    let told = served.stop();
    assert!(told.contains(&format!("OTLP to http://{nobody}")) && !told.contains("hunter"), "{told}");
}

/// A look must not tell everybody who follows the folder that something happened.
#[test]
fn nobody_who_watches_the_folder_sees_the_doctor() {
    let place = Place::new();
    let served = Served::start(&mut place.command(&["serve", "--listen", "127.0.0.1:0", "--write", "--json"]));
    let client = reqwest::blocking::Client::builder().timeout(None).build().unwrap();
    let watch = client.post(format!("{}/subscribe", served.url())).header("content-type", "application/json");
    let stream = watch.body(r#"{"operation":"files.watch","input":{"path":""}}"#).send().unwrap();
    let (_, checks) = looked(&place, &["--write", "--listen", "127.0.0.1:0"]);
    assert_eq!(worst(&checks, "folder"), "ok", "{checks:?}");
    fs::write(place.path().join("after.md"), "x").unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let first = lines.find(|line| line.contains("path\"")).unwrap();
    assert!(first.contains("after.md"), "{first}");
    served.stop();
}

#[test]
fn what_is_said_to_be_done_helps() {
    let place = guarded();
    let (_, checks) = looked(&place, &["redress.toml", "--listen", "127.0.0.1:0"]);
    assert_eq!(worst(&checks, "tokens"), "warn", "nobody has a token");
    token(&place, &["ada"]);
    mode(&place.path().join("tokens.json"), 0o640);
    let (_, checks) = looked(&place, &["redress.toml", "--listen", "127.0.0.1:0"]);
    let next = checks.iter().find(|check| check["check"] == "tokens" && check["status"] == "warn").unwrap();
    let line = next["next"].as_str().unwrap();
    assert!(std::process::Command::new("sh").args(["-c", line]).current_dir(place.path()).status().unwrap().success());
    let (_, checks) = looked(&place, &["redress.toml", "--listen", "127.0.0.1:0"]);
    assert_eq!(worst(&checks, "tokens"), "ok", "{checks:?}");
}

#[test]
fn a_running_server_is_looked_at() {
    let place = Place::new();
    let served = Served::start(&mut place.command(&["serve", "--listen", "127.0.0.1:0", "--json"]));
    let (code, checks) = looked(&place, &["--server", &served.url()]);
    assert_eq!(code, 0, "{checks:?}");
    for check in ["server", "ready", "documents", "clock"] {
        assert_eq!(worst(&checks, check), "ok", "{checks:?}");
    }
    // As a container does to look at its own health.
    let mut command = place.command(&["doctor", "--server", &served.url()]);
    let ran = Ran::of(command.env("REDRESS_LISTEN", "0.0.0.0:7717"));
    assert_eq!(ran.code, 0, "{}", ran.seen());
    let url = served.url();
    served.stop();
    let (code, checks) = looked(&place, &["--server", &url]);
    assert_eq!((code, worst(&checks, "server").as_str()), (1, "fail"), "{checks:?}");
    assert_eq!(place.run(&["doctor", "--json", "--server", "nowhere"]).code, 2);
}

#[test]
fn a_server_whose_documents_are_garbage_is_not_believed() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answering = std::thread::spawn(move || {
        // Its health, whether it is ready, and four documents.
        for (number, stream) in listener.incoming().take(6).enumerate() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while lines.next().is_some_and(|line| !line.unwrap().is_empty()) {}
            let body = ["{\"openapi\":", "[]", "{\"codes\": []}", "<html>it works</html>"][number % 4];
            let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
            std::io::Write::write_all(&mut stream, format!("{head}{body}").as_bytes()).unwrap();
        }
    });
    let (code, checks) = looked(&Place::new(), &["--server", &url]);
    answering.join().unwrap();
    let documents: Vec<_> = checks.iter().filter(|found| found["check"] == "documents").collect();
    assert_eq!((code, documents.len()), (1, 4), "{checks:?}");
    assert!(documents.iter().all(|found| found["status"] == "fail"), "{checks:?}");
}
