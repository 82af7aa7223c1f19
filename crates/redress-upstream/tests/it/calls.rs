//! What is sent, and how often.

use axum::http::Method;
use serde_json::{Value, json};

use crate::mock::{Reply, Service, call, config, request, things};

#[tokio::test]
async fn a_query_is_sent_again_and_a_mutation_is_not() {
    let busy = || Reply::of(503, "", "");
    let (service, address) = Service::start([busy(), busy(), Reply::json(200, &json!({"id": 1}))]).await;
    let (registry, upstream) = things(config(address));
    assert_eq!(call(&registry, "things.get_thing", json!({"id": "1"})).await["ok"], true);
    assert_eq!(service.asked().len(), 3);
    assert_eq!(upstream.status().await.retried, 2);
    service.tell([busy(), Reply::json(201, &json!({"id": 1}))]);
    assert_eq!(call(&registry, "things.make_thing", json!({"name": "a"})).await["code"], "HTTP_DEFAULT");
    assert_eq!(service.asked().len(), 4, "a mutation whose effect nobody knows is not made again");
}

#[tokio::test]
async fn a_mutation_with_a_key_is_sent_again_with_the_same_key() {
    let busy = || Reply::of(503, "", "");
    let (service, address) = Service::start([busy(), busy(), Reply::json(201, &json!({"id": 1}))]).await;
    let (registry, _) = things(config(address));
    assert_eq!(call(&registry, "things.make_keyed", json!({})).await["ok"], true);
    let keys: Vec<String> =
        service.asked().iter().map(|asked| asked.headers["idempotency-key"].to_str().unwrap().to_owned()).collect();
    assert_eq!(keys.len(), 3);
    assert!(keys[0].len() == 32 && keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    service.tell([Reply::json(201, &json!({"id": 1}))]);
    call(&registry, "things.make_keyed", json!({})).await;
    let last = service.asked().last().unwrap().headers["idempotency-key"].clone();
    assert_ne!(last, keys[0].as_str(), "another call has another key");
}

#[tokio::test]
async fn the_key_of_a_caller_is_passed_on_as_nobody_elses() {
    let (service, address) = Service::start([Reply::json(201, &json!({"id": 1}))]).await;
    let (registry, _) = things(config(address));
    if !registry.operation("things.make_keyed").unwrap().takes_idempotency_key() {
        panic!("an operation whose service takes a key takes one");
    }
    let keyed = |caller: &str, key: &str| {
        request(json!({})).with_caller(redress_core::contract::Caller::new(caller)).with_idempotency_key(key)
    };
    for (caller, key) in [("ada", "order-17"), ("ben", "order-17"), ("ada", "order-18")] {
        assert!(registry.call("things.make_keyed", keyed(caller, key)).await.is_ok());
    }
    // Another registry, as after a restart, has forgotten what became of the first call.
    let (restarted, _) = things(config(address));
    assert!(restarted.call("things.make_keyed", keyed("ada", "order-17")).await.is_ok());
    let sent: Vec<_> = service.asked().iter().map(|asked| asked.headers["idempotency-key"].clone()).collect();
    assert_eq!((sent.len(), sent[0].len()), (4, 64));
    assert!(sent[0] != sent[1] && sent[0] != sent[2] && sent[1] != sent[2], "to the service all callers are one");
    assert_eq!(sent[0], sent[3]);
}

/// Nothing was sent, which the caller is told: so the same key is as good as before.
#[tokio::test]
async fn a_key_is_not_used_up_by_a_call_of_which_nothing_was_sent() {
    let (service, address) = Service::start([Reply::json(201, &json!({"id": 1}))]).await;
    let mut away = config("127.0.0.1:9".parse().unwrap());
    away.retries = 0;
    let (registry, _) = things(away);
    for _ in 0..2 {
        let envelope = registry.call("things.make_keyed", request(json!({})).with_idempotency_key("k")).await;
        assert_eq!(envelope.code(), Some("UPSTREAM_UNREACHABLE"));
    }
    drop((service, address));
}

#[tokio::test]
async fn what_is_sent_is_what_the_document_says() {
    let (service, address) = Service::start([Reply::json(200, &json!({"items": []}))]).await;
    let mut config = config(address);
    config.base_url = Some(format!("http://{address}/v2/"));
    config.headers.insert("X-Tenant".to_owned(), "acme".to_owned());
    config.trace_headers =
        Some(|| vec![("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned())]);
    let (registry, _) = things(config);
    call(&registry, "things.list_things", json!({"limit": 3, "q": "a b&c"})).await;
    let asked = service.asked().pop().unwrap();
    assert_eq!((asked.method, asked.uri.to_string().as_str()), (Method::GET, "/v2/things?limit=3&q=a%20b%26c"));
    assert_eq!(asked.headers["x-tenant"], "acme");
    assert_eq!(asked.headers["traceparent"], "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    assert!(asked.headers["accept"].to_str().unwrap().contains("application/json"));
    call(&registry, "things.make_thing", json!({"name": "né"})).await;
    let asked = service.asked().pop().unwrap();
    assert_eq!((asked.method, asked.uri.path()), (Method::POST, "/v2/things"));
    assert_eq!(asked.headers["content-type"], "application/json");
    assert_eq!(serde_json::from_slice::<Value>(&asked.body).unwrap(), json!({"name": "né"}));
}

#[tokio::test]
async fn an_input_that_would_be_another_path_is_not_sent() {
    let (service, address) = Service::start([Reply::json(200, &json!({}))]).await;
    let (registry, _) = things(config(address));
    for id in ["..", ".", ""] {
        let envelope = call(&registry, "things.get_thing", json!({"id": id})).await;
        assert_eq!(envelope["code"], "INVALID_INPUT", "{id}: {envelope}");
        assert_eq!(envelope["details"]["issues"][0]["pointer"], "/id");
        assert_eq!(envelope["recovery"], json!({"verb": "fix_input", "pointer": "/id"}));
    }
    assert!(service.asked().is_empty());
    call(&registry, "things.get_thing", json!({"id": "../../admin?x=1"})).await;
    assert_eq!(service.asked()[0].uri.to_string(), "/things/..%2F..%2Fadmin%3Fx%3D1");
}
