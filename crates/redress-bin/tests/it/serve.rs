//! `serve`: its first screen, its answers, its end.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    net::TcpListener,
    process::{Child, ChildStderr, ChildStdout, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::process::Place;

/// A server that has said where it listens.
pub(crate) struct Served {
    child: Child,
    first: String,
    rest: BufReader<ChildStdout>,
}

/// What a server logs.
pub(crate) struct Log(BufReader<ChildStderr>);

impl Log {
    /// The next line that has `text` in it; those before it are skipped.
    #[track_caller]
    pub(crate) fn line_with(&mut self, text: &str) -> String {
        let mut seen = String::new();
        loop {
            let mut line = String::new();
            assert_ne!(self.0.read_line(&mut line).unwrap(), 0, "no line has `{text}`:\n{seen}");
            if line.contains(text) {
                return line;
            }
            seen.push_str(&line);
        }
    }
}

impl Served {
    pub(crate) fn start(command: &mut Command) -> Served {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut rest = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        rest.read_line(&mut first).unwrap();
        if first.is_empty() {
            let mut err = String::new();
            child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
            panic!("the server did not start: {err}");
        }
        Served { child, first, rest }
    }

    /// The first screen, for programs.
    pub(crate) fn screen(&self) -> Value {
        serde_json::from_str(&self.first).unwrap()
    }

    pub(crate) fn url(&self) -> String {
        self.screen()["url"].as_str().unwrap().to_owned()
    }

    /// What the system knows the process by.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The most memory that it has had, in KiB.
    pub(crate) fn peak_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// Sends it a signal and lets it go on.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// The lines of its log, as they come.
    pub(crate) fn log(&mut self) -> Log {
        Log(BufReader::new(self.child.stderr.take().unwrap()))
    }

    /// Tells it to stop, and gives all that it still wrote.
    pub(crate) fn stop(self) -> String {
        self.end(Signal::TERM)
    }

    /// Waits for one that was told to stop.
    pub(crate) fn ends_well(mut self) {
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }

    fn end(mut self, signal: Signal) -> String {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        let status = self.child.wait().unwrap();
        let mut written = String::new();
        self.rest.read_to_string(&mut written).unwrap();
        if let Some(mut log) = self.child.stderr.take() {
            log.read_to_string(&mut written).unwrap();
        }
        assert_eq!(status.code(), Some(0), "{written}");
        written
    }
}

/// A test that fails leaves no server behind, and tells whether that had ended by itself and what it logged.
impl Drop for Served {
    #[expect(clippy::print_stderr, reason = "it is shown with the test that failed")]
    fn drop(&mut self) {
        let ended = self.child.try_wait();
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let mut log = Vec::new();
            let read = self.child.stderr.take().map(|mut stderr| stderr.read_to_end(&mut log));
            eprintln!("the server: {ended:?}; its log ({read:?}):\n{}", String::from_utf8_lossy(&log));
        }
    }
}

fn serve(place: &Place) -> Served {
    Served::start(&mut place.command(&["serve", "--listen", "127.0.0.1:0", "--json"]))
}

#[test]
fn the_first_screen_says_where_each_face_is() {
    let place = Place::new();
    let mut served = Served::start(&mut place.command(&["serve", "--listen", "127.0.0.1:0", "--log-level", "off"]));
    let mut screen = served.first.clone();
    while !screen.contains("Ctrl-C") {
        assert_ne!(served.rest.read_line(&mut screen).unwrap(), 0, "{screen}");
    }
    served.stop();
    let port = screen.split("http://127.0.0.1:").nth(1).unwrap().split(|c: char| !c.is_ascii_digit()).next().unwrap();
    insta::assert_snapshot!(screen.replace(port, "PORT"));
}

