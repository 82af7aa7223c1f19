//! What a refusal says of the limit that was reached is what `docs/limits.md` says.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::Value;

use crate::{process::Place, serve::Served};

const PAGE: &str = include_str!("../../../../docs/limits.md");

/// The details that the page gives for a limit.
fn documented(limit: &str) -> Vec<Value> {
    let quoted = format!("`{limit}`");
    let row = PAGE.lines().find(|line| line.split('|').nth(1).is_some_and(|cell| cell.contains(&quoted)));
    let cell = row.and_then(|row| row.split('|').nth(4)).unwrap_or_else(|| panic!("`{limit}` is on the page"));
    let objects = cell.split('`').filter(|part| part.starts_with('{'));
    objects.map(|object| serde_json::from_str(&object.replace('…', "0")).unwrap()).collect()
}

/// The details without their numbers, which are those of the configuration.
fn shape(details: &Value) -> Vec<(String, Option<String>)> {
    let of = |(name, value): (&String, &Value)| (name.clone(), value.as_str().map(str::to_owned));
    details.as_object().map(|details| details.iter().map(of).collect()).unwrap_or_default()
}

#[track_caller]
fn assert_documented(limit: &str, refused: &str) {
    let body = refused.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
    let problem: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{limit}: {refused}"));
    let told: Vec<_> = documented(limit).iter().map(shape).collect();
    assert!(told.contains(&shape(&problem["details"])), "{limit}: the page has {told:?}, and this came: {problem}");
    let waits = [429, 503].iter().any(|status| problem["http"] == *status);
    assert_eq!(problem["retry_after_ms"].is_u64(), waits, "{limit}: {problem}");
}

fn serve(place: &Place) -> (Served, SocketAddr) {
    let served = Served::start(&mut place.command(&["serve", "redress.toml", "--listen", "127.0.0.1:0", "--json"]));
    let address = served.url().strip_prefix("http://").unwrap().parse().unwrap();
    (served, address)
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

fn send(stream: &mut TcpStream, path: &str, body: &str) {
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
}

/// Everything that comes until the other side hangs up.
fn rest(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8(answer).unwrap()
}

fn post(address: SocketAddr, path: &str, body: &str) -> String {
    let mut stream = connect(address);
    send(&mut stream, path, body);
    rest(stream)
}

/// The beginning of an answer that goes on.
fn begun(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

#[test]
fn what_a_refusal_says_of_its_limit_is_what_the_page_says() {
    let place = Place::new().with(
        "redress.toml",
        "[limits]\njson_depth = 4\njson_members = 8\nmax_output = \"1KiB\"\nstreams = 1\nsockets = 1\n\
         rules = [{ operations = [\"files.stat\"], rate = \"1/h\" }]\n",
    );
    std::fs::write(place.path().join("long.txt"), "x".repeat(4096)).unwrap();
    let (_served, address) = serve(&place);
    let stat = r#"{"path":"notes.md"}"#;
    assert!(post(address, "/ops/files/stat", stat).starts_with("HTTP/1.1 200"));
    assert_documented("rate", &post(address, "/ops/files/stat", stat));
    assert_documented("json_depth", &post(address, "/ops/files/list", r#"{"path":[[[[[[1]]]]]]}"#));
    assert_documented("json_members", &post(address, "/ops/files/list", r#"{"path":[1,2,3,4,5,6,7,8,9,10]}"#));
    assert_documented("max_output", &post(address, "/ops/files/read", r#"{"path":"long.txt"}"#));
    let mut watching = connect(address);
    send(&mut watching, "/ops/files/watch", "{}");
    assert!(begun(&mut watching).starts_with("HTTP/1.1 200"));
    assert_documented("streams", &post(address, "/ops/files/watch", "{}"));
    let upgrade = b"GET /ws HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
                    sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    let (mut first, mut second) = (connect(address), connect(address));
    first.write_all(upgrade).unwrap();
    assert!(begun(&mut first).starts_with("HTTP/1.1 101"));
    second.write_all(upgrade).unwrap();
    let head = begun(&mut second);
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
    let mut body = vec![0; length];
    second.read_exact(&mut body).unwrap();
    assert_documented("sockets", &(head + std::str::from_utf8(&body).unwrap()));
}

#[test]
fn what_a_refused_connection_says_is_what_the_page_says() {
    let place = Place::new().with("redress.toml", "[limits]\nper_address = 1\n");
    let (_served, address) = serve(&place);
    let mut first = connect(address);
    first.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    assert!(begun(&mut first).starts_with("HTTP/1.1 200"));
    assert_documented("per_address", &rest(connect(address)));
}
