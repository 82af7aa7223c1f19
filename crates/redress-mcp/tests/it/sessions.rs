//! What happens in a session of the legacy era over HTTP, and on the streams of requests.

use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    events::{Client, Event, Events, PATIENCE},
    service::{LEGACY, MODERN, Running, message},
    talk,
};

const OLDER: &str = "2025-06-18";

fn methods(events: &[Event]) -> Vec<String> {
    let of = |event: &Event| event.message()["method"].as_str().unwrap_or("result").to_owned();
    events.iter().map(of).collect()
}

#[tokio::test]
async fn a_stream_begins_with_an_event_without_a_message_from_2025_11_25_on_and_never_before() {
    let running = Running::start().await;
    for version in ["2024-11-05", "2025-03-26", OLDER] {
        let client = Client::begin(&running, version).await;
        let events = Events::of(client.call(1, "demo_steps", json!({})).await).rest().await;
        assert!(events.iter().all(|event| event.id.is_none() && event.message().is_object()), "{version} {events:?}");
        assert_eq!(events.len(), 4);
    }
    let client = Client::begin(&running, LEGACY).await;
    let events = Events::of(client.call(1, "demo_steps", json!({})).await).rest().await;
    assert_eq!(events[0], Event { id: Some("1/0".to_owned()), data: String::new() });
    let ids: Vec<_> = events.iter().map(|event| event.id.as_deref().unwrap()).collect();
    assert_eq!(ids, ["1/0", "1/1", "1/2", "1/3", "1/4"]);
    let mut changes = Events::of(client.get(None).await);
    assert_eq!(changes.next().await.unwrap(), Event { id: Some("0/0".to_owned()), data: String::new() });
}

#[tokio::test]
async fn progress_is_told_in_order_and_then_the_result_comes_and_the_stream_ends() {
    let running = Running::start().await;
    let client = Client::begin(&running, OLDER).await;
    let params = json!({"name": "demo_steps", "_meta": {"progressToken": 7}});
    let mut streams = vec![client.call(7, "demo_steps", json!({})).await];
    for version in [OLDER, MODERN] {
        let (body, headers) = message(version, "tools/call", params.clone());
        let request = running.client.post(running.url()).body(body).header("content-type", "application/json");
        let request = request.header("accept", "application/json, text/event-stream");
        let request = headers.into_iter().fold(request, |request, (name, value)| request.header(name, value));
        streams.push(request.send().await.unwrap());
    }
    for stream in streams {
        let events = Events::of(stream).rest().await;
        let progress = "notifications/progress";
        assert_eq!(methods(&events), [progress, progress, progress, "result"]);
        let told: Vec<_> = events.iter().take(3).map(|event| event.message()["params"]["progress"].clone()).collect();
        assert_eq!(told, [1.0, 2.0, 3.0]);
        assert_eq!(events[0].message()["params"]["progressToken"], 7);
        assert_eq!(events[3].message()["result"]["structuredContent"], json!({"done": true}));
    }
}

#[tokio::test]
async fn whoever_takes_no_event_stream_gets_the_result_alone() {
    let running = Running::start().await;
    let client = Client::begin(&running, LEGACY).await;
    let params = json!({"name": "demo_steps", "_meta": {"progressToken": 7}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let json = [("accept", "application/json")];
    for answer in [
        client.send(Method::POST, call.clone(), &json).await,
        running
            .client
            .post(running.url())
            .header("content-type", "application/json")
            .header("accept", json[0].1)
            .body(call)
            .send()
            .await
            .unwrap(),
    ] {
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers()["content-type"], "application/json");
        assert!(answer.text().await.unwrap().contains(r#""structuredContent":{"done":true}"#));
    }
    assert_eq!(client.send(Method::GET, String::new(), &json).await.status(), 406);
    let talk = talk::running(|_| {}).await;
    let client = Client::begin(&talk, LEGACY).await;
    let ask = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "talk_greet"}}).to_string();
    let asked = client.send(Method::POST, ask, &json).await.text().await.unwrap();
    assert!(asked.contains("INVALID_OPERATION_TYPE"), "nothing can be asked without a stream: {asked}");
}

