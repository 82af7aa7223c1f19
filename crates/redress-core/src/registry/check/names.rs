//! Names, aliases, tool names and who owns a namespace.

use std::collections::BTreeMap;

use redress_contract::Finding;

use crate::Operation;

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
                    "bad-name",
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
            "duplicate-name",
            name,
            format!("{times} operations have this name or alias"),
            "give each operation its own name; hidden ones count too",
        ));
    }
}

fn tools(operations: &[Operation], findings: &mut Vec<Finding>) {
    let mut seen: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for operation in operations {
        let declaration = &operation.declaration;
        for name in declaration.aliases().iter().chain([declaration.name()]) {
            seen.entry(name.tool()).or_default().push(name.as_str());
        }
    }
    for (tool, mut names) in seen {
        names.sort_unstable();
        names.dedup();
        if names.len() > 1 {
            findings.push(Finding::new(
                "duplicate-tool",
                tool,
                format!("{} would be the same MCP tool", names.join(" and ")),
                "rename one of them so that they differ in more than dots and underscores",
            ));
        }
    }
}

fn owners(operations: &[Operation], findings: &mut Vec<Finding>) {
    let mut seen: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for operation in operations {
        seen.entry(operation.declaration.name().namespace()).or_default().push(&operation.owner);
    }
    for (namespace, mut owners) in seen {
        owners.sort_unstable();
        owners.dedup();
        if owners.len() > 1 {
            findings.push(Finding::new(
                "namespace-owner",
                namespace,
                format!("this namespace has more than one owner: {}", owners.join(", ")),
                "let one of them own it, and move the other's operations to a namespace of their own",
            ));
        }
    }
}
