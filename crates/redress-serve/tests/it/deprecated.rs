//! What callers of deprecated operations are told.

use redress_core::{
    Events, Operation, Registry,
    contract::{self, Access, Deprecation},
};
use redress_serve::Faces;
use serde_json::{Value, json};

use crate::service::{Answer, Running};

async fn serve() -> Running {
    let answers = |operation: contract::OperationDeclaration| {
        Operation::dynamic(operation.with_summary("Answers.")).with_handler(|_, _| async { Ok(json!(1)) })
    };
    let old = |since: &str, by: Option<&str>, gone: Option<&str>| Deprecation {
        since: since.into(),
        replaced_by: by.map(str::to_owned),
        remove_in: gone.map(str::to_owned),
        reason: None,
    };
    let open = |name: &str| contract::OperationDeclaration::query(name).with_access(Access::anyone());
    let watch = contract::OperationDeclaration::subscription("tickets.watch")
        .with_summary("Watch.")
        .with_access(Access::anyone())
        .with_deprecated(old("2026-01-31", None, None));
    let watch = Operation::dynamic(watch)
        .with_stream_handler(|_, _| async { Ok(Events::new(futures_util::stream::iter([Ok(Value::Null)]))) });
    let registry = Registry::builder()
        .add(answers(open("tickets.search")))
        .add(answers(
            contract::OperationDeclaration::query("tickets.audit").with_access(Access::caller().scope("audit")),
        ))
        .add(answers(open("tickets.find").with_deprecated(old("2.0.0", Some("tickets.search"), Some("2027-02-28")))))
        .add(answers(open("tickets.log").with_deprecated(old("2.0.0", Some("tickets.audit"), Some("3.0.0")))))
        .add(answers(
            contract::OperationDeclaration::query("tickets.secret")
                .with_access(Access::caller().scope("audit"))
                .with_deprecated(old("2.0.0", None, None)),
        ))
        .add(watch)
        .build()
        .unwrap();
    let faces = Faces::new(registry).caller(redress_serve::Anonymous).server("/api");
    Running::of(faces, Default::default(), Default::default()).await
}

fn told(answer: &Answer) -> [&str; 3] {
    ["deprecation", "sunset", "link"].map(|name| answer.header(name))
}

#[tokio::test]
async fn an_answer_of_a_deprecated_operation_says_so_in_its_headers() {
    let running = serve().await;
    let find = ["@0", "Sun, 28 Feb 2027 00:00:00 GMT", "</api/ops/tickets/search>; rel=\"successor-version\""];
    let rpc = r#"{"jsonrpc":"2.0","id":1,"method":"tickets.find","params":{}}"#;
    for (path, body) in [
        ("/ops/tickets/find", "{}"),
        ("/call", r#"{"operation":"tickets.find"}"#),
        ("/rpc", rpc),
        // What is wrong with the call is no reason not to tell.
        ("/ops/tickets/find", "{"),
    ] {
        assert_eq!(told(&running.post(path, body).await), find, "{path}");
    }
    assert_eq!(told(&running.get("/ops/tickets/find").await), find);
    for (path, body) in [("/ops/tickets/watch", "{}"), ("/subscribe", r#"{"operation":"tickets.watch"}"#)] {
        assert_eq!(told(&running.post(path, body).await), ["@1769817600", "", ""], "{path}");
    }
    assert_eq!(told(&running.post("/ops/tickets/search", "{}").await), ["", "", ""]);
}

#[tokio::test]
async fn nobody_is_told_of_what_they_may_not_see() {
    let running = serve().await;
    // A replacement that this caller may not call is not named, and neither is a day that nobody has said.
    assert_eq!(told(&running.post("/ops/tickets/log", "{}").await), ["@0", "", ""]);
    let refused = running.post("/ops/tickets/secret", "{}").await;
    assert_eq!((refused.status, told(&refused)), (401, ["", "", ""]));
}