#[tokio::test]
async fn the_members_of_an_output_keep_their_order_in_a_session() {
    let running = Running::start().await;
    let client = Client::begin(&running, LEGACY).await;
    let declared = r#""structuredContent":{"items":[1,2],"complete":true}"#;
    let params = json!({"name": "demo_count", "arguments": {"to": 2}});
    let alone = client.post(json!({"id": 1, "method": "tools/call", "params": params})).await;
    assert_eq!(alone.headers()["content-type"], "application/json");
    assert!(alone.text().await.unwrap().contains(declared));
    let streamed = Events::of(client.call(2, "demo_count", json!({"to": 2})).await).rest().await;
    assert!(streamed.last().unwrap().data.contains(declared), "{streamed:?}");
}

#[tokio::test]
async fn a_request_of_a_session_is_called_off_by_its_client() {
    let running = Running::start().await;
    let client = Client::begin(&running, LEGACY).await;
    for (id, other) in [(json!(1), json!("1")), (json!("a"), json!("b"))] {
        let call = json!({"id": id, "method": "tools/call", "params": {"name": "demo_wait"}});
        let waiting = client.post(call.clone());
        let cancelling = async {
            timeout(PATIENCE, running.watched.started.notified()).await.expect("the call began");
            let twice = client.post(call.clone()).await;
            assert_eq!(twice.status(), 400, "a request of this id runs");
            for named in [other, id.clone()] {
                let params = json!({"requestId": named, "reason": "enough"});
                let cancel = json!({"method": "notifications/cancelled", "params": params});
                assert_eq!(client.post(cancel).await.status(), 202);
            }
        };
        let (answer, ()) = tokio::join!(waiting, cancelling);
        timeout(PATIENCE, running.watched.dropped.notified()).await.expect("the call was dropped");
        let events = Events::of(answer).rest().await;
        assert!(events.iter().all(|event| event.data.is_empty()), "what was called off has no answer: {events:?}");
    }
    let (ping, _) = message(LEGACY, "ping", json!({}));
    assert_eq!(client.answer(ping).await.result(), json!({}));
}

#[tokio::test]
async fn a_session_that_is_ended_ends_its_requests_and_its_streams() {
    let running = Running::start().await;
    let client = Client::begin(&running, LEGACY).await;
    let changes = Events::of(client.get(None).await);
    let ending = async {
        timeout(PATIENCE, running.watched.started.notified()).await.expect("the call began");
        let ended = client.send(Method::DELETE, String::new(), &[]).await;
        assert_eq!(ended.status(), 204);
    };
    let (answer, ()) = tokio::join!(client.call(1, "demo_wait", json!({})), ending);
    timeout(PATIENCE, running.watched.dropped.notified()).await.expect("the call was dropped");
    assert!(Events::of(answer).rest().await.iter().all(|event| event.data.is_empty()));
    assert!(changes.rest().await.iter().all(|event| event.data.is_empty()));
    for method in [Method::DELETE, Method::GET, Method::POST] {
        assert_eq!(client.send(method, String::new(), &[]).await.status(), 404);
    }
}

#[tokio::test]
async fn a_question_is_asked_on_the_stream_of_its_request_and_answered_live() {
    let running = talk::running(|_| {}).await;
    for version in [OLDER, LEGACY] {
        let client = Client::begin(&running, version).await;
        let mut stream = Events::of(client.call(1, "talk_greet", json!({})).await);
        if version == LEGACY {
            stream.next().await;
        }
        let question = stream.message().await;
        assert_eq!(question["method"], "elicitation/create");
        let stranger = Client::begin(&running, version).await;
        let answer = json!({"id": question["id"], "result": {"action": "accept", "content": {"name": "Eve"}}});
        assert_eq!(stranger.post(answer.clone()).await.status(), 202, "an answer to nothing is let be");
        let elsewhere = Client { session: "0".repeat(32), ..Client::begin(&running, version).await };
        assert_eq!(elsewhere.post(answer).await.status(), 404);
        let answer = json!({"id": question["id"], "result": {"action": "accept", "content": {"name": "Ada"}}});
        assert_eq!(client.post(answer).await.status(), 202);
        assert_eq!(stream.message().await["result"]["structuredContent"], json!({"greeted": "Ada"}));
        assert_eq!(stream.next().await, None);

        let mut stream = Events::of(client.call(2, "talk_sample", json!({})).await);
        if version == LEGACY {
            stream.next().await;
        }
        let question = stream.message().await;
        assert_eq!(question["method"], "sampling/createMessage");
        let refused = json!({"id": question["id"], "error": {"code": -1, "message": "no"}});
        assert_eq!(client.post(refused).await.status(), 202);
        assert!(stream.message().await["result"].is_object());
    }
}

