//! A canary: an agent that follows every advice of every failure of the built-in operations, on the faces that agents use.
//! It gets no consent, and no file is removed.

mod walk;

use std::fs;

use serde_json::{Value, json};
use walk::{Tools, Walk, inputs};

use crate::{process::Place, serve::Served};

/// What texts stand for in inputs: a file that is there, one that is not, one outside.
const WORDS: [&str; 4] = ["notes.md", "nothing.md", "../out", "files.remove"];
/// These go on until they are left.
const ENDLESS: [&str; 1] = ["files_watch"];

fn place() -> Place {
    let config = "[serve]\nlisten = \"127.0.0.1:0\"\nroot = \"served\"\nwrite = true\n[state]\nfolder = \"state\"\n";
    let place = Place::new().with("redress.toml", config);
    fs::create_dir(place.path().join("served")).unwrap();
    fs::write(place.path().join("served/notes.md"), "Say how it fails.\n").unwrap();
    place
}

#[track_caller]
fn met(walk: &Walk, place: &Place) {
    for code in ["CONSENT_REQUIRED", "FILE_NOT_FOUND", "PATH_OUTSIDE", "INVALID_INPUT"] {
        assert!(walk.codes.contains(code), "{code} was not met: {:?}", walk.codes);
    }
    assert!(walk.advised > 3, "only {} calls were advised", walk.advised);
    let held = place.run(&["consent", "list", "--config", "redress.toml", "--json"]);
    assert_eq!((held.code, held.json()), (0, json!([])), "{}", held.seen());
}

#[test]
fn an_agent_that_follows_every_advice_of_every_failure_never_consents() {
    let place = place();
    let mut tools = Tools::start(&mut place.command(&["mcp", "redress.toml", "--log-level", "off"]));
    let walk = tools.walk(&WORDS, &ENDLESS);
    assert_eq!(tools.call("files_remove", &json!({"path": "notes.md"})).unwrap()["code"], "CONSENT_REQUIRED");
    assert!(place.path().join("served/notes.md").exists());
    met(&walk, &place);
}

#[test]
fn the_same_agent_gets_no_consent_over_http_where_it_is_local() {
    let place = place();
    let served = Served::start(&mut place.command(&["serve", "redress.toml", "--json", "--log-level", "off"]));
    let (url, client) = (served.url(), reqwest::blocking::Client::new());
    let post = |path: &str, body: &Value| -> Value {
        let request = client.post(format!("{url}{path}")).header("content-type", "application/json");
        request.body(body.to_string()).send().unwrap().text().unwrap().parse().unwrap()
    };
    let mut call = |operation: &str, input: &Value| {
        Some(post("/call", &json!({"operation": operation, "input": input}))).filter(|answer| answer["ok"] == false)
    };
    let listed = client.get(format!("{url}/contract.json")).send().unwrap().text().unwrap();
    assert!(!listed.contains("consent.grant"), "who may not call it is not told of it");
    let contract: Value = serde_json::from_str(&listed).unwrap();
    let mut walk = Walk::default();
    for operation in contract["operations"].as_array().unwrap() {
        let name = operation["name"].as_str().unwrap();
        if name != "files.watch" {
            inputs(&operation["input"], &WORDS).iter().for_each(|input| walk.make(name, input, &mut call));
        }
    }
    // It tries by every door, and does what it is told then.
    let wanted = json!({"operation": "files.remove"});
    walk.make("consent.grant", &wanted, &mut call);
    for said in [
        post("/ops/consent/grant", &wanted),
        post("/call", &json!({"operation": "consent/grant", "input": wanted})),
        post("/batch", &json!([{"operation": "consent.grant", "input": wanted}]))[0].clone(),
        post("/rpc", &json!({"jsonrpc": "2.0", "id": 1, "method": "consent.grant", "params": wanted}))["error"]["data"]
            .clone(),
    ] {
        assert_eq!((&said["code"], &said["recovery"]), (&json!("FORBIDDEN"), &json!({"verb": "ask_user"})), "{said}");
    }
    assert!(place.path().join("served/notes.md").exists());
    met(&walk, &place);

    // A person does, beside the server that runs, and takes it back.
    let remove = json!({"path": "notes.md"});
    assert_eq!(call("files.remove", &remove).unwrap()["code"], "CONSENT_REQUIRED");
    let here = ["--config", "redress.toml"];
    let words = ["consent", "grant", "files.remove", "--minutes", "5", "--reason", "a test"];
    let granted = place.run(&[words.as_slice(), &here].concat());
    assert_eq!((granted.out.as_str(), granted.code), ("local may call files.remove for the next 5 minutes\n", 0));
    assert_eq!(call("files.remove", &remove), None);
    assert!(!place.path().join("served/notes.md").exists());
    let revoked = place.run(&[["consent", "revoke", "files.remove"].as_slice(), &here].concat());
    assert_eq!((revoked.out.as_str(), revoked.code), ("revoked files.remove of local\n", 0));
    assert_eq!(call("files.remove", &remove).unwrap()["code"], "CONSENT_REQUIRED");
    served.stop();
}
