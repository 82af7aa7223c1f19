//! An issuer's keys at a URL, and a server that fetches them.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    thread,
    time::Duration,
};

use rustix::process::Signal;

use crate::{process::Place, serve::Served};

/// One request to `issuer`, answered with a set of keys that says no more than that it is one.
fn asked(issuer: &TcpListener) -> String {
    let (mut stream, _) = issuer.accept().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let head = head(&mut stream);
    let body = r#"{"keys":[]}"#;
    let length = body.len();
    write!(stream, "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
    head
}

fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        assert_ne!(stream.read(&mut byte).unwrap(), 0, "the request broke off");
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

#[test]
fn a_hang_up_has_keys_of_this_machine_fetched_from_this_machine_and_shows_no_secret_of_their_url() {
    let issuer = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = issuer.local_addr().unwrap();
    // Nobody listens there: what goes by this proxy gets nowhere.
    let proxy = format!("http://{}", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
    let text = format!(
        "state = \"memory\"\n[serve]\nlisten = \"127.0.0.1:0\"\nroot = \"served\"\n\
         [access.jwt]\njwks_url = \"http://us:word@{address}/keys?key=word\"\n"
    );
    let place = Place::new().with("redress.toml", &text);
    std::fs::create_dir(place.path().join("served")).unwrap();
    let mut command = place.command(&["serve", "redress.toml", "--json"]);
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        command.env(name, &proxy);
    }
    let mut served = Served::start(&mut command);
    let mut log = served.log();
    for _ in 0..2 {
        let issuer = issuer.try_clone().unwrap();
        let fetched = thread::spawn(move || asked(&issuer));
        served.signal(Signal::HUP);
        let line = log.line_with("the keys that were fetched last stay in use");
        let said = format!("`http://{address}/keys` holds no key that can verify a token");
        assert!(line.contains(&said) && !line.contains("word"), "{line}");
        assert!(fetched.join().unwrap().starts_with("GET /keys?key=word HTTP/1.1"));
    }
    served.stop();
}