#[tokio::test]
async fn a_question_that_nobody_waits_for_any_more_is_taken_back() {
    let running = talk::running(|_| {}).await;
    let client = Client::begin(&running, OLDER).await;
    let mut stream = Events::of(client.call(1, "talk_greet", json!({})).await);
    let question = stream.message().await;
    client.post(json!({"method": "notifications/cancelled", "params": {"requestId": 1}})).await;
    let taken_back = stream.message().await;
    assert_eq!(
        (&taken_back["method"], &taken_back["params"]["requestId"]),
        (&json!("notifications/cancelled"), &question["id"])
    );
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn a_call_of_a_session_outlives_its_connection_and_its_client_comes_back_for_the_result() {
    let running = talk::running(|_| {}).await;
    let client = Client::begin(&running, LEGACY).await;
    let mut stream = Events::of(client.call(1, "talk_greet", json!({})).await);
    assert_eq!(stream.next().await.unwrap().id.as_deref(), Some("1/0"));
    let question = stream.next().await.unwrap();
    assert_eq!(question.id.as_deref(), Some("1/1"));
    drop(stream);
    let answer = json!({"id": question.message()["id"], "result": {"action": "accept", "content": {"name": "Ada"}}});
    assert_eq!(client.post(answer).await.status(), 202);
    for (last, messages) in [("1/1", 1), ("1/0", 2), ("1/1", 1)] {
        let events = Events::of(client.get(Some(last)).await).rest().await;
        assert_eq!((events[0].id.as_deref(), &*events[0].data), (Some(last), ""));
        assert_eq!(events.len(), messages + 1, "{last} {events:?}");
        let result = events.last().unwrap();
        assert_eq!(result.id.as_deref(), Some("1/2"));
        assert_eq!(result.message()["result"]["structuredContent"], json!({"greeted": "Ada"}));
    }
    for unknown in ["9/0", "1", "x/y", "1/-1", ""] {
        assert_eq!(Events::of(client.get(Some(unknown)).await).rest().await, [], "{unknown}");
    }
}

#[tokio::test]
async fn changes_are_told_on_the_latest_stream_for_them_and_wait_until_there_is_one() {
    let running = talk::running(|_| {}).await;
    for version in [OLDER, LEGACY] {
        let client = Client::begin(&running, version).await;
        let subscribe = json!({"id": 1, "method": "resources/subscribe", "params": {"uri": "talk://readme"}});
        assert_eq!(client.post(subscribe).await.status(), 200);
        // Nobody listens yet.
        let call = json!({"id": 2, "method": "tools/call", "params": {"name": "talk_change"}});
        assert_eq!(client.post(call.clone()).await.status(), 200);
        let mut first = Events::of(client.get(None).await);
        let mut last = None;
        let mut told = Vec::<String>::new();
        while !told.iter().any(|method| method == "notifications/resources/updated") {
            let event = first.next().await.unwrap();
            last = event.id.clone();
            if !event.data.is_empty() {
                told.push(event.message()["method"].as_str().unwrap().to_owned());
            }
        }
        assert_eq!(last.is_some(), version == LEGACY);
        let mut second = Events::of(client.get(None).await);
        assert!(first.rest().await.iter().all(|event| event.message()["method"] != "notifications/resources/updated"));
        assert_eq!(client.post(call).await.status(), 200);
        while !second.next().await.unwrap().data.contains("resources/updated") {}
        if version == LEGACY {
            // Whoever has lost a stream of changes is told the last of them again.
            let mut again = Events::of(client.get(Some("0/0")).await);
            while !again.next().await.unwrap().data.contains("resources/updated") {}
        }
    }
}

#[tokio::test]
async fn a_session_takes_what_is_no_request_for_what_it_is() {
    let running = Running::start().await;
    let client = Client::begin(&running, LEGACY).await;
    for (body, status) in [
        ("{".to_owned(), 400),
        ("[]".to_owned(), 400),
        (json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]).to_string(), 400),
        (json!({"jsonrpc": "2.0", "id": 1}).to_string(), 400),
        (json!({"jsonrpc": "2.0", "id": 1, "result": {}}).to_string(), 202),
        (json!({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": ""}}).to_string(), 202),
        (json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}).to_string(), 202),
        (json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": {}}}).to_string(), 202),
        (json!({"jsonrpc": "2.0", "id": null, "method": "ping"}).to_string(), 400),
        (
            json!({"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": {"level": "loud"}}).to_string(),
            200,
        ),
        (json!({"jsonrpc": "2.0", "id": 1, "method": "no/such"}).to_string(), 200),
    ] {
        assert_eq!(client.send(Method::POST, body.clone(), &[]).await.status(), status, "{body}");
    }
    let _: Value = client.answer(message(LEGACY, "tools/list", json!({})).0).await.result();
}

/// A service whose one operation says in which session it was called, and another that fails.
fn of_sessions() -> redress_core::Registry {
    use redress_core::{
        DynamicFailure, Operation, Registry,
        contract::{self, Access, FailureDeclaration, Kind, Recovery},
    };
    let query = |name| contract::OperationDeclaration::query(name).with_summary("Tell.").with_access(Access::anyone());
    let missing = FailureDeclaration::new("MISSING", Kind::NotFound)
        .with_when("It is missing.")
        .with_recovery(Recovery::stop("There is nothing left to try here."));
    let session = Operation::dynamic(query("demo.session"))
        .with_handler(|ctx, _| async move { Ok(json!({"session": ctx.session_id()})) });
    let fails = Operation::dynamic(query("demo.fails").fails(missing))
        .with_handler(|_, _| async { Err(DynamicFailure::new("MISSING", json!({})).into()) });
    Registry::builder().add(session).add(fails).build().unwrap()
}

#[tokio::test]
async fn a_call_knows_its_session_where_there_are_sessions() {
    let running = Running::of(of_sessions(), redress_core::testing::Canary::new(), Default::default(), |_| {}, |_| {});
    let running = running.await;
    let client = Client::begin(&running, OLDER).await;
    let asked = |tool: &str| {
        json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": tool, "arguments": {}}})
            .to_string()
    };
    let answer = client.answer(asked("demo_session")).await;
    assert!(answer.text.contains(&format!(r#"{{"session":"{}"}}"#, client.session)), "{answer:?}");
    let failed = client.answer(asked("demo_fails")).await;
    assert!(failed.text.contains(&format!(r#""session_id":"{}""#, client.session)), "{failed:?}");
    // What stands on its own belongs to no session, in either era.
    for version in [OLDER, MODERN] {
        let alone = running.call(version, "demo_session", json!({})).await.result();
        assert_eq!(alone["structuredContent"]["session"], Value::Null, "{version}");
    }
}

#[tokio::test]
async fn a_client_over_lines_has_one_session_from_its_hello_on() {
    let mut talk = crate::lines::Talk::start(of_sessions());
    let session = |answer: Value| answer["result"]["structuredContent"]["session"].clone();
    talk.modern(1, "tools/call", json!({"name": "demo_session"}), json!({}));
    assert_eq!(session(talk.next().await), Value::Null);
    talk.hello(json!({})).await;
    talk.call(2, "demo_session");
    let first = session(talk.next().await);
    assert!(first.as_str().is_some_and(|id| id.len() == 32), "{first}");
    talk.call(3, "demo_session");
    assert_eq!(session(talk.next().await), first);
    talk.call(4, "demo_fails");
    let failed = talk.next().await;
    assert_eq!(failed["result"]["_meta"]["dev.redress/error"]["_meta"]["session_id"], first, "{failed}");
}
