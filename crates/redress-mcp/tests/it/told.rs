//! What is told of a code and of an operation, which is the same wherever it is asked for.

use std::sync::Arc;

use redress_core::{
    Extension, Operation, Registry,
    contract::{self, Access, FailureDeclaration, Kind, Recovery},
    testing::Canary,
};
use serde_json::{Value, json};

use crate::service::{LEGACY, Running};

/// A service with an extension, whose code no operation declares, and an operation that needs a consent.
async fn running() -> Running {
    let one = |operation: contract::OperationDeclaration| {
        Operation::dynamic(operation.with_summary("One.")).with_handler(|_, _| async { Ok(json!("done")) })
    };
    let run = one(contract::OperationDeclaration::query("trace.run").with_access(Access::anyone()));
    let unsupported = FailureDeclaration::new("UNSUPPORTED", Kind::Conflict)
        .with_when("It cannot be traced.")
        .with_recovery(Recovery::ask_user("Ask whether it may run without a trace."));
    let wipe = contract::OperationDeclaration::mutation("disks.wipe").with_description("For good.");
    let wipe = one(wipe.with_access(Access::caller().consent()));
    let builder = Registry::builder().add_all(redress_serve::discovery());
    let builder = builder.add(wipe).extension(Extension::new("trace", "1.0.0").add(run).code(unsupported), Value::Null);
    let registry = builder.start().await.unwrap();
    Running::of(registry, Canary::new(), Arc::default(), |_| {}, |_| {}).await
}

impl Running {
    /// What a route of HTTP answers.
    async fn routed(&self, path: &str) -> Value {
        let accept = "application/vnd.redress.operation+json, application/json;q=0.5";
        let request = self.client.get(format!("http://{}{path}", self.address)).header("accept", accept);
        serde_json::from_str(&request.send().await.unwrap().text().await.unwrap()).unwrap()
    }

    async fn called(&self, tool: &str, arguments: Value) -> Value {
        self.call(LEGACY, tool, arguments).await.result()["structuredContent"].clone()
    }

    async fn document(&self, uri: &str) -> Value {
        let read = self.ask(LEGACY, "resources/read", json!({"uri": uri})).await.result();
        serde_json::from_str(read["contents"][0]["text"].as_str().unwrap()).unwrap()
    }
}

#[tokio::test]
async fn the_code_of_an_extension_is_explained_alike_by_page_operation_and_document() {
    let running = running().await;
    let code = "trace.UNSUPPORTED";
    let page = running.routed(&format!("/errors/{code}")).await;
    assert_eq!((&page["code"], &page["when"]), (&json!(code), &json!("It cannot be traced.")));
    assert_eq!(page["recovery"]["hint"], "Ask whether it may run without a trace.", "{page}");
    assert_eq!(running.called("errors_explain", json!({"code": code})).await, page);
    assert_eq!(running.document(&format!("redress://errors/{code}")).await, page);
    let engine = running.routed("/errors/TIMEOUT").await;
    assert_eq!(running.called("errors_explain", json!({"code": "TIMEOUT"})).await, engine);
    assert_eq!(running.document("redress://errors/TIMEOUT").await, engine);
}

#[tokio::test]
async fn that_an_operation_needs_a_consent_is_told_alike_by_route_operation_and_document() {
    let running = running().await;
    let route = running.routed("/ops/disks/wipe").await;
    let codes: Vec<&Value> = route["failures"].as_array().unwrap().iter().map(|failure| &failure["code"]).collect();
    assert_eq!(codes, ["CONSENT_REQUIRED"]);
    assert!(route["description"].as_str().unwrap().starts_with("For good.\n\nIt needs a person's consent"), "{route}");
    assert_eq!(running.called("services_schema", json!({"name": "disks.wipe"})).await, route);
    assert_eq!(running.document("redress://operations/disks.wipe").await, route);
    let contract = running.routed("/contract.json").await;
    let declared = contract["operations"].as_array().unwrap().iter().find(|one| one["name"] == "disks.wipe").unwrap();
    assert_eq!(declared["description"], "For good.", "a contract is what was declared");
}