#[test]
fn every_face_on_the_first_screen_answers() {
    let place = Place::new();
    let served = serve(&place);
    let screen = served.screen();
    let client = reqwest::blocking::Client::new();
    for (name, url) in screen["faces"].as_object().unwrap() {
        let url = url.as_str().unwrap().replace("{namespace}/{name}", "files/list");
        let status = match name.as_str() {
            "operations" => client.post(url).body("{}").header("content-type", "application/json").send(),
            "call" => {
                client.post(url).body(r#"{"operation":"files.list"}"#).header("content-type", "application/json").send()
            }
            "subscribe" => client
                .post(url)
                .body(r#"{"operation":"files.watch","input":{"path":""}}"#)
                .header("content-type", "application/json")
                .send(),
            "rpc" => client
                .post(url)
                .body(r#"{"jsonrpc":"2.0","id":1,"method":"files.list"}"#)
                .header("content-type", "application/json")
                .send(),
            "mcp" => client
                .post(url)
                .body(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
                .header("content-type", "application/json")
                .send(),
            // Without an upgrade there is no socket, but the path is known.
            "ws" => {
                let answered = client.get(url.replace("ws://", "http://")).send().unwrap();
                assert_ne!(answered.status(), 404, "{name}");
                continue;
            }
            _ => client.get(url).send(),
        };
        let status = status.unwrap().status();
        assert!(status.is_success(), "{name} answered {status}");
    }
    served.stop();
}

#[test]
fn a_call_at_a_server_is_answered_as_in_process() {
    let place = Place::new();
    let served = serve(&place);
    for input in [r#"{"path":"notes.md"}"#, r#"{"path":"note.md"}"#, r#"{"pth":"notes.md"}"#] {
        let masked = |more: &[&str]| {
            let ran = place.run(&[&["call", "files.read", input, "--json"], more].concat());
            let mut json = ran.json();
            json["_meta"] = json!(null);
            (json, ran.code)
        };
        assert_eq!(masked(&[]), masked(&["--server", &served.url()]), "{input}");
    }
    assert_eq!(place.run(&["ops", "--json"]).out, place.run(&["ops", "--json", "--server", &served.url()]).out);
    served.stop();
}

#[test]
fn streams_take_no_place_from_the_calls() {
    let place = Place::new().with("notes.md", "one");
    let words = ["serve", "--listen", "127.0.0.1:0", "--max-in-flight", "1", "--json"];
    let served = Served::start(&mut place.command(&words));
    let (url, client) = (served.url(), reqwest::blocking::Client::builder().timeout(None).build().unwrap());
    let post = |path: &str, body: &'static str| {
        client.post(format!("{url}{path}")).header("content-type", "application/json").body(body).send().unwrap()
    };
    let watch = || post("/subscribe", r#"{"operation":"files.watch","input":{"path":""}}"#);
    let streams = [watch(), watch()];
    assert!(streams.iter().all(|stream| stream.status() == 200));
    assert_eq!(post("/ops/files/list", "{}").status(), 200);
    drop(streams);
    served.stop();
}

#[test]
fn a_server_stops_well_on_both_signals_and_says_so() {
    let place = Place::new();
    for signal in [Signal::TERM, Signal::INT] {
        let written = serve(&place).end(signal);
        assert!(written.contains("stopping") && written.contains("stopped"), "{written}");
    }
}

#[test]
fn an_address_that_others_can_reach_is_refused_without_access() {
    insta::assert_snapshot!(Place::new().run(&["serve", "--listen", "0.0.0.0:0"]).seen());
    for address in ["[::]:0", "192.0.2.1:7717"] {
        let refused = Place::new().run(&["serve", "--listen", address, "--json"]);
        assert_eq!((refused.code, refused.json()["code"].as_str()), (2, Some("NOT_LOOPBACK_WITHOUT_ACCESS")));
    }
}

#[test]
fn a_port_in_use_and_an_address_of_nobody_are_told_with_what_to_do() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let refused = place.run(&["serve", "--listen", &address]);
    insta::assert_snapshot!(refused.seen().replace(&address, "127.0.0.1:1"));
    let nobody = place.run(&["serve", "--listen", "7717", "--json"]);
    assert_eq!((nobody.code, nobody.json()["code"].as_str()), (2, Some("ADDRESS_UNUSABLE")));
}

#[test]
fn a_unix_socket_is_served_to_its_own_user_and_gone_at_the_end() {
    use std::{
        io::Write as _,
        os::unix::{fs::PermissionsExt as _, net::UnixStream},
    };
    let place = Place::new().with("redress.toml", "[serve]\nlisten = \"unix:redress.sock\"\n");
    let served = Served::start(&mut place.command(&["serve", "redress.toml", "--json"]));
    let socket = place.path().join("redress.sock");
    assert_eq!(served.screen()["listens"], json!(["unix:redress.sock"]));
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.write_all(b"GET /ops HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("files.read"), "{answer}");
    let second = place.run(&["serve", "redress.toml", "--state", "memory", "--json"]);
    assert_eq!((second.code, &second.json()["code"]), (2, &json!("PORT_IN_USE")), "{}", second.seen());
    served.stop();
    assert!(!socket.exists());
}

#[test]
fn the_log_is_on_the_error_stream_in_the_wanted_format() {
    let place = Place::new();
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0", "--json", "--log-format", "json"]);
    let written = Served::start(&mut command).stop();
    let lines: Vec<Value> = written.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line["message"] == "stopped"), "{written}");
}

#[test]
fn a_server_that_is_no_redress_server_is_told_apart() {
    let place = Place::new();
    let served = serve(&place);
    let refused = place.run(&["ops", "--json", "--server", &format!("{}/nowhere", served.url())]);
    assert_eq!((refused.code, refused.json()["code"].as_str()), (2, Some("SERVER_ANSWER_UNREADABLE")));
    served.stop();
}
