//! Every dependency has a licence that `deny.toml` allows.

use std::process::Command;

use serde_json::Value;

/// The licences that `deny.toml` allows: the same list that `cargo deny` reads.
fn allowed() -> Vec<&'static str> {
    let file = include_str!("../../../../deny.toml");
    let list = file.split_once("allow = [").unwrap().1.split_once(']').unwrap().0;
    list.split('"').skip(1).step_by(2).collect()
}

fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--all-features"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    let output = output.expect("the cargo that runs this test reads the workspace");
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

#[test]
fn every_dependency_has_a_licence_that_deny_toml_allows() {
    let (allowed, packages) = (allowed(), packages());
    assert!(allowed.contains(&"MIT") && packages.len() > 50, "nothing was looked at");
    for package in packages {
        let (name, licence) = (&package["name"], package["license"].as_str().unwrap_or_default());
        // Old manifests write `/` for `OR`.
        let expression = spdx::Expression::parse_mode(licence, spdx::ParseMode::LAX);
        let expression = expression.unwrap_or_else(|error| panic!("{name}: {error}"));
        let fine = expression.evaluate(|wanted| allowed.contains(&wanted.to_string().as_str()));
        assert!(fine, "{name} is licensed under {licence}");
    }
}
