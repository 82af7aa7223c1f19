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
    let place =
        Place::new().with("redress.toml", "[serve]\nlisten = \"127.0.0.1:0\"\nwrite = true\n[log]\nlevel = \"off\"\n");
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
