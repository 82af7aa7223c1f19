//! Streams as server-sent events.

use serde_json::json;

use crate::service::{Answer, Running};

#[tokio::test]
async fn a_stream_numbers_its_items_and_says_that_it_ended() {
    let running = Running::start().await;
    for (path, body) in
        [("/subscribe", r#"{"operation":"demo.count","input":{"to":2}}"#), ("/ops/demo/count", r#"{"to":2}"#)]
    {
        let answer = running.post(path, body).await;
        assert_eq!(answer.header("content-type"), "text/event-stream", "{path}");
        let events = answer.events();
        assert_eq!(events[0], (String::new(), "1".into(), json!(1)));
        assert_eq!(events[1], (String::new(), "2".into(), json!(2)));
        assert_eq!((events.len(), events[2].0.as_str(), &events[2].2["ok"]), (3, "end", &json!(true)));
        let meta = &events[2].2["_meta"];
        // Two items of one character each, of which four are a token.
        assert_eq!(
            (&meta["estimated_tokens"], &meta["request_id"]),
            (&json!(1), &json!(answer.header("x-request-id")))
        );
        assert!(meta["elapsed_ms"].is_u64(), "{meta}");
    }
    for (path, body) in
        [("/subscribe", r#"{"operation":"demo.count","input":{"to":12}}"#), ("/ops/demo/count", r#"{"to":12}"#)]
    {
        let events = running.post(path, body).await.events();
        let characters: usize = events[..12].iter().map(|(_, _, item)| item.to_string().len()).sum();
        assert_eq!((characters, &events[12].2["_meta"]["estimated_tokens"]), (15, &json!(4)), "{path}");
    }
}

#[tokio::test]
async fn a_failure_in_the_middle_is_the_last_event() {
    let running = Running::start().await;
    let answer = running.post("/ops/demo/count", r#"{"to":1,"then":"fail"}"#).await;
    let events = answer.events();
    assert_eq!((answer.status, events.len(), events[1].0.as_str()), (200, 2, "error"));
    assert_eq!((&events[1].2["code"], &events[1].2["ok"]), (&json!("THING_MISSING"), &json!(false)));
    assert_eq!(events[1].2["_meta"]["request_id"], answer.header("x-request-id"));
}

#[tokio::test]
async fn a_reader_that_comes_back_goes_on_after_what_it_saw() {
    let running = Running::start().await;
    let answer = running.post_with("/ops/demo/count", r#"{"to":4}"#, &[("last-event-id", "2")]).await;
    let ids: Vec<(String, serde_json::Value)> =
        answer.events().into_iter().take(2).map(|(_, id, data)| (id, data)).collect();
    assert_eq!(ids, [("3".to_owned(), json!(3)), ("4".to_owned(), json!(4))]);
}

#[tokio::test]
async fn a_reader_that_claims_to_have_seen_all_numbers_still_gets_its_items() {
    let running = Running::start().await;
    let last = u64::MAX.to_string();
    let answer = running.post_with("/ops/demo/count", r#"{"to":2}"#, &[("last-event-id", last.as_str())]).await;
    let events = answer.events();
    assert_eq!((events.len(), events[0].1.as_str(), &events[1].2), (3, last.as_str(), &json!(2)));
}

#[tokio::test]
async fn what_refuses_a_stream_before_it_opens_has_a_status() {
    let running = Running::start().await;
    let answer = running.post("/ops/demo/count", r#"{"to":"x"}"#).await;
    assert_eq!((answer.status, answer.header("content-type")), (400, "application/problem+json"));
    let answer = running.post("/subscribe", r#"{"operation":"demo.cont"}"#).await;
    assert_eq!((answer.status, &answer.json()["similar"][0]["value"]), (404, &json!("demo.count")));
}

#[tokio::test]
async fn a_silent_stream_shows_that_it_is_there() {
    let running = Running::with(|faces| faces.keep_alive(std::time::Duration::from_millis(10))).await;
    let request = running.client.post(running.url("/ops/demo/count")).body(r#"{"to":0,"then":"hang"}"#);
    let mut response = request.send().await.unwrap();
    let chunk = response.chunk().await.unwrap().unwrap();
    assert!(chunk.starts_with(b":"), "{chunk:?}");
    drop(response);
    let _ = Answer::of(&running, running.client.get(running.url("/healthz"))).await;
}

#[tokio::test]
async fn a_browser_opens_a_stream_by_get_with_its_input_in_the_query() {
    let running = Running::start().await;
    let get = |query: &str, headers: &[(&str, &str)]| {
        let mut request = running.client.get(running.url(&format!("/ops/demo/count{query}")));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request
    };
    let events = ("accept", "text/event-stream");
    let answer = Answer::of(&running, get("?to=2", &[events])).await;
    assert_eq!((answer.header("content-type"), answer.header("vary")), ("text/event-stream", "accept"));
    let heard: Vec<_> = answer.events().into_iter().map(|(name, id, _)| (name, id)).collect();
    assert_eq!(heard, [("", "1"), ("", "2"), ("end", "")].map(|(name, id)| (name.to_owned(), id.to_owned())));
    // It comes back by itself after a break, and goes on where it was.
    let answer = Answer::of(&running, get("?to=4", &[events, ("last-event-id", "3")])).await;
    assert_eq!(answer.events()[0].1, "4");
    let answer = Answer::of(&running, get("?to=x", &[events])).await;
    assert_eq!((answer.status, &answer.json()["code"]), (400, &json!("INVALID_INPUT")));
    // Who does not ask for events gets the declaration, as ever, and a HEAD opens nothing.
    let answer = Answer::of(&running, get("?to=2", &[])).await;
    assert_eq!((answer.header("content-type"), &answer.json()["name"]), ("application/json", &json!("demo.count")));
    let head =
        running.client.head(running.url("/ops/demo/count?to=2")).header(events.0, events.1).send().await.unwrap();
    assert_eq!(head.headers()["content-type"], "application/json");
}
