//! What was imported, where it is served: a registry takes it, and lists of it are not larger than what it was made from.

use redress_contract::{Contract, Shape};
use redress_core::{Operation, Registry};
use redress_import::{Import, Report};
use redress_wire::{
    http::{Info, openapi},
    mcp::{Era, OutputForm, Tool},
};
use serde_json::json;

use crate::documents::{Kept, all};

fn tool_list(import: &Import) -> usize {
    let tools = import.operations.iter().map(|one| Tool::of(&one.operation, OutputForm::default()));
    tools.map(|tool| tool.text(Era::Modern).json().len() + 1).sum()
}

fn own_document(import: &Import) -> usize {
    let contract = Contract::new(import.operations.iter().map(|one| one.operation.clone()));
    openapi(&contract, &Info::default()).to_string().len()
}

/// What our own document says whatever is imported.
fn own_document_of_nothing() -> usize {
    openapi(&Contract::default(), &Info::default()).to_string().len()
}

#[test]
fn a_registry_takes_every_document_without_a_finding() {
    for Kept { name, import, .. } in all() {
        let mut builder = Registry::builder();
        for one in &import.operations {
            assert_ne!(one.operation.shape(), Shape::Subscription, "{name}");
            builder =
                builder.add(Operation::dynamic(one.operation.clone()).with_handler(|_, _| async { Ok(json!(null)) }));
        }
        if let Err(refused) = builder.build() {
            let findings: Vec<String> = refused.findings().iter().take(5).map(ToString::to_string).collect();
            panic!("{name}: {} findings, such as\n{}", refused.findings().len(), findings.join("\n"));
        }
    }
}

#[test]
fn lists_are_at_most_twice_as_large_as_their_document() {
    for Kept { name, bytes, import, .. } in all() {
        let (tools, own) = (tool_list(import), own_document(import));
        let told = format!("{name}: document {}, tools {tools}, own document {own}", bytes.len());
        assert!(tools <= 2 * bytes.len(), "{told}");
        // Our own document says what every service can answer, which a small one does not.
        let of_any_service = own_document_of_nothing();
        assert!(own <= 2 * bytes.len() + 4 * of_any_service, "{told}");
        let report = Report::of(import).with_tool_list(tools);
        assert_eq!(report.tool_list.map(|list| list.estimated_tokens), Some(tools.div_ceil(4)));
    }
}
