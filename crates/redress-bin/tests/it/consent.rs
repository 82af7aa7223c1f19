//! `redress consent`: in a state folder, and at a server.

use serde_json::json;

use crate::{process::Place, serve::Served};

const CONFIG: &str = "[serve]\nlisten = \"127.0.0.1:0\"\nroot = \"served\"\nwrite = true\n";

fn place(more: &str) -> Place {
    let place = Place::new().with("redress.toml", &format!("{CONFIG}{more}"));
    std::fs::create_dir(place.path().join("served")).unwrap();
    place
}

#[test]
fn consents_are_given_seen_and_taken_back_in_a_folder_that_nobody_uses() {
    let place = place("");
    Served::start(&mut place.command(&["serve", "redress.toml", "--json", "--log-level", "off"])).stop();
    let granted = place.run(&["consent", "grant", "files/remove", "--reason", "tidying", "--json"]);
    assert_eq!(granted.json(), json!({"caller": "local", "operation": "files.remove", "minutes": 60}));
    assert_eq!(place.run(&["consent", "grant", "files.*", "--caller", "ada", "--minutes", "1"]).code, 0);
    let listed = place.run(&["consent", "list", "--json"]).json();
    let told = |place: usize| [&listed[place]["caller"], &listed[place]["operation"], &listed[place]["reason"]];
    assert_eq!(told(0), [&json!("ada"), &json!("files.*"), &json!("")], "{listed}");
    assert_eq!(told(1), [&json!("local"), &json!("files.remove"), &json!("tidying")], "{listed}");
    assert!(listed[0]["until"].as_str().unwrap().ends_with('Z'), "{listed}");
    let shown = place.run(&["consent", "list", "--caller", "ada"]);
    assert!(shown.out.starts_with("ada  files.*  until 2") && shown.out.lines().count() == 1, "{}", shown.out);
    let revoked = place.run(&["consent", "revoke", "files.remove", "--json"]);
    assert_eq!(revoked.json(), json!({"caller": "local", "operation": "files.remove"}));
    let again = place.run(&["consent", "revoke", "files.remove"]);
    assert_eq!(again.code, 2);
    assert!(
        again.err.starts_with("CONSENT_UNKNOWN  there is no consent to `files.remove` for `local`"),
        "{}",
        again.err
    );
    assert!(again.err.contains("next:     redress consent list"), "{}", again.err);
}

#[test]
fn what_cannot_be_consented_to_or_where_is_told() {
    let place = place("");
    for (words, code, says) in [
        (["grant", "files.remov"].as_slice(), "CONSENT_NOT_ASKED", "files.remove"),
        (&["grant", "files.read"], "CONSENT_NOT_ASKED", "nothing called `files.read` asks for consent"),
        (&["grant", "services.*"], "CONSENT_NOT_ASKED", "services.*"),
        (&["grant", "no name"], "CONSENT_NOT_ASKED", "no name"),
        (&["grant", "files.remove", "--minutes", "1441"], "USAGE", "1441"),
        (&["grant", "files.remove", "--server", "http://127.0.0.1:1", "--state", "x"], "USAGE", "both named"),
        (&["revoke", "?"], "CONSENT_UNKNOWN", "`?`"),
    ] {
        let ran = place.run(&[&["consent"], words, &["--json"]].concat());
        assert_eq!((ran.code, &ran.json()["code"]), (2, &json!(code)), "{words:?} {}", ran.seen());
        assert!(ran.out.contains(says), "{words:?} {}", ran.out);
        assert!(ran.json()["hint"].as_str().unwrap().split(' ').count() > 4 && ran.json()["next"][0].is_string());
    }
    // A folder in which no service has made a state is none that one reads.
    for words in [["grant", "files.remove", "--state", "sttae"], ["revoke", "files.remove", "--state", "sttae"]] {
        let ran = place.run(&[&["consent"], words.as_slice(), &["--json"]].concat());
        assert_eq!((ran.code, &ran.json()["code"]), (2, &json!("CONSENT_UNREACHABLE")), "{}", ran.seen());
        assert!(ran.out.contains("there is no state in `sttae`"), "{}", ran.out);
        assert!(ran.json()["hint"].as_str().unwrap().contains("state folder"), "{}", ran.out);
        assert_eq!(ran.json()["next"][0], "redress explain CONSENT_UNREACHABLE");
        assert!(!place.path().join("sttae").exists());
    }
    assert!(!place.path().join("state").exists(), "nor is the configured one made");
    let nowhere = Place::new().run(&["consent", "grant", "files.remove"]);
    assert!(nowhere.err.starts_with("CONSENT_UNREACHABLE"), "{}", nowhere.err);
    let memory = Place::new().with("redress.toml", "state = \"memory\"\n").run(&["consent", "list"]);
    assert!(
        memory.err.starts_with("CONSENT_UNREACHABLE  the configuration keeps the state in memory"),
        "{}",
        memory.err
    );
    let told_apart = self::place("[access]\ntokens = \"tokens.json\"\n").run(&["consent", "grant", "files.remove"]);
    assert!(told_apart.err.starts_with("USAGE  callers are told apart here"), "{}", told_apart.err);
}

