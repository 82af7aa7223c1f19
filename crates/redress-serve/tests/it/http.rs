//! The routes of HTTP.

use std::sync::atomic::Ordering;

use axum::{Router, body::Body, http::Request};
use redress_serve::Faces;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::service::{Running, registry};

#[tokio::test]
async fn an_operation_answers_with_its_output_alone() {
    let running = Running::start().await;
    let answer = running.post_with("/ops/demo/greet", r#"{"name":"Ada"}"#, &[("x-request-id", "mine-1")]).await;
    assert_eq!((answer.status, answer.text.as_str()), (200, r#"{"message":"hello Ada"}"#));
    assert_eq!((answer.header("content-type"), answer.header("x-request-id")), ("application/json", "mine-1"));
    let answer = running.get("/ops/demo/greet?name=A%20B&times=2").await;
    assert_eq!((answer.status, answer.text.as_str()), (200, r#"{"message":"hello A B"}"#));
}

#[tokio::test]
async fn a_failure_is_a_problem_document() {
    let running = Running::start().await;
    let answer = running.post("/ops/demo/find", "{}").await;
    let json = answer.json();
    assert_eq!((answer.status, answer.header("content-type")), (404, "application/problem+json"));
    assert_eq!(json["type"], "/errors/THING_MISSING");
    assert_eq!(
        (&json["status"], &json["detail"], &json["code"]),
        (&json!(404), &json!("no thing 7"), &json!("THING_MISSING"))
    );
    assert_eq!(json["_meta"]["request_id"], answer.header("x-request-id"));
}

/// A message that is refused: path, body and headers, then status and code.
type Refused<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], u16, &'a str);

#[tokio::test]
async fn every_refusal_has_its_status_code_and_headers() {
    let running = Running::with(|faces| faces.max_body(70 * 1024)).await;
    let large = format!(r#"{{"name":"{}"}}"#, "x".repeat(66 * 1024));
    let huge = "x".repeat(80 * 1024);
    let none: &[(&str, &str)] = &[];
    let cases: &[Refused<'_>] = &[
        ("/ops/demo/limited", "{}", none, 429, "RATE_LIMITED"),
        ("/ops/demo/gret", "{}", none, 404, "NOT_FOUND"),
        ("/ops/demo/hidden", "{}", none, 404, "NOT_FOUND"),
        ("/ops/", "{}", none, 404, "NOT_FOUND"),
        ("/nowhere", "{}", none, 404, "NOT_FOUND"),
        ("/ops/demo/greet", "{", none, 400, "PARSE_ERROR"),
        ("/ops/demo/greet", r#"{"nam":"Ada"}"#, none, 400, "INVALID_INPUT"),
        ("/ops/demo/greet", "[1]", none, 400, "INVALID_INPUT"),
        ("/ops/demo/greet", &large, none, 413, "PAYLOAD_TOO_LARGE"),
        ("/ops/demo/greet", &huge, none, 413, "PAYLOAD_TOO_LARGE"),
        ("/ops/demo/greet", "a=b", &[("content-type", "application/x-www-form-urlencoded")], 415, "INVALID_REQUEST"),
        ("/ops/demo/greet", "{}", &[("redress-deadline-ms", "soon")], 400, "INVALID_REQUEST"),
        ("/ops/demo/greet", "{}", &[("idempotency-key", "a b")], 400, "INVALID_REQUEST"),
        ("/ops/demo/slow", "{}", none, 504, "TIMEOUT"),
        ("/ops/demo/wait", "{}", &[("redress-deadline-ms", "20")], 504, "TIMEOUT"),
        ("/ops/demo/panic", "{}", none, 500, "INTERNAL"),
        ("/ops/demo/fault", "{}", none, 500, "INTERNAL"),
        ("/ops/demo/undeclared", "{}", none, 500, "INTERNAL"),
        ("/call", "{}", none, 400, "INVALID_REQUEST"),
        ("/call", r#"{"operation":"demo.greet","x":1}"#, none, 400, "INVALID_REQUEST"),
        ("/call", r#"["demo.greet",{"name":"Ada"}]"#, none, 400, "INVALID_REQUEST"),
        ("/call", r#"{"operation":"demo.greet""#, none, 400, "PARSE_ERROR"),
        ("/call", r#"{"operation":"demo.count"}"#, none, 405, "INVALID_OPERATION_TYPE"),
        ("/subscribe", r#"{"operation":"demo.greet"}"#, none, 405, "INVALID_OPERATION_TYPE"),
        ("/batch", "[]", none, 400, "INVALID_REQUEST"),
        ("/batch", "{}", none, 400, "INVALID_REQUEST"),
        ("/healthz", "{}", none, 405, "INVALID_OPERATION_TYPE"),
        ("/readyz", "{}", none, 405, "INVALID_OPERATION_TYPE"),
        ("/openapi.json", "{}", none, 405, "INVALID_OPERATION_TYPE"),
    ];
    for (path, body, headers, status, code) in cases {
        let answer = running.post_with(path, body, headers).await;
        assert_eq!(answer.status, *status, "{path} {answer:?}");
        assert_eq!(answer.json()["code"], *code, "{path}");
        assert!(!answer.header("x-request-id").is_empty(), "{path}");
        assert_eq!(answer.header("retry-after"), if *status == 429 { "2" } else { "" }, "{path}");
        assert_eq!(answer.header("allow").is_empty(), *status != 405, "{path}");
    }
    running.canary.assert_clean();
}

#[tokio::test]
async fn an_unknown_name_is_answered_with_near_ones() {
    let running = Running::start().await;
    for answer in [running.post("/ops/demo/gret", "{}").await, running.get("/ops/demo/gret").await] {
        assert_eq!(answer.json()["similar"][0]["value"], "demo.greet");
    }
}

#[tokio::test]
async fn an_invalid_input_comes_with_its_fix() {
    let running = Running::start().await;
    let json = running.post("/ops/demo/greet", r#"{"nam":"Ada"}"#).await.json();
    assert!(json["details"]["issues"].as_array().is_some_and(|issues| !issues.is_empty()), "{json}");
    assert!(json["details"]["fix"].is_array(), "{json}");
}

#[tokio::test]
async fn a_batch_keeps_its_order_and_each_member_its_own_ending() {
    let running = Running::start().await;
    let body =
        r#"[{"operation":"demo.slow"},{"operation":"demo.greet","input":{"name":"Ada"}},5,{"operation":"demo.find"}]"#;
    let answer = running.post_with("/batch", body, &[("x-request-id", "b")]).await;
    let answers = answer.json();
    let told: Vec<Value> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|one| json!([one["ok"], one["code"], one["_meta"]["request_id"]]))
        .collect();
    assert_eq!(
        json!(told),
        json!([
            [false, "TIMEOUT", "b:0"],
            [true, null, "b:1"],
            [false, "INVALID_REQUEST", "b:2"],
            [false, "THING_MISSING", "b:3"]
        ])
    );
    let many = format!("[{}5]", "5,".repeat(50));
    let answer = running.post("/batch", &many).await;
    assert_eq!((answer.status, &answer.json()["details"]["max_batch"]), (400, &json!(50)));
}

#[tokio::test]
async fn a_key_makes_a_call_happen_once() {
    let running = Running::start().await;
    let key = [("idempotency-key", "k-1")];
    let first = running.post_with("/ops/demo/once", "{}", &key).await;
    let again = running.post_with("/ops/demo/once", "{}", &key).await;
    assert_eq!((first.text, running.watched.runs.load(Ordering::SeqCst)), (again.text, 1));
}

#[tokio::test]
async fn a_key_where_none_is_taken_is_refused_on_every_route_and_in_its_place_of_a_batch() {
    let running = Running::start().await;
    let key = [("idempotency-key", "k")];
    let get = running.client.get(running.url("/ops/demo/greet?name=Ada")).header("idempotency-key", "k");
    let refused = [
        crate::service::Answer::of(&running, get).await,
        running.post_with("/ops/demo/greet", r#"{"name":"Ada"}"#, &key).await,
        running.post_with("/ops/demo/wait", "{}", &key).await,
        running.post_with("/ops/demo/count", "{}", &key).await,
        running.post_with("/call", r#"{"operation":"demo.wait"}"#, &key).await,
        running.post_with("/subscribe", r#"{"operation":"demo.count"}"#, &key).await,
        // Of two keys one would be let be.
        running.post_with("/ops/demo/once", "{}", &[("idempotency-key", "a"), ("idempotency-key", "b")]).await,
    ];
    for answer in refused {
        let json = answer.json();
        assert_eq!(
            (answer.status, &json["code"], &json["retry"]),
            (400, &json!("INVALID_REQUEST"), &json!("after_fix"))
        );
        assert!(json["hint"].as_str().is_some_and(|hint| hint.contains("`Idempotency-Key`")), "{json}");
    }
    // What is not there for a caller is not there with a key either.
    assert_eq!(running.post_with("/ops/demo/hidden", "{}", &key).await.json()["code"], "NOT_FOUND");
    let mixed = r#"[{"operation":"demo.once"},{"operation":"demo.greet","input":{"name":"Ada"}}]"#;
    let answers = running.post_with("/batch", mixed, &key).await.json();
    assert_eq!((&answers[0]["ok"], &answers[1]["code"]), (&json!(true), &json!("INVALID_REQUEST")));
    let mixed = r#"[{"jsonrpc":"2.0","id":1,"method":"demo.once"},
        {"jsonrpc":"2.0","id":2,"method":"demo.greet","params":{"name":"Ada"}},{"jsonrpc":"2.0","method":"demo.wait"}]"#;
    let answers = running.post_with("/rpc", mixed, &key).await.json();
    assert_eq!(answers.as_array().map(Vec::len), Some(2), "{answers}");
    assert!(answers[0]["result"].is_object(), "{answers}");
    assert_eq!(answers[1]["error"]["data"]["code"], "INVALID_REQUEST", "{answers}");
    let note = running.post_with("/rpc", r#"{"jsonrpc":"2.0","method":"demo.wait"}"#, &key).await;
    assert_eq!(note.status, 204);
    // The place in the batch is part of the key, so both batches are one call.
    assert_eq!(running.watched.runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn what_is_served_can_be_read() {
    let running = Running::start().await;
    let ops = running.get("/ops").await.json();
    let names: Vec<&str> =
        ops["operations"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    assert!(names.contains(&"demo.closed") && !names.contains(&"demo.hidden"), "{names:?}");
    assert_eq!(running.get("/ops/demo/wait").await.json()["shape"], "mutation");
    assert_eq!(running.get("/openapi.json").await.json()["openapi"], "3.1.0");
    assert_eq!(running.get("/openrpc.json").await.json()["openrpc"], "1.3.2");
    assert_eq!(running.get("/contract.json").await.json()["operations"].as_array().unwrap().len(), names.len());
    assert_eq!(
        running.get("/errors/THING_MISSING").await.json()["operations"],
        json!([{"name": "demo.find"}, {"name": "demo.count"}])
    );
    assert_eq!(running.get("/errors/NO_SUCH").await.status, 404);
    let page = running.client.get(running.url("/errors/TIMEOUT")).header("accept", "text/html,*/*");
    let page = crate::service::Answer::of(&running, page).await;
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert_eq!(running.get("/healthz").await.json(), json!({"status": "ok"}));
    assert_eq!(running.get("/readyz").await.json(), json!({"status": "ready"}));
    let explained = running.post("/ops/errors/explain", r#"{"code":"TIMEOUT"}"#).await.json();
    assert_eq!(explained["http"], 504);
    let schema = running.post("/ops/services/schema", r#"{"name":"demo.gret"}"#).await;
    assert_eq!((schema.status, &schema.json()["similar"][0]["value"]), (404, &json!("demo.greet")));
}

#[tokio::test]
async fn who_sends_a_bad_key_or_deadline_is_told_what_one_is() {
    let running = Running::start().await;
    for (header, value, expected) in [
        ("Idempotency-Key", "a b", "1 to 255 visible ASCII characters"),
        ("Redress-Deadline-Ms", "soon", "a whole number of milliseconds, from 1 to 86400000"),
    ] {
        let refused = running.post_with("/ops/demo/greet", "{}", &[(header, value)]).await.json();
        assert_eq!(refused["details"], json!({"header": header, "expected": expected}));
        assert_eq!(refused["hint"], format!("Send {expected} in the header `{header}`, or leave it out."));
    }
}

#[tokio::test]
async fn a_get_calls_a_flat_query_and_gives_the_declaration_of_anything_else() {
    let running = Running::start().await;
    let declaration = |path: &str| {
        let accept = "application/vnd.redress.operation+json";
        crate::service::Answer::of(&running, running.client.get(running.url(path)).header("accept", accept))
    };
    let refused = running.get("/ops/demo/greet").await;
    assert_eq!((refused.status, &refused.json()["code"]), (400, &json!("INVALID_INPUT")));
    assert_eq!(
        (refused.json()["details"]["issues"][0]["rule"].as_str(), refused.header("vary")),
        (Some("required"), "accept")
    );
    assert_eq!(running.get("/ops/services/list").await.json()["operations"][0]["name"], "demo.greet");
    for (path, name) in [("/ops/demo/greet", "demo.greet"), ("/ops/demo/wait", "demo.wait")] {
        let answer = declaration(path).await;
        assert_eq!((answer.status, &answer.json()["name"]), (200, &json!(name)));
        assert_eq!(answer.header("content-type"), "application/vnd.redress.operation+json");
    }
    let plain = running.get("/ops/demo/wait").await;
    assert_eq!((&plain.json()["name"], plain.header("content-type")), (&json!("demo.wait"), "application/json"));
    for hidden in ["/ops/demo/hidden", "/ops/demo/nothing"] {
        assert_eq!(declaration(hidden).await.status, 404, "{hidden}");
    }
}

#[tokio::test]
async fn the_caller_on_this_machine_is_local_and_a_web_page_is_not() {
    let running = Running::start().await;
    assert_eq!(running.post("/ops/demo/closed", "{}").await.text, "\"local\"");
    let answer = running.post_with("/ops/demo/closed", "{}", &[("origin", "https://evil.example")]).await;
    assert_eq!((answer.status, answer.header("www-authenticate")), (401, r#"Bearer realm="redress""#));
}

#[tokio::test]
async fn the_router_lives_inside_another_where_nobody_is_local_without_an_address() {
    let registry = registry(&Default::default(), &Default::default());
    let app = Router::new().nest("/api", Faces::new(registry).router());
    for (path, status) in [("/api/ops/demo/greet", 200), ("/api/ops/demo/closed", 401), ("/api/nowhere", 404)] {
        let request = Request::post(path).body(Body::from(r#"{"name":"Ada"}"#)).unwrap();
        assert_eq!(app.clone().oneshot(request).await.unwrap().status(), status, "{path}");
    }
}

#[tokio::test]
async fn an_address_that_others_reach_is_refused_without_access() {
    let registry = registry(&Default::default(), &Default::default());
    let listener = tokio::net::TcpListener::bind("0.0.0.0:0").await.unwrap();
    let refused = Faces::new(registry).serve(listener, std::future::pending()).await;
    assert!(matches!(refused, Err(redress_serve::ServeError::NoAccess { .. })));
}

#[tokio::test]
async fn what_is_hidden_while_the_service_runs_is_in_no_answer_and_no_document() {
    let registry = registry(&Default::default(), &Default::default());
    let running = Running::of(Faces::new(registry.clone()), Default::default(), Default::default()).await;
    let documents = ["/openapi.json", "/openrpc.json", "/contract.json", "/ops"];
    for path in documents {
        assert!(running.get(path).await.text.contains("demo.wait"), "{path}");
    }
    assert!(registry.changes().hide("demo.wait") && registry.changes().hide("demo.count"));
    for path in documents {
        assert!(!running.get(path).await.text.contains("demo.wait"), "{path}");
    }
    for path in ["/ops/demo/wait", "/ops/demo/count"] {
        let answer = running.get(path).await;
        assert_eq!((answer.status, &answer.json()["code"]), (404, &json!("NOT_FOUND")), "{path}");
    }
    let answer = running.post("/ops/demo/count", "{}").await;
    assert_eq!((answer.status, &answer.json()["code"]), (404, &json!("NOT_FOUND")));
    assert!(registry.changes().show("demo.wait"));
    assert_eq!(running.get("/ops/demo/wait").await.json()["name"], "demo.wait");
}

/// The documents of a service.
const DOCUMENTS: [&str; 8] = [
    "/openapi.json",
    "/openrpc.json",
    "/contract.json",
    "/ops",
    "/ops/demo/wait",
    "/errors",
    "/errors/TIMEOUT",
    "/errors/THING_MISSING",
];

#[tokio::test]
async fn a_document_that_its_reader_has_already_is_not_sent_again() {
    let running = Running::start().await;
    let asked = |path: &str, tag: &str| {
        crate::service::Answer::of(&running, running.client.get(running.url(path)).header("if-none-match", tag))
    };
    let mut tags = std::collections::BTreeSet::new();
    for path in DOCUMENTS {
        let first = running.get(path).await;
        let tag = first.header("etag").to_owned();
        assert!(first.status == 200 && tag.starts_with('"') && tag.ends_with('"') && tag.len() == 34, "{path} {tag}");
        assert_eq!(first.header("cache-control"), "private, no-cache", "{path}");
        assert!(first.header("vary").contains("authorization"), "{path}");
        let again = asked(path, &format!("\"other\", W/{tag}")).await;
        assert_eq!((again.status, &*again.text, again.header("etag")), (304, "", &*tag), "{path}");
        assert_eq!((again.header("cache-control"), again.header("vary")), ("private, no-cache", first.header("vary")));
        let other = asked(path, "\"other\"").await;
        assert_eq!((other.status, other.text, other.headers["etag"].to_str().unwrap()), (200, first.text, &*tag));
        assert!(tags.insert(tag), "{path}: another document has the same tag");
    }
    // What a call answers is no document, and a refusal is none either.
    for path in ["/ops/demo/greet?name=Ada", "/errors/NO_SUCH", "/ops/demo/nothing"] {
        assert_eq!(asked(path, "*").await.header("etag"), "", "{path}");
    }
}
