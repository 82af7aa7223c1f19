//! Contract documents: what is read is written as it was, and every document made from it is one.

use redress::contract::Contract;
use redress_wire::{
    http::{Info, openapi},
    mcp,
    openrpc::openrpc,
    pages,
};

use crate::oracle;

pub(super) fn target(data: &[u8]) {
    let Ok(contract) = serde_json::from_slice::<Contract>(data) else { return };
    let written = serde_json::to_vec(&contract).expect("a contract is JSON");
    let again: Contract = serde_json::from_slice(&written)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&written)));
    assert_eq!(contract, again);
    let info = Info::default();
    assert_eq!(openapi(&contract, &info)["openapi"].as_str().map(|version| &version[..3]), Some("3.1"));
    assert!(openrpc(&contract, &info)["methods"].is_array());
    assert!(pages::index_json(&contract, &[]).is_object() || pages::index_json(&contract, &[]).is_array());
    assert!(pages::index_html(&contract, &[]).contains("<"));
    for operation in contract.operations() {
        let found = contract.operation(operation.name().as_str());
        assert!(found.is_some(), "{}", operation.name());
        oracle::json(mcp::Tool::of(operation, mcp::OutputForm::default()).text(mcp::Era::Modern).json());
        oracle::json(&mcp::prompt(operation, mcp::ToolReader::ANYBODY));
        for failure in operation.failures() {
            let code = failure.code().as_str();
            assert!(pages::code_json(&contract, None, code).is_some(), "{code}");
            let page = pages::code_html(&contract, None, code).unwrap_or_else(|| panic!("no page for {code}"));
            assert!(!page.contains("<script"), "{page}");
        }
    }
}