#[test]
fn at_a_server_it_takes_a_token_of_a_person() {
    let place = place("[access]\ntokens = \"tokens.json\"\n");
    let token = |caller: &str, scopes: &[&str]| {
        let mut words = vec!["token", "new", caller];
        words.extend(scopes.iter().flat_map(|scope| ["--scope", scope]));
        let made = place.run(&words);
        assert_eq!(made.code, 0, "{}", made.err);
        let warned = made.err.contains("consents as a person does");
        assert_eq!(warned, scopes.contains(&"consent:grant"), "{}", made.err);
        made.out.trim().to_owned()
    };
    let agent = token("ada", &["files:read", "files:write"]);
    let (ada, admin) = (token("ada", &["consent:grant"]), token("root", &["consent:grant", "consent:admin"]));
    let served = Served::start(&mut place.command(&["serve", "redress.toml", "--json", "--log-level", "off"]));
    let url = served.url();
    let run = |token: &str, words: &[&str]| {
        let mut command = place.command(&[words, &["--server", &url, "--json"]].concat());
        crate::process::Ran::of(command.env("REDRESS_TOKEN", token))
    };
    std::fs::write(place.path().join("served/a"), "a").unwrap();
    let remove = ["call", "files.remove", r#"{"path":"a"}"#];
    assert_eq!(run(&agent, &remove).json()["code"], "CONSENT_REQUIRED");
    let forbidden = run(&agent, &["consent", "grant", "files.remove"]);
    assert_eq!((forbidden.code, &forbidden.json()["code"]), (1, &json!("FORBIDDEN")));
    assert_eq!(run(&ada, &["consent", "grant", "files.remov"]).json()["code"], "OPERATION_UNKNOWN");
    let other = ["consent", "grant", "files.remove", "--caller", "bob"];
    assert_eq!(run(&ada, &other).json()["code"], "CONSENT_NOT_YOURS");
    assert_eq!(run(&admin, &other).json()["caller"], "bob");
    assert_eq!(
        run(&ada, &["consent", "grant", "files.remove", "--minutes", "5"]).json(),
        json!({"caller": "ada", "operation": "files.remove", "minutes": 5})
    );
    assert_eq!(run(&ada, &["consent", "list"]).json()[0]["operation"], "files.remove");
    assert_eq!(run(&admin, &["consent", "list", "--everyone"]).json().as_array().map(Vec::len), Some(2));
    assert_eq!(run(&agent, &remove).json()["ok"], true);
    assert_eq!(run(&ada, &["consent", "revoke", "files.remove"]).json()["operation"], "files.remove");
    assert_eq!(run(&agent, &remove).json()["code"], "CONSENT_REQUIRED");
    // In the folder of this very server it needs no token, but the caller's name.
    let folder = place.run(&["consent", "grant", "files.remove", "--caller", "ada", "--json"]);
    assert_eq!(folder.json()["caller"], "ada", "{}", folder.seen());
    assert_ne!(run(&agent, &remove).json()["code"], "CONSENT_REQUIRED");
    served.stop();
}

#[test]
fn a_folder_in_which_an_agent_could_write_itself_a_token_is_not_served() {
    let place = Place::new().with("redress.toml", "[serve]\nlisten = \"127.0.0.1:0\"\n");
    for words in [["serve", "redress.toml", "--write", "--json"].as_slice(), &["mcp", "redress.toml", "--write"]] {
        let refused = place.run(words);
        assert_eq!(refused.code, 2, "{}", refused.seen());
        assert!(refused.seen().contains("redress.toml, which callers must not change"), "{}", refused.seen());
    }
    Served::start(&mut place.command(&["serve", "redress.toml", "--json", "--log-level", "off"])).stop();
    // Its own folder is refused too, wherever the configuration is.
    std::fs::create_dir(place.path().join("served")).unwrap();
    let words = ["serve", "redress.toml", "--write", "--root", "served", "--state", "served/state", "--json"];
    assert!(place.run(&words).out.contains("must not change"));
}

#[test]
fn each_part_of_the_command_has_its_help() {
    for words in [["consent", "--help"].as_slice(), &["consent", "grant", "--help"], &["consent", "revoke", "--help"]] {
        insta::assert_snapshot!(words.join("_").replace("_--help", ""), Place::new().run(words).out);
    }
}
