//! Names, aliases, tool names and who owns a namespace.

use std::collections::{BTreeMap, BTreeSet};

use redress_contract::Finding;

use crate::{Operation, author::operation::THIS_SERVICE, registry::rules};

pub(super) fn check(operations: &[Operation], findings: &mut Vec<Finding>) {
    grammar(operations, findings);
    duplicates(operations, findings);
    tools(operations, findings);
    owners(operations, findings);
}

fn grammar(operations: &[Operation], findings: &mut Vec<Finding>) {
    for operation in operations {
        let declaration = &operation.declaration;
        for name in declaration.aliases().iter().chain([declaration.name()]) {
            if !name.is_well_formed() {
                findings.push(Finding::new(
                    &rules::BAD_NAME,
                    name.as_str(),
                    "this is not an operation name",
                    "write two or more lower-case segments joined by dots, such as `files.read`",
                ));
            }
        }
    }
}

fn duplicates(operations: &[Operation], findings: &mut Vec<Finding>) {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for operation in operations {
        let declaration = &operation.declaration;
        for name in declaration.aliases().iter().chain([declaration.name()]) {
            *seen.entry(name.as_str()).or_default() += 1;
        }
    }
    for (name, times) in seen.into_iter().filter(|(_, times)| *times > 1) {
        findings.push(Finding::new(
            &rules::DUPLICATE_NAME,
            name,
            format!("{times} operations have this name or alias"),
            "give each operation its own name; hidden ones count too",
        ));
    }
}

fn tools(operations: &[Operation], findings: &mut Vec<Finding>) {
    let mut seen: BTreeMap<String, (BTreeSet<&str>, BTreeSet<usize>)> = BTreeMap::new();
    for (place, operation) in operations.iter().enumerate() {
        let declaration = &operation.declaration;
        for name in declaration.aliases().iter().chain([declaration.name()]) {
            let (names, places) = seen.entry(name.tool()).or_default();
            names.insert(name.as_str());
            places.insert(place);
        }
    }
    for (tool, (names, places)) in seen {
        // An operation may share a tool name with its own alias: both lead to the same place.
        if names.len() > 1 && places.len() > 1 {
            let names: Vec<&str> = names.into_iter().collect();
            findings.push(Finding::new(
                &rules::DUPLICATE_TOOL,
                tool,
                format!("{} would be the same MCP tool", names.join(" and ")),
                "rename one of them so that they differ in more than dots and underscores",
            ));
        }
    }
}

/// A namespace has one owner. What the service itself registers has one where one package declares it; of operations that
/// are declared as data nobody knows the package.
fn owners(operations: &[Operation], findings: &mut Vec<Finding>) {
    let mut seen: BTreeMap<&str, (BTreeSet<&str>, BTreeSet<&str>)> = BTreeMap::new();
    for operation in operations {
        let (owners, packages) = seen.entry(operation.declaration.name().namespace()).or_default();
        owners.insert(&operation.owner);
        packages.extend(operation.package.filter(|_| operation.owner == THIS_SERVICE));
    }
    for (namespace, (mut owners, packages)) in seen {
        let packages: Vec<String> = packages.into_iter().map(|package| format!("package {package}")).collect();
        if packages.len() > 1 {
            owners.remove(THIS_SERVICE);
            owners.extend(packages.iter().map(String::as_str));
        }
        if owners.len() > 1 {
            let owners: Vec<&str> = owners.into_iter().collect();
            findings.push(Finding::new(
                &rules::NAMESPACE_OWNER,
                namespace,
                format!("this namespace has more than one owner: {}", owners.join(", ")),
                "let one of them own it, and move the other's operations to a namespace of their own",
            ));
        }
    }
}
