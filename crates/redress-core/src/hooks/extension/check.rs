//! What is wrong with extensions themselves, before anything of them is set up.

use std::{
    any::TypeId,
    collections::{BTreeSet, HashMap},
};

use redress_contract::{Finding, Rule};
use redress_input::InputShape;
use semver::{Version, VersionReq};
use serde_json::Value;

use super::{BroughtState, Extension};
use crate::{Operation, registry::rules};

/// Namespaces that belong to the engine.
const RESERVED: [&str; 4] = ["redress", "services", "errors", "consent"];

/// What is wrong with the extensions themselves, before anything of them is set up.
pub(crate) fn check(extensions: &[(Extension, Value)], others: &[Operation]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    for (extension, config) in extensions {
        let mut say = |rule, says: String, help: &str| {
            findings.push(Finding::new(rule, extension.namespace.as_str(), says, help));
        };
        let namespace = extension.namespace.as_str();
        let well_formed = namespace.starts_with(|c: char| c.is_ascii_lowercase())
            && namespace.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        if !well_formed || RESERVED.contains(&namespace) {
            let says = format!("`{namespace}` cannot be an extension's namespace");
            say(
                &rules::EXTENSION_NAMESPACE,
                says,
                "use lower-case letters and digits, and none of the engine's own namespaces",
            );
        }
        if !seen.insert(namespace) {
            say(&rules::NAMESPACE_OWNER, "two extensions claim this namespace".into(), "load one of them only");
        }
        // With operations of its own, the clash of owners shows among the operations.
        if extension.operations.is_empty()
            && let Some(other) = others.iter().find(|other| other.declaration.name().namespace() == namespace)
        {
            let says = format!("this namespace has more than one owner: extension {namespace}, {}", other.owner);
            say(&rules::NAMESPACE_OWNER, says, "let one of them own it, and move the other to a namespace of its own");
        }
        for operation in &extension.operations {
            let name = operation.declaration.name();
            if name.namespace() != namespace {
                let says = format!("its operation `{name}` is in another namespace");
                say(&rules::EXTENSION_NAMESPACE, says, "begin the name with the extension's own namespace");
            }
        }
        versions(extension, &mut say);
        if let Err(says) = configured(extension, config) {
            say(&rules::EXTENSION_CONFIG, says, "give it the configuration that its schema describes");
        }
    }
    findings
}

fn versions(extension: &Extension, say: &mut impl FnMut(&'static Rule, String, &str)) {
    if Version::parse(&extension.version).is_err() {
        let says = format!("`{}` is not a version", extension.version);
        say(&rules::EXTENSION_MANIFEST, says, "write a semantic version, such as `1.0.0`");
    }
    let Some(requires) = &extension.requires else { return };
    let ours = Version::parse(env!("CARGO_PKG_VERSION"));
    match (ranges(requires), ours) {
        (Err(_), _) => {
            let says = format!("`{requires}` is not a range of versions");
            say(&rules::EXTENSION_MANIFEST, says, "write a range such as `^0.1` or `>=0.1, <0.3`");
        }
        (Ok(ranges), Ok(ours)) if !holds(&ranges, &ours) => {
            let says = format!("it works with redress {requires}, and this is {ours}");
            say(&rules::EXTENSION_VERSION, says, "use a version of the extension that fits");
        }
        (Ok(_), _) => {}
    }
}

/// The ranges between which `||` stands.
fn ranges(text: &str) -> Result<Vec<VersionReq>, semver::Error> {
    text.split("||").map(VersionReq::parse).collect()
}

/// Whether `version` is in one of the ranges. A range of releases holds no pre-release by itself, so a pre-release is
/// looked for as the release that it comes before: who tries it out tries out that release.
fn holds(ranges: &[VersionReq], version: &Version) -> bool {
    let release = Version::new(version.major, version.minor, version.patch);
    ranges.iter().any(|range| range.matches(version) || range.matches(&release))
}

/// What is wrong with the state that the extensions bring beside that of the service.
pub(crate) fn states<'a>(
    extensions: impl Iterator<Item = &'a Extension>,
    service: impl Iterator<Item = TypeId>,
) -> Vec<Finding> {
    let mut owners: HashMap<TypeId, String> = service.map(|id| (id, "this service".to_owned())).collect();
    let mut findings = Vec::new();
    for extension in extensions {
        let own = format!("extension {}", extension.namespace);
        for BroughtState { id, type_name, .. } in &extension.state {
            if let Some(owner) = owners.get(id) {
                let says = format!("it brings state of type `{type_name}`, which {owner} brings already");
                let help = "wrap the state in a type of the extension's own";
                findings.push(Finding::new(&rules::DUPLICATE_STATE, extension.namespace.as_str(), says, help));
            } else {
                owners.insert(*id, own.clone());
            }
        }
    }
    findings
}

/// The configuration with its defaults filled in, if it is what the schema says.
pub(super) fn configured(extension: &Extension, config: &Value) -> Result<Value, String> {
    let Some(schema) = &extension.config else {
        return if config.is_null() || config.as_object().is_some_and(serde_json::Map::is_empty) {
            Ok(Value::Object(serde_json::Map::new()))
        } else {
            Err("it takes no configuration, and is given one".to_owned())
        };
    };
    let mut config = if config.is_null() { Value::Object(serde_json::Map::new()) } else { config.clone() };
    if let (Some(members), Some(config)) = (schema.get("properties").and_then(Value::as_object), config.as_object_mut())
    {
        for (name, default) in members.iter().filter_map(|(name, member)| Some((name, member.get("default")?))) {
            config.entry(name).or_insert_with(|| default.clone());
        }
    }
    let shape = InputShape::dynamic(schema.clone())
        .map_err(|error| format!("its configuration schema does not compile: {error}"))?;
    match shape.first_error(&config) {
        None => Ok(config),
        Some((pointer, rule)) => Err(format!("the configuration breaks `{rule}` at `{pointer}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pre_release_counts_as_the_release_that_it_comes_before() {
        for (range, version, held) in [
            ("*", "0.2.0-rc.1", true),
            ("^0.2", "0.2.0-rc.1", true),
            (">=0.1, <0.3", "0.2.0-alpha", true),
            ("^0.1", "0.2.0-rc.1", false),
            ("<0.2", "0.2.0-rc.1", false),
            ("=0.2.0-rc.1", "0.2.0-rc.1", true),
            ("=0.2.0-rc.2", "0.2.0-rc.1", false),
            ("^0.1 || ^0.3", "0.3.1", true),
            ("^0.1||^0.3", "0.1.9", true),
            ("^0.1 || ^0.3", "0.2.0", false),
            ("^0.2", "0.2.7+build.5", true),
        ] {
            let (ranges, version) = (ranges(range).unwrap(), Version::parse(version).unwrap());
            assert_eq!(holds(&ranges, &version), held, "{range} and {version}");
        }
        assert!(ranges("^0.1 ||").is_err() && ranges("about 0.1").is_err());
    }
}
