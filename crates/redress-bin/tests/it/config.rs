//! The configuration: what is wrong with it, and what holds.

use crate::{
    process::{Place, Ran},
    serve::Served,
};

#[test]
fn what_is_wrong_with_the_configuration_is_told_with_its_line() {
    let told = |text: &str, more: &[&str]| {
        let place = Place::new().with("redress.toml", text);
        place.run(&[&["serve", "redress.toml"], more].concat()).seen()
    };
    insta::assert_snapshot!(told("[serve]\nwriet = true\n", &[]));
    insta::assert_snapshot!("unknown_key_for_programs", told("[serve]\nwriet = true\n", &["--json"]));
    insta::assert_snapshot!("bad_value", told("[serve]\n\ndeadline = \"soon\"\n", &[]));
    insta::assert_snapshot!("no_file", Place::new().run(&["serve", "redress.toml"]).seen());
}

#[test]
fn a_bad_value_in_the_environment_is_told_like_one_that_was_typed() {
    let place = Place::new();
    let ran = Ran::of(place.command(&["serve", "--json"]).env("REDRESS_DEADLINE", "soon"));
    assert_eq!((ran.code, ran.json()["code"].as_str()), (2, Some("USAGE")));
}

#[test]
fn a_flag_goes_before_the_environment_that_before_the_file_and_that_before_the_default() {
    let config = "[serve]\nlisten = \"127.0.0.1:0\"\nroot = \"served\"\nwrite = true\n[log]\nlevel = \"off\"\n";
    let place = Place::new().with("redress.toml", config);
    std::fs::create_dir(place.path().join("served")).unwrap();
    let operations = |words: &[&str], write: Option<&str>| {
        let mut command = place.command(&[&["serve"], words, &["--json"]].concat());
        command.envs(write.map(|write| ("REDRESS_WRITE", write)));
        let served = Served::start(&mut command);
        let count = served.screen()["operations"].as_u64().unwrap();
        served.stop();
        count
    };
    let default = operations(&["--listen", "127.0.0.1:0"], None);
    let file = operations(&["redress.toml"], None);
    assert!(file > default, "the file's `write` adds operations");
    assert_eq!(operations(&["redress.toml"], Some("false")), default, "the environment goes before the file");
    assert_eq!(operations(&["redress.toml", "--write"], Some("false")), file, "a flag goes before the environment");
    assert_eq!(operations(&["redress.toml", "--write=false"], Some("true")), default);
}

#[test]
fn a_root_in_the_file_starts_from_the_folder_of_the_file() {
    let place = Place::new();
    std::fs::create_dir_all(place.path().join("deep/inner")).unwrap();
    std::fs::write(place.path().join("deep/redress.toml"), "[serve]\nlisten = \"127.0.0.1:0\"\nroot = \"inner\"\n")
        .unwrap();
    let served = Served::start(&mut place.command(&["serve", "deep/redress.toml", "--json"]));
    served.stop();
}

/// Settings that only the operations, the files or the machine can judge, and what is said of each.
const UNFIT: [(&str, &str); 9] = [
    ("[[limits.rules]]\noperations = [\"nope.x\"]\nrate = \"1/s\"\n", "which no operation is called"),
    ("[[limits.rules]]\noperations = [\"files.raed\"]\nrate = \"1/s\"\n", "write `files.read`, which is near"),
    ("[[limits.rules]]\noperations = [\"flies.*\"]\nrate = \"1/s\"\n", "write `files.*`, which is near"),
    ("[mcp.profiles]\nunused = [\"files.raed\"]\n", "write `files.read`, which is near"),
    ("[serve]\nmax_in_flight = 0\n", "write at least `1`"),
    ("[http]\nmax_headers = \"10B\"\n", "write at least `8KiB`"),
    ("[http]\ncors_origins = [\"https://a.example/path\"]\n", "write `https://a.example`"),
    ("[serve]\nurl = 'https://a\"b'\n", "has characters that no URL has"),
    ("[access.jwt]\nkey_file = \"k\"\nscopes_claim = \"a..b\"\n", "which no claim can be called"),
];

#[test]
fn what_cannot_be_in_force_is_refused_at_the_start_and_at_a_reload() {
    for (text, says) in UNFIT {
        let place = Place::new().with("redress.toml", text);
        let ran = place.run(&["serve", "redress.toml", "--listen", "127.0.0.1:0", "--state", "memory", "--json"]);
        assert!(ran.code == 2 && ran.json()["error"].as_str().unwrap().contains(says), "{text}{}", ran.seen());
    }
    let place = Place::new().with("redress.toml", "");
    let words = ["serve", "redress.toml", "--listen", "127.0.0.1:0", "--state", "memory", "--json"];
    let mut served = Served::start(&mut place.command(&words));
    let mut log = served.log();
    for (text, says) in UNFIT {
        std::fs::write(place.path().join("redress.toml"), text).unwrap();
        let refused = log.line_with("was refused").replace("\\\"", "\"");
        assert!(refused.contains(says), "{text}{refused}");
    }
    served.stop();
}

#[test]
fn an_access_log_that_is_a_file_which_is_read_is_refused() {
    let base = "[serve]\nroot = \"served\"\n[access]\ntokens = \"tokens.json\"\n";
    let place = crate::token::guarded();
    crate::token::token(&place, &["ada"]);
    std::fs::hard_link(place.path().join("tokens.json"), place.path().join("other.json")).unwrap();
    std::os::unix::fs::symlink("tokens.json", place.path().join("link.json")).unwrap();
    for log in ["tokens.json", "other.json", "link.json", "redress.toml", "state/redress.db", "state/a.log"] {
        let place_text = format!("{base}[telemetry]\naccess_log = \"{log}\"\n");
        std::fs::write(place.path().join("redress.toml"), place_text).unwrap();
        let ran = place.run(&["serve", "redress.toml", "--listen", "127.0.0.1:0", "--json"]);
        assert!(ran.code == 2 && ran.out.contains("name a file of its own"), "{log}: {}", ran.seen());
    }
}
