//! `new`: a project of one's own.
//!
//! That it builds and passes its tests is proved by the example that it is copied from, which is a member of the workspace:
//! to build every project anew would cost minutes. Here the copy is held against the example, and its manifest against Cargo.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use crate::process::Place;

fn workspace() -> &'static str {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../..")
}

#[test]
fn a_project_is_made_that_cargo_can_read_and_resolve() {
    let place = Place::new();
    let made = place.run(&["new", "my-desk", "--path", workspace(), "--json"]);
    assert_eq!(made.code, 0, "{}{}", made.out, made.err);
    let files: Vec<String> = serde_json::from_value(made.json()["files"].clone()).unwrap();
    for file in
        ["Cargo.toml", "src/main.rs", "src/tickets.rs", "tests/contract.rs", ".github/workflows/ci.yml", ".gitignore"]
    {
        assert!(files.iter().any(|made| made == file), "{file} is not among {files:?}");
    }
    let project = place.path().join("my-desk");
    let main = fs::read_to_string(project.join("src/main.rs")).unwrap();
    assert!(main.contains("my_desk::registry(store)") && main.contains("sqlite:my-desk.db"), "{main}");
    // The versions that the workspace has been tested with, so that nothing is looked for elsewhere.
    fs::copy(Path::new(workspace()).join("Cargo.lock"), project.join("Cargo.lock")).unwrap();
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--format-version", "1"])
        .current_dir(&project)
        .output()
        .unwrap();
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let own = packages.iter().find(|package| package["name"] == "my-desk").unwrap();
    let targets: Vec<&str> =
        own["targets"].as_array().unwrap().iter().filter_map(|target| target["name"].as_str()).collect();
    assert_eq!(targets, ["my_desk", "my-desk", "contract"]);
    assert!(packages.iter().any(|package| package["name"] == "redress"), "redress is found by its path");
}

#[test]
fn nothing_is_overwritten_and_no_project_is_made_that_cannot_build() {
    let place = Place::new().with("taken", "");
    for (words, says) in [
        (&["new", "taken", "--path", workspace()][..], "FILE_UNWRITABLE  taken cannot be written: it is there already"),
        (&["new", "my-desk"], "not published on crates.io yet"),
        (&["new", "my-desk", "--path", "."], "there is no redress in ."),
        (&["new", "My Desk", "--path", workspace()], "`My Desk` cannot be the name of a package"),
        (&["new", "../x", "--path", workspace()], "cannot be the name of a package"),
    ] {
        let refused = place.run(words);
        assert!(refused.code == 2 && refused.err.contains(says), "{words:?}: {}", refused.err);
    }
    let left: Vec<_> = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn git_is_named_as_it_is_given() {
    let place = Place::new();
    let made = place.run(&["new", "desk", "--git", "https://example.org/redress"]);
    assert_eq!(made.code, 0, "{}", made.err);
    let manifest = fs::read_to_string(place.path().join("desk/Cargo.toml")).unwrap();
    assert!(
        manifest
            .contains("redress = { git = \"https://example.org/redress\", features = [\"cli\", \"sqlx\", \"state\"] }"),
        "{manifest}"
    );
}
