//! What is generated and kept in the repository is what the code makes today.

use std::{env, fs, path::Path};

/// Compares the kept file with what the code makes today; `REDRESS_BLESS=1` rewrites it.
#[track_caller]
fn assert_kept(path: &str, made: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    if env::var_os("REDRESS_BLESS").is_some() {
        return fs::write(path, made).expect("the artefact folder is part of the repository");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == made, "{} is stale; run `REDRESS_BLESS=1 cargo test`", path.display());
}

#[test]
fn the_schema_of_the_configuration_is_kept() {
    let made = format!("{:#}\n", redress_cli::config_schema());
    assert_kept("docs/redress.schema.json", &made);
}

#[test]
fn the_guide_to_the_configuration_has_the_table_of_settings() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/redress.toml.md");
    let guide = fs::read_to_string(path).unwrap();
    let before = guide.split("| in the file |").next().unwrap();
    assert_kept("docs/redress.toml.md", &format!("{before}{}", redress_cli::settings_table()));
}

#[test]
fn the_guide_to_the_command_names_every_code_of_the_command() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/command.md");
    let guide = fs::read_to_string(path).unwrap();
    for code in redress_cli::CliErrorCode::ALL {
        assert!(guide.contains(code.as_str()), "docs/command.md does not name {code}");
    }
}
