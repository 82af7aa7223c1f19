//! `scripts/advisories` finds what is known against a crate that we use, and says so when it cannot look.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn check(db: &Path) -> Output {
    Command::new(workspace().join("scripts/advisories")).arg(db).output().expect("Python runs the script")
}

/// A database with one advisory against `serde`, mended in these versions.
fn database(name: &str, patched: &str) -> PathBuf {
    let db = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&db);
    fs::create_dir_all(db.join("crates/serde")).unwrap();
    let advisory = format!(
        "```toml\n[advisory]\nid = \"RUSTSEC-0000-0001\"\npackage = \"serde\"\n\n[versions]\npatched = [{patched}]\n```\n\n# A trial\n"
    );
    fs::write(db.join("crates/serde/RUSTSEC-0000-0001.md"), advisory).unwrap();
    for words in [
        &["init", "-q"][..],
        &["add", "-A"],
        &["-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "one"],
    ] {
        assert!(Command::new("git").arg("-C").arg(&db).args(words).status().unwrap().success());
    }
    db
}

#[test]
fn what_is_known_against_a_crate_is_found_until_it_is_mended() {
    for (name, patched, code) in [
        ("none", "", 1),
        ("later", r#"">= 99.0.0""#, 1),
        ("other-line", r#""^0.9.3", ">= 0.8, < 1""#, 1),
        ("mended", r#"">= 1.0.0""#, 0),
        ("mended-line", r#""^1.0""#, 0),
    ] {
        let output = check(&database(&format!("advisories-{name}"), patched));
        let told = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{name}: {told}{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(told.contains("RUSTSEC-0000-0001"), code == 1, "{name}: {told}");
    }
}

#[test]
fn a_database_that_is_not_there_is_no_clean_bill() {
    let output = check(Path::new("/nonexistent"));
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("ADVISORIES_UNREADABLE"));
}
