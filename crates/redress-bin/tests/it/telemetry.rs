//! What the command tells of calls, and to whom.

use std::{
    io::{BufRead as _, BufReader},
    net::TcpListener,
};

use crate::{process::Place, serve::Served, token::guarded, token::token};

#[test]
fn a_collector_gets_the_headers_of_the_file_and_nobody_else_sees_them() {
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    let text = format!(
        "state = \"memory\"\n[serve]\nlisten = \"127.0.0.1:0\"\n[telemetry]\notlp = \"http://{}\"\nheaders_file = \"headers\"\n",
        collector.local_addr().unwrap()
    );
    let place = Place::new().with("redress.toml", &text).with("headers", "# for the collector\n\nX-Key: hunter2\n");
    let served = Served::start(&mut place.command(&["serve", "redress.toml", "--json"]));
    let answered = reqwest::blocking::get(format!("{}/ops", served.url())).unwrap();
    assert_eq!(answered.status(), 200);
    // It is told to stop, and sends what is left.
    served.signal(rustix::process::Signal::TERM);
    let (stream, _) = collector.accept().unwrap();
    let head: Vec<String> =
        BufReader::new(&stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
    assert!(head[0].starts_with("POST /v1/") && head.iter().any(|line| line == "x-key: hunter2"), "{head:?}");
    drop((stream, collector));
    let written = served.stop();
    assert!(!written.contains("hunter2"), "{written}");

    let place = place.with("headers", "X-Key: fine\nhunter2\n");
    for words in [["serve", "redress.toml"], ["doctor", "redress.toml"]] {
        let told = place.run(&words).seen();
        assert!(told.contains("headers, line 2: expected the name of a header"), "{told}");
        assert!(!told.contains("hunter2"), "{told}");
    }
}

#[test]
fn alerts_are_made_from_a_configuration_and_from_a_server() {
    let place = guarded();
    let config = std::fs::read_to_string(place.path().join("redress.toml"))
        .unwrap()
        .replace("[serve]\n", "[serve]\nwrite = true\n");
    let place = place.with("redress.toml", &config);
    let (ada, _) = token(&place, &["ada", "--scope", "files:read"]);
    let alerts = |words: &[&str]| place.run(&[&["gen", "alerts"], words].concat());
    let (own, written) = (alerts(&[]), alerts(&["redress.toml"]));
    assert_eq!((own.code, written.code), (0, 0), "{}", written.seen());
    let served = Served::start(&mut place.command(&["serve", "redress.toml", "--json"]));
    let there = alerts(&["--from", &served.url(), "--token", &ada]);
    assert!(there.code == 0 && there.out.contains("RedressUndeclaredFault"), "{}", there.seen());
    assert_eq!(alerts(&["--from", &served.url()]).code, 0, "what nobody may see is left out");
    served.stop();
    assert_eq!(alerts(&["--from", "http://127.0.0.1:1"]).code, 2);
    assert_eq!(alerts(&["redress.toml", "--from", "http://127.0.0.1:1"]).code, 2, "one or the other");
}
