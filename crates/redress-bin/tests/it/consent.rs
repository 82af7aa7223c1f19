//! `redress consent`: in a state folder, and at a server.

use serde_json::json;

use crate::{process::Place, serve::Served};

const CONFIG: &str = "[serve]\nlisten = \"127.0.0.1:0\"\nroot = \"served\"\nwrite = true\n";

/// The configuration of this folder, which is taken up only where it is named.
const HERE: [&str; 2] = ["--config", "redress.toml"];

fn place(more: &str) -> Place {
    let place = Place::new().with("redress.toml", &format!("{CONFIG}{more}"));
    std::fs::create_dir(place.path().join("served")).unwrap();
    place
}

#[test]
fn consents_are_given_seen_and_taken_back_in_a_folder_that_nobody_uses() {
    let place = place("");
    Served::start(&mut place.command(&["serve", "redress.toml", "--json", "--log-level", "off"])).stop();
    let run = |words: &[&str]| place.run(&[&["consent"], words, &HERE].concat());
    assert_eq!(run(&["list"]).seen(), "no consent holds\nexit 0");
    let state = place.path().canonicalize().unwrap().join("state").display().to_string();
    let granted = run(&["grant", "files/remove", "--reason", "tidying", "--json"]);
    let told = json!({"caller": "local", "operation": "files.remove", "minutes": 60, "state": state});
    assert_eq!(granted.json(), told);
    let granted = run(&["grant", "files.*", "--caller", "ada", "--minutes", "1"]);
    assert!(granted.code == 0 && granted.err.starts_with(&format!("in {state}, as ")), "{}", granted.seen());
    let listed = run(&["list", "--json"]).json();
    let told = |place: usize| [&listed[place]["caller"], &listed[place]["operation"], &listed[place]["reason"]];
    assert_eq!(told(0), [&json!("ada"), &json!("files.*"), &json!("")], "{listed}");
    assert_eq!(told(1), [&json!("local"), &json!("files.remove"), &json!("tidying")], "{listed}");
    assert!(listed[0]["until"].as_str().unwrap().ends_with('Z'), "{listed}");
    let shown = run(&["list", "--caller", "ada"]);
    assert!(shown.out.starts_with("ada  files.*  until 2") && shown.out.lines().count() == 1, "{}", shown.out);
    let revoked = run(&["revoke", "files.remove", "--json"]);
    assert_eq!(revoked.json(), json!({"caller": "local", "operation": "files.remove", "state": state}));
    let again = run(&["revoke", "files.remove"]);
    assert_eq!(again.code, 2);
    assert!(
        again.err.starts_with("CONSENT_UNKNOWN  there is no consent to `files.remove` for `local`"),
        "{}",
        again.err
    );
    assert!(again.err.contains("next:     redress consent list --config redress.toml"), "{}", again.err);
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
        let here = if words.contains(&"--server") { &[] } else { HERE.as_slice() };
        let ran = place.run(&[&["consent"], words, here, &["--json"]].concat());
        assert_eq!((ran.code, &ran.json()["code"]), (2, &json!(code)), "{words:?} {}", ran.seen());
        assert!(ran.out.contains(says), "{words:?} {}", ran.out);
        assert!(ran.json()["hint"].as_str().unwrap().split(' ').count() > 4 && ran.json()["next"][0].is_string());
    }
    // A folder in which no service has made a state is none that one reads.
    for words in [["grant", "files.remove", "--state", "sttae"], ["revoke", "files.remove", "--state", "sttae"]] {
        let ran = place.run(&[&["consent"], words.as_slice(), &["--json"]].concat());
        assert_eq!((ran.code, &ran.json()["code"]), (2, &json!("CONSENT_UNREACHABLE")), "{}", ran.seen());
        assert!(ran.out.contains("there is no state in `sttae`"), "{}", ran.out);
        assert!(ran.json()["hint"].as_str().unwrap().contains("`--state DIR`"), "{}", ran.out);
        assert_eq!(ran.json()["next"][0], "redress explain CONSENT_UNREACHABLE");
        assert!(!place.path().join("sttae").exists());
    }
    assert!(!place.path().join("state").exists(), "nor is the configured one made");
    let nowhere = Place::new().run(&["consent", "grant", "files.remove"]);
    assert!(nowhere.err.starts_with("CONSENT_UNREACHABLE"), "{}", nowhere.err);
    let memory = Place::new().with("redress.toml", "state = \"memory\"\n");
    let memory = memory.run(&[["consent", "list"].as_slice(), &HERE].concat());
    assert!(
        memory.err.starts_with("CONSENT_UNREACHABLE  the configuration keeps the state in memory"),
        "{}",
        memory.err
    );
    let told_apart = self::place("[access]\ntokens = \"tokens.json\"\n");
    let told_apart = told_apart.run(&[["consent", "grant", "files.remove"].as_slice(), &HERE].concat());
    assert!(told_apart.err.starts_with("USAGE  callers are told apart here"), "{}", told_apart.err);
}

