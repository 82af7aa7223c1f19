//! OpenAPI documents, as JSON or YAML: what is read has names that are names, schemas that compile, and is read alike when
//! it is written again.

use std::collections::BTreeSet;

use redress::contract::Schema;
use redress_import::{Import, Limits, ReadOptions, Report, openapi};

use crate::work::bounded;

pub(super) fn target(data: &[u8]) {
    let limits = Limits { values: 200_000, operations: 200, ..Limits::default() };
    let Ok(import) = bounded(|| openapi::read(data, &ReadOptions { limits, ..ReadOptions::default() })) else { return };
    judge(&import);
    let written = openapi::to_openapi(&import).to_json();
    let again = openapi::read(&written, &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&written)));
    let operations =
        |import: &Import| -> Vec<_> { import.operations.iter().map(|one| one.operation.clone()).collect() };
    assert_eq!(operations(&import), operations(&again));
}

/// What every import keeps.
pub(super) fn judge(import: &Import) {
    let budget = redress_import::Budget::default();
    let mut tools = BTreeSet::new();
    for one in &import.operations {
        let operation = &one.operation;
        assert!(operation.name().is_well_formed() && tools.insert(operation.tool_name()), "{}", operation.name());
        let largest = [(operation.input(), budget.input), (operation.output(), budget.output)];
        for (schema, max) in largest {
            assert!(schema.as_value().to_string().len() <= max * 2, "{}", operation.name());
            compiles(schema);
        }
        for failure in operation.failures() {
            compiles(failure.details());
            let recovery = failure.recovery().expect("every failure has a recovery");
            assert!(recovery.hint().split_whitespace().count() >= 5, "{}", recovery.hint());
            assert!((400..=599).contains(&failure.http()));
            if let Some(target) = recovery.target() {
                assert!(import.operations.iter().any(|one| one.operation.name() == target), "{target}");
            }
        }
        let members: BTreeSet<&str> = operation.input().properties().collect();
        assert!(one.request.fields.iter().all(|field| field.required <= operation.input().requires(&field.field)
            || !members.contains(field.field.as_str())));
        assert!(import.full_input(one).bundled().is_ok() && import.full_output(one).bundled().is_ok());
    }
    assert!(Report::of(import).to_string().contains("operations: "));
}

fn compiles(schema: &Schema) {
    let value = schema.as_value();
    assert!(jsonschema::draft202012::new(value).is_ok(), "{value}");
}
