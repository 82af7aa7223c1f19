//! JSON-RPC 2.0 over HTTP.

use serde_json::{Value, json};

use crate::service::Running;

/// A response without what the specification does not speak of.
fn bare(mut response: Value) -> Value {
    let strip = |one: &mut Value| {
        if let Some(error) = one.get_mut("error").and_then(Value::as_object_mut) {
            error.retain(|name, _| name == "code");
        }
    };
    match response.as_array_mut() {
        Some(many) => many.iter_mut().for_each(strip),
        None => strip(&mut response),
    }
    response
}

#[tokio::test]
async fn every_example_of_the_specification_is_answered_as_it_says() {
    let running = Running::start().await;
    let greet = |id: Value| json!({"jsonrpc": "2.0", "method": "demo.greet", "params": {"name": "Ada"}, "id": id});
    let hello = |id: Value| json!({"jsonrpc": "2.0", "result": {"message": "hello Ada"}, "id": id});
    let error = |code: i32, id: Value| json!({"jsonrpc": "2.0", "error": {"code": code}, "id": id});
    let note = json!({"jsonrpc": "2.0", "method": "demo.greet", "params": {"name": "Ada"}});
    let invalid = error(-32600, Value::Null);
    let cases: Vec<(String, Option<Value>)> = vec![
        // Positional parameters fit no operation here; named ones do.
        (r#"{"jsonrpc":"2.0","method":"demo.greet","params":[42,23],"id":1}"#.into(), Some(error(-32602, json!(1)))),
        (greet(json!(3)).to_string(), Some(hello(json!(3)))),
        (note.to_string(), None),
        (r#"{"jsonrpc":"2.0","method":"foobar"}"#.into(), None),
        (r#"{"jsonrpc":"2.0","method":"foobar","id":"1"}"#.into(), Some(error(-32601, json!("1")))),
        (r#"{"jsonrpc":"2.0","method":"foobar, "params":"bar","baz]"#.into(), Some(error(-32700, Value::Null))),
        (r#"{"jsonrpc":"2.0","method":1,"params":"bar"}"#.into(), Some(invalid.clone())),
        (
            r#"[{"jsonrpc":"2.0","method":"sum","params":[1,2,4],"id":"1"},{"jsonrpc":"2.0","method"]"#.into(),
            Some(error(-32700, Value::Null)),
        ),
        ("[]".into(), Some(invalid.clone())),
        ("[1]".into(), Some(json!([invalid]))),
        ("[1,2,3]".into(), Some(json!([invalid, invalid, invalid]))),
        (
            json!([greet(json!("1")), note, greet(json!("2")), {"foo": "boo"},
                {"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"}, greet(json!("9"))])
            .to_string(),
            Some(json!([hello(json!("1")), hello(json!("2")), invalid, error(-32601, json!("5")), hello(json!("9"))])),
        ),
        (json!([note, note]).to_string(), None),
    ];
    for (body, expected) in cases {
        let answer = running.post("/rpc", &body).await;
        match expected {
            Some(expected) => assert_eq!((answer.status, bare(answer.json())), (200, expected), "{body}"),
            None => assert_eq!((answer.status, answer.text.as_str()), (204, ""), "{body}"),
        }
    }
}

#[tokio::test]
async fn an_error_carries_the_whole_envelope() {
    let running = Running::start().await;
    let answer = running.post("/rpc", r#"{"jsonrpc":"2.0","id":1,"method":"demo.find"}"#).await;
    let error = &answer.json()["error"];
    assert_eq!((&error["code"], &error["message"]), (&json!(-32001), &json!("no thing 7")));
    assert_eq!((&error["data"]["code"], &error["data"]["details"]), (&json!("THING_MISSING"), &json!({"id": 7})));
    assert_eq!(error["data"]["_meta"]["request_id"], answer.header("x-request-id"));
}

#[tokio::test]
async fn what_is_too_much_is_refused_as_a_response() {
    let running = Running::with(|faces| faces.max_body(1024)).await;
    let large = running.post("/rpc", &"x".repeat(2000)).await;
    assert_eq!((large.status, &large.json()["error"]["code"]), (413, &json!(-32600)));
    let many = format!("[{}1]", "1,".repeat(50));
    let many = running.post("/rpc", &many).await;
    assert_eq!(many.json()["error"]["data"]["details"]["max_batch"], 50);
    let deep =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"demo.greet","params":{}{}}}"#, "[".repeat(400), "]".repeat(400));
    let deep = running.post("/rpc", &deep).await.json();
    assert_eq!(deep["error"]["data"]["details"], json!({"limit_depth": 127}), "{deep}");
}

#[tokio::test]
async fn the_service_can_be_discovered() {
    let running = Running::start().await;
    let document = running.post("/rpc", r#"{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}"#).await.json();
    assert_eq!(document["result"], running.get("/openrpc.json").await.json());
}