#[test]
fn at_a_server_it_takes_a_token_of_a_person() {
    let place = place("[access]\ntokens = \"tokens.json\"\n");
    let token = |caller: &str, scopes: &[&str]| {
        let mut words = vec!["token", "new", caller, "--config", "redress.toml"];
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
    let hint = forbidden.json()["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains("`redress token new CALLER --scope consent:grant`"), "{hint}");
    assert_eq!(run(&ada, &["consent", "grant", "files.remov"]).json()["code"], "OPERATION_UNKNOWN");
    let other = ["consent", "grant", "files.remove", "--caller", "bob"];
    let not_hers = run(&ada, &other).json();
    assert_eq!(not_hers["code"], "CONSENT_NOT_YOURS");
    for told in [&not_hers["error"], &not_hers["hint"]] {
        assert!(told.as_str().unwrap().contains("`consent:admin`"), "{not_hers}");
    }
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
    let words = ["consent", "grant", "files.remove", "--caller", "ada", "--json"];
    let folder = place.run(&[words.as_slice(), &HERE].concat());
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
        let said = refused.seen();
        // All that is in the way, and every way out of it.
        assert!(said.contains("ROOT_NOT_APART") && said.contains("redress.toml, state, which callers must not change"));
        for way in ["`--root FOLDER`", "move redress.toml, state out of this one", "without `--write`"] {
            assert!(said.contains(way), "{way}: {said}");
        }
    }
    Served::start(&mut place.command(&["serve", "redress.toml", "--json", "--log-level", "off"])).stop();
    let words = ["serve", "redress.toml", "--write", "--root", "files", "--json", "--log-level", "off"];
    std::fs::create_dir(place.path().join("files")).unwrap();
    Served::start(&mut place.command(&words)).stop();
    // Its own folder is refused too, wherever the configuration is.
    std::fs::create_dir(place.path().join("served")).unwrap();
    let words = ["serve", "redress.toml", "--write", "--root", "served", "--state", "served/state", "--json"];
    assert!(place.run(&words).out.contains("must not change"));
}

/// The command in a hint.
fn command_in(hint: &str) -> Vec<String> {
    let command = hint.split('`').find(|part| part.starts_with("redress consent grant")).unwrap();
    command.split(' ').skip(1).map(str::to_owned).collect()
}

#[test]
fn what_a_hint_says_lets_the_call_pass() {
    let place = Place::new();
    std::fs::create_dir(place.path().join("served")).unwrap();
    std::fs::write(place.path().join("served/a"), "a").unwrap();
    let serve = ["serve", "--json", "--log-level", "off", "--listen", "127.0.0.1:0", "--root", "served", "--write"];
    let removed = |url: &str| place.run(&["call", "files.remove", r#"{"path":"a"}"#, "--server", url, "--json"]).json();
    // Nothing that is typed beside a server whose state is in memory helps, so that the hint says how to start it.
    let served = Served::start(&mut place.command(&serve));
    let refused = removed(&served.url());
    let hint = refused["hint"].as_str().unwrap();
    assert!(refused["code"] == "CONSENT_REQUIRED" && hint.contains("in memory"), "{refused}");
    let typed: Vec<String> = command_in(hint).into_iter().map(|word| word.replace("DIR", "state")).collect();
    served.stop();
    let served = Served::start(&mut place.command(&[serve.as_slice(), &["--state", "state"]].concat()));
    let told = removed(&served.url());
    let folder = place.path().display().to_string();
    assert!(told["code"] == "CONSENT_REQUIRED" && !told.to_string().contains(&folder), "no path is told: {told}");
    let now: Vec<String> = command_in(told["hint"].as_str().unwrap());
    assert_eq!(now.into_iter().map(|word| word.replace("DIR", "state")).collect::<Vec<_>>(), typed);
    // As the one caller it may not consent by a call, and is told which scope that takes.
    let circle = place.run(&["consent", "grant", "files.remove", "--server", &served.url()]);
    assert!(circle.code == 1 && circle.err.contains("missing consent:grant"), "{}", circle.seen());
    assert!(circle.err.contains("--scope consent:grant") && circle.err.contains("--state DIR"), "{}", circle.seen());
    let granted = place.run(&typed.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(granted.code, 0, "{}", granted.seen());
    assert_eq!(removed(&served.url())["ok"], true);
    served.stop();
}

#[test]
fn with_tokens_and_no_state_folder_the_hint_leads_to_the_server() {
    let config = format!("state = \"memory\"\n{CONFIG}[access]\ntokens = \"tokens.json\"\n");
    let place = place("").with("redress.toml", &config);
    std::fs::write(place.path().join("served/a"), "a").unwrap();
    let token = |words: &[&str]| {
        let made = place.run(&[&["token", "new", "ada"], words, &HERE].concat());
        made.out.trim().to_owned()
    };
    let (agent, person) =
        (token(&["--scope", "files:read", "--scope", "files:write"]), token(&["--scope", "consent:grant"]));
    let served = Served::start(&mut place.command(&["serve", "redress.toml", "--json", "--log-level", "off"]));
    let url = served.url();
    let run = |token: &str, words: &[&str]| {
        crate::process::Ran::of(place.command(&[words, &["--json"]].concat()).env("REDRESS_TOKEN", token)).json()
    };
    let remove = ["call", "files.remove", r#"{"path":"a"}"#, "--server", &url];
    let refused = run(&agent, &remove);
    let typed: Vec<String> =
        command_in(refused["hint"].as_str().unwrap()).into_iter().map(|word| word.replace("URL", &url)).collect();
    assert_eq!(run(&person, &typed.iter().map(String::as_str).collect::<Vec<_>>())["caller"], "ada");
    assert_eq!(run(&agent, &remove)["ok"], true);
    served.stop();
}

#[test]
fn a_configuration_that_somebody_put_here_leads_no_consent_and_no_token_elsewhere() {
    let place = place("[access]\ntokens = \"tokens.json\"\n");
    Served::start(&mut place.command(&["serve", "redress.toml", "--json", "--log-level", "off"])).stop();
    // Whoever may write files in this folder names the state and the tokens of that service.
    let state = place.path().join("state").display().to_string();
    let tokens = place.path().join("tokens.json").display().to_string();
    let planted = format!("[state]\nfolder = \"{state}\"\n[access]\ntokens = \"{tokens}\"\n");
    let folder = Place::new().with("redress.toml", &planted);
    for words in [
        ["consent", "grant", "files.remove", "--caller", "ada"].as_slice(),
        &["consent", "revoke", "files.remove", "--caller", "ada"],
        &["consent", "list"],
        &["token", "new", "eve", "--scope", "consent:grant"],
        &["token", "revoke", "0123"],
        &["token", "list"],
    ] {
        let ran = folder.run(&[words, &["--json"]].concat());
        let code = if words[0] == "consent" { "CONSENT_UNREACHABLE" } else { "USAGE" };
        assert_eq!((ran.code, &ran.json()["code"]), (2, &json!(code)), "{words:?} {}", ran.seen());
        assert!(ran.json()["hint"].as_str().unwrap().contains("--config"), "{}", ran.seen());
    }
    assert!(!place.path().join("tokens.json").exists());
    let held = place.run(&["consent", "list", "--state", "state", "--json"]);
    assert_eq!(held.json(), json!([]), "{}", held.seen());
}

#[test]
fn a_consent_that_nothing_is_known_to_ask_for_is_doubted() {
    let place = place("");
    Served::start(&mut place.command(&["serve", "redress.toml", "--json", "--log-level", "off"])).stop();
    let ran = place.run(&["consent", "grant", "files.remov", "--state", "state"]);
    assert!(ran.code == 0 && ran.err.contains("(near: files.remove)"), "{}", ran.seen());
    let known = place.run(&["consent", "grant", "files.*", "--state", "state"]);
    assert!(known.code == 0 && !known.err.contains("asks for consent"), "{}", known.seen());
}

#[test]
fn the_help_that_is_named_is_that_of_the_command() {
    let wrong = |words: &[&str]| place("").run(&[words, &["--json"]].concat()).json()["next"][0].clone();
    assert_eq!(wrong(&["serve", "--profile", "none"]), "redress serve --help");
    let mcp = place("").run(&["mcp", "--profile", "none"]);
    assert!(mcp.err.contains("next:     redress mcp --help"), "{}", mcp.seen());
    assert_eq!(wrong(&["token", "new", "ada"]), "redress token --help");
}

#[test]
fn each_part_of_the_command_has_its_help() {
    for words in [["consent", "--help"].as_slice(), &["consent", "grant", "--help"], &["consent", "revoke", "--help"]] {
        insta::assert_snapshot!(words.join("_").replace("_--help", ""), Place::new().run(words).out);
    }
}
