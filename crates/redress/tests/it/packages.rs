//! What is published: every crate packs with all that it takes in, and a release can be made.
//!
//! Why so: docs/decisions/0115-one-version-and-a-script.md.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn script(name: &str, words: &[&str]) -> Output {
    Command::new(workspace().join("scripts").join(name)).args(words).output().expect("Python runs the script")
}

#[test]
fn every_crate_packs_with_its_metadata_and_with_what_its_sources_take_in() {
    let output = script("package-check", &[]);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.lines().filter(|line| line.ends_with("packed")).count() >= 15, "{told}");
}

#[test]
fn a_release_changes_every_version_and_gives_the_changelog_its_section() {
    let output = script("release", &["--dry-run", "minor"]);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    let manifest = fs::read_to_string(workspace().join("Cargo.toml")).unwrap();
    let ours = manifest.lines().filter(|line| line.starts_with("redress") && line.contains("path = ")).count();
    let changed = told.lines().filter(|line| line.starts_with("+redress")).count();
    assert_eq!(changed, ours, "{told}");
    assert!(told.contains("+++ Cargo.lock") && told.contains("+++ CHANGELOG.md"), "{told}");
    assert!(told.lines().any(|line| line.starts_with("+## ")) && told.contains("nothing was changed"), "{told}");
    assert_eq!(fs::read_to_string(workspace().join("Cargo.toml")).unwrap(), manifest);
}

#[test]
fn a_release_that_goes_back_is_refused() {
    for version in ["0.0.1", "one", "1.0"] {
        let output = script("release", &["--dry-run", version]);
        assert!(!output.status.success(), "{version}");
        assert!(String::from_utf8_lossy(&output.stderr).starts_with("RELEASE_REFUSED"), "{version}");
    }
}

/// What `redress new` copies is the example that the workspace builds: all of it.
#[test]
fn the_template_of_a_project_is_the_whole_example() {
    let template = workspace().join("crates/redress-cli/template");
    let mut left: Vec<_> =
        files(&template).into_iter().map(|name| name.replace("manifest.toml", "Cargo.toml")).collect();
    for name in &mut left {
        if name == "gitignore" {
            ".gitignore".clone_into(name);
        }
    }
    left.sort();
    let mut example = files(&workspace().join("examples/helpdesk"));
    example.sort();
    assert_eq!(left, example);
}

/// The files below a folder, relative to it, as git would list them.
fn files(folder: &Path) -> Vec<String> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "."])
        .current_dir(folder)
        .output();
    String::from_utf8(listed.unwrap().stdout).unwrap().lines().map(str::to_owned).collect()
}
