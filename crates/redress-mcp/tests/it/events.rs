//! A client of a session, and the event streams that it reads.

use std::time::Duration;

use reqwest::{Method, Response};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::service::{Answer, Running};

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A client of a session, which can be asked anything.
pub(crate) struct Client<'a> {
    pub(crate) running: &'a Running,
    pub(crate) session: String,
    pub(crate) version: &'static str,
}

impl Client<'_> {
    /// A session of a client that asks for this revision.
    pub(crate) async fn begin<'a>(running: &'a Running, version: &'static str) -> Client<'a> {
        let hello = json!({
            "protocolVersion": version,
            "capabilities": {"elicitation": {}, "sampling": {}, "roots": {}},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}).to_string();
        let begun = running.send(hello, &[]).await;
        assert_eq!((begun.status, begun.header("content-type")), (200, "application/json"));
        assert_eq!(begun.result()["protocolVersion"], version);
        let client = Client { running, session: begun.header("mcp-session-id").to_owned(), version };
        let ready = client.post(json!({"method": "notifications/initialized"})).await;
        assert_eq!(ready.status(), 202);
        client
    }

    pub(crate) async fn send(&self, method: Method, body: String, headers: &[(&str, &str)]) -> Response {
        let request = self.running.client.request(method, self.running.url()).body(body);
        let own = [("mcp-session-id", &*self.session), ("mcp-protocol-version", self.version)];
        let usual = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
        let usual = usual.into_iter().filter(|(name, _)| !headers.iter().any(|(given, _)| given == name));
        let all = own.into_iter().chain(usual).chain(headers.iter().copied());
        let request = all.fold(request, |request, (name, value)| request.header(name, value));
        timeout(PATIENCE, request.send()).await.unwrap().unwrap()
    }

    /// Sends a message, whose members beside the version are these.
    pub(crate) async fn post(&self, mut message: Value) -> Response {
        message["jsonrpc"] = "2.0".into();
        self.send(Method::POST, message.to_string(), &[]).await
    }

    /// Calls a tool under an id, which its progress is told by too.
    pub(crate) async fn call(&self, id: u64, tool: &str, arguments: Value) -> Response {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": id}});
        self.post(json!({"id": id, "method": "tools/call", "params": params})).await
    }

    /// Opens the stream of changes, or goes on with one behind the event of an id.
    pub(crate) async fn get(&self, last: Option<&str>) -> Response {
        let last: Vec<_> = last.map(|last| ("last-event-id", last)).into_iter().collect();
        self.send(Method::GET, String::new(), &last).await
    }

    /// The whole answer to a message.
    pub(crate) async fn answer(&self, body: String) -> Answer {
        let response = self.send(Method::POST, body, &[]).await;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Answer { status, headers, text: timeout(PATIENCE, response.text()).await.unwrap().unwrap() }
    }
}

/// An event: its id, and its data as it came.
#[derive(Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) data: String,
}

impl Event {
    pub(crate) fn message(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|_| panic!("{self:?}"))
    }
}

/// The events of a stream.
pub(crate) struct Events {
    response: Response,
    read: String,
}

impl Events {
    #[track_caller]
    pub(crate) fn of(response: Response) -> Events {
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Events { response, read: String::new() }
    }

    /// The next one; none at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((event, rest)) = self.read.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.read = rest;
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
                // A comment keeps the connection alive, and is no event.
                if let Some(data) = field("data: ") {
                    return Some(Event { id: field("id: "), data });
                }
                continue;
            }
            let chunk = timeout(PATIENCE, self.response.chunk()).await.expect("the stream goes on").unwrap()?;
            self.read.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    /// The message of the next event.
    pub(crate) async fn message(&mut self) -> Value {
        self.next().await.expect("there is another event").message()
    }

    /// The events up to the end.
    pub(crate) async fn rest(mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}
