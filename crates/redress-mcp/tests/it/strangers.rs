//! Sessions, questions, streams and states of one caller, and what others can do with them: session hijacking.

use std::{
    collections::HashMap,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use redress_core::{IdentityError, IdentityProvider, Secret, contract::Caller};
use redress_mcp::{HttpOptions, Mcp, McpOptions};
use redress_serve::{Anonymous, Faces, Server, ServerHandle};
use reqwest::{Method, Response};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::Notify,
    time::timeout,
};

use crate::{
    service::{LEGACY, MODERN, message},
    talk,
};

const PATIENCE: Duration = Duration::from_secs(20);

/// Whose each token is, as it is now.
#[derive(Clone, Default)]
struct Tokens(Arc<Mutex<HashMap<String, &'static str>>>, Arc<Notify>);

impl Tokens {
    fn set(&self, token: &str, caller: Option<&'static str>) {
        let mut all = self.0.lock().unwrap();
        match caller {
            Some(caller) => drop(all.insert(token.to_owned(), caller)),
            None => drop(all.remove(token)),
        }
    }
}

impl IdentityProvider for Tokens {
    fn identify<'a>(
        &'a self,
        token: &'a Secret,
    ) -> Pin<Box<dyn Future<Output = Result<Caller, IdentityError>> + Send + 'a>> {
        let known = self.0.lock().unwrap().get(token.expose()).copied();
        self.1.notify_one();
        Box::pin(async move { known.map(Caller::new).ok_or(IdentityError::Invalid) })
    }
}

/// Somebody who sends messages: with a token or none, from an address of this machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Who {
    token: Option<&'static str>,
    from: [u8; 4],
}

pub(crate) const ADA: Who = Who { token: Some("ada-1"), from: [127, 0, 0, 1] };
pub(crate) const ADA_ANEW: Who = Who { token: Some("ada-2"), from: [127, 0, 0, 3] };
pub(crate) const BOB: Who = Who { token: Some("bob-1"), from: [127, 0, 0, 1] };
pub(crate) const NOBODY: Who = Who { token: None, from: [127, 0, 0, 1] };
const NOBODY_ELSEWHERE: Who = Who { token: None, from: [127, 0, 0, 2] };

/// Which server is asked.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Knows {
    /// One that knows callers by their tokens, and serves strangers too.
    Tokens,
    /// One that knows nobody.
    Nobody,
    /// One where whoever is on this machine may do everything.
    Machine,
}

pub(crate) struct Served {
    address: SocketAddr,
    tokens: Tokens,
    knows: Knows,
    handle: ServerHandle,
}

/// The faces of a server that knows these callers, made anew.
fn faces(knows: Knows, tokens: &Tokens, options: impl FnOnce(&mut McpOptions)) -> Faces {
    let registry = match knows {
        Knows::Tokens => talk::build(|builder| builder.identity(tokens.clone())),
        Knows::Nobody | Knows::Machine => talk::registry(),
    };
    let (mut mcp, mut http) = (McpOptions::default(), HttpOptions::default());
    mcp.subscriptions = true;
    options(&mut mcp);
    http.anonymous = true;
    let faces = Faces::new(registry.clone()).mcp(Mcp::new(registry, mcp).unwrap()).mcp_http(http);
    if knows == Knows::Nobody { faces.caller(Anonymous) } else { faces }
}

impl Served {
    pub(crate) async fn that(knows: Knows, options: impl FnOnce(&mut McpOptions)) -> Served {
        let tokens = Tokens::default();
        for (token, caller) in [("ada-1", "ada"), ("ada-2", "ada"), ("bob-1", "bob")] {
            tokens.set(token, Some(caller));
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = Server::new(faces(knows, &tokens, options)).listener(listener).bind().await.unwrap();
        let handle = server.handle();
        tokio::spawn(server.run(std::future::pending::<()>()));
        Served { address, tokens, knows, handle }
    }

    /// Puts new faces in the place of those that are served, as a reload does.
    pub(crate) fn reload(&self, options: impl FnOnce(&mut McpOptions)) {
        self.handle.replace(faces(self.knows, &self.tokens, options));
    }

    async fn send(&self, who: Who, method: Method, body: String, headers: &[(&str, &str)]) -> Response {
        let client = reqwest::Client::builder().local_address(IpAddr::from(who.from)).build().unwrap();
        let request = client.request(method, format!("http://{}/mcp", self.address)).body(body);
        let request = request.header("content-type", "application/json");
        let request = request.header("accept", "application/json, text/event-stream");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let request = who.token.into_iter().fold(request, reqwest::RequestBuilder::bearer_auth);
        timeout(PATIENCE, request.send()).await.unwrap().unwrap()
    }

    /// A session of a client that can be asked something.
    async fn begin(&self, who: Who) -> String {
        let hello = json!({
            "protocolVersion": LEGACY,
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let (body, _) = message(LEGACY, "initialize", hello);
        let begun = self.send(who, Method::POST, body, &[]).await;
        let session = begun.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.within(who, &session, &Act::post(ready)).await.status(), 202);
        session
    }

    async fn within(&self, who: Who, session: &str, act: &Act) -> Response {
        let mut headers = vec![("mcp-session-id", session), ("mcp-protocol-version", LEGACY)];
        headers.extend(act.last_event.map(|last| ("last-event-id", last)));
        self.send(who, act.method.clone(), act.body.clone(), &headers).await
    }

    /// Sends a request of the modern era.
    pub(crate) async fn ask(&self, who: Who, method: &str, mut params: Value) -> Value {
        params["_meta"] = json!({"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}});
        let (body, headers) = message(MODERN, method, params);
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let text = self.send(who, Method::POST, body, &headers).await.text().await.unwrap();
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"))
    }
}

/// Something that is done in a session.
#[derive(Debug)]
struct Act {
    method: Method,
    body: String,
    last_event: Option<&'static str>,
}

impl Act {
    fn post(body: Value) -> Act {
        Act { method: Method::POST, body: body.to_string(), last_event: None }
    }

    fn ask(method: &str, params: Value) -> Act {
        Act::post(json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}))
    }

    fn bare(method: Method, last_event: Option<&'static str>) -> Act {
        Act { method, body: String::new(), last_event }
    }
}

fn agreed(id: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept", "content": {"agree": true}}})
}

/// Everything that can be done in a session, with the question of this id waiting in it.
fn acts(question: &Value) -> Vec<Act> {
    vec![
        Act::post(agreed(question)),
        Act::post(json!({"jsonrpc": "2.0", "id": question, "error": {"code": -32603, "message": "no"}})),
        Act::post(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})),
        Act::post(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})),
        Act::post(json!([agreed(question)])),
        Act::ask("ping", json!({})),
        Act::ask(
            "initialize",
            json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}),
        ),
        Act::ask("tools/list", json!({})),
        Act::ask("tools/call", json!({"name": "talk_beta", "arguments": {}})),
        Act::ask("prompts/get", json!({"name": "talk_review", "arguments": {"path": "a"}})),
        Act::ask("logging/setLevel", json!({"level": "debug"})),
        Act::ask("resources/subscribe", json!({"uri": "talk://readme"})),
        Act::ask("resources/unsubscribe", json!({"uri": "talk://readme"})),
        Act { body: "{".to_owned(), ..Act::post(json!({})) },
        Act::bare(Method::GET, None),
        Act::bare(Method::GET, Some("0")),
        Act::bare(Method::GET, Some("0/0")),
        Act::bare(Method::GET, Some("0/1")),
        Act::bare(Method::GET, Some("1/1")),
        Act::bare(Method::GET, Some("zzz")),
        Act::bare(Method::DELETE, None),
    ]
}

/// The next message of a stream, with the id of its event.
async fn next(stream: &mut Response, read: &mut String) -> (String, Value) {
    loop {
        while let Some((event, rest)) = read.split_once("\n\n") {
            let (event, rest) = (event.to_owned(), rest.to_owned());
            *read = rest;
            let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
            if let Some(message) = field("data:").and_then(|data| serde_json::from_str(data).ok()) {
                return (field("id:").unwrap_or_default().to_owned(), message);
            }
        }
        let chunk = timeout(PATIENCE, stream.chunk()).await.unwrap().unwrap().expect("the stream goes on");
        read.push_str(std::str::from_utf8(&chunk).unwrap());
    }
}

/// An answer without what differs from one call to the next.
async fn shape(answer: Response) -> (u16, Vec<(String, String)>, String) {
    let status = answer.status().as_u16();
    let length = answer.headers().get("content-length").map(|length| length.to_str().unwrap().to_owned());
    // How long it is follows from the body, but for the digits of the time that it took; that they are there does not differ.
    let own = |name: &str| matches!(name, "date" | "x-request-id" | "content-length");
    let shown = |name: &str, value: &str| if own(name) { String::new() } else { value.to_owned() };
    let headers = answer.headers().iter();
    let mut headers: Vec<_> =
        headers.map(|(name, value)| (name.to_string(), shown(name.as_str(), value.to_str().unwrap()))).collect();
    headers.sort();
    let text = answer.text().await.unwrap();
    assert!(length.is_none_or(|length| length == text.len().to_string()), "{text}");
    let Ok(mut body) = serde_json::from_str::<Value>(&text) else { return (status, headers, text) };
    if let Some(meta) = body.pointer_mut("/error/data/_meta").and_then(Value::as_object_mut) {
        meta.insert("request_id".to_owned(), "".into());
        meta.insert("elapsed_ms".to_owned(), 0.into());
    }
    (status, headers, body.to_string())
}

#[tokio::test]
async fn nobody_but_its_caller_can_use_end_or_even_see_a_session() {
    let made_up = "00000000-0000-4000-8000-000000000000";
    for (knows, owner, strangers) in [
        (Knows::Tokens, ADA, vec![BOB, NOBODY, NOBODY_ELSEWHERE]),
        (Knows::Tokens, NOBODY, vec![ADA, NOBODY_ELSEWHERE]),
        (Knows::Nobody, NOBODY, vec![NOBODY_ELSEWHERE]),
    ] {
        let served = Served::that(knows, |_| {}).await;
        let session = served.begin(owner).await;
        // Only a caller that is known can agree to anything, and anybody can be asked for a name.
        let tool = if owner == ADA { "talk_wipe" } else { "talk_greet" };
        let call =
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {}}});
        let mut stream = served.within(owner, &session, &Act::post(call)).await;
        let (mut read, mut common_read) = (String::new(), String::new());
        // A question comes on the stream of its call, or on that of the session.
        let mut common = served.within(owner, &session, &Act::bare(Method::GET, None)).await;
        let (_, question) = tokio::select! {
            question = next(&mut stream, &mut read) => question,
            question = next(&mut common, &mut common_read) => question,
        };
        assert_eq!(question["method"], "elicitation/create");
        for stranger in strangers {
            for act in acts(&question["id"]) {
                let theirs = served.within(stranger, &session, &act).await;
                assert_eq!(theirs.status(), 404, "{stranger:?} {act:?}");
                let unknown = served.within(stranger, made_up, &act).await;
                assert_eq!(shape(theirs).await, shape(unknown).await, "{stranger:?} {act:?}");
            }
        }
        let answer = if owner == ADA { json!({"agree": true}) } else { json!({"name": "Ada"}) };
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": answer}});
        assert_eq!(served.within(owner, &session, &Act::post(answer)).await.status(), 202);
        let (_, done) = next(&mut stream, &mut read).await;
        let expected = if owner == ADA { json!({"wiped": true}) } else { json!({"greeted": "Ada"}) };
        assert_eq!(done["result"]["structuredContent"], expected, "the question waited for whom it was asked");
        assert_eq!(served.within(owner, &session, &Act::bare(Method::DELETE, None)).await.status(), 204);
        let gone = served.within(owner, &session, &Act::ask("ping", json!({}))).await;
        let unknown = served.within(owner, made_up, &Act::ask("ping", json!({}))).await;
        assert_eq!(shape(gone).await, shape(unknown).await);
    }
}

#[tokio::test]
async fn a_session_outlives_the_token_of_its_caller_and_ends_with_the_last_one() {
    let served = Served::that(Knows::Tokens, |_| {}).await;
    let session = served.begin(ADA).await;
    served.tokens.set("ada-1", None);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "talk_wipe"}});
    let mut stream = served.within(ADA_ANEW, &session, &Act::post(call)).await;
    let mut common = served.within(ADA_ANEW, &session, &Act::bare(Method::GET, None)).await;
    let (mut read, mut common_read) = (String::new(), String::new());
    let (_, question) = tokio::select! {
        question = next(&mut stream, &mut read) => question,
        question = next(&mut common, &mut common_read) => question,
    };
    for act in acts(&question["id"]) {
        assert_eq!(served.within(ADA, &session, &act).await.status(), 401, "{act:?}");
    }
    served.tokens.set("ada-2", None);
    for act in acts(&question["id"]) {
        assert_eq!(served.within(ADA_ANEW, &session, &act).await.status(), 401, "{act:?}");
    }
    // The same token as somebody else is somebody else.
    served.tokens.set("ada-2", Some("eve"));
    assert_eq!(served.within(ADA_ANEW, &session, &Act::post(agreed(&question["id"]))).await.status(), 404);
    served.tokens.set("ada-2", Some("ada"));
    assert_eq!(served.within(ADA_ANEW, &session, &Act::post(agreed(&question["id"]))).await.status(), 202);
    let (_, done) = next(&mut stream, &mut read).await;
    assert_eq!(done["result"]["structuredContent"], json!({"wiped": true}));
}

#[tokio::test]
async fn a_token_that_is_revoked_while_a_message_still_comes_in_is_worth_nothing() {
    let served = Served::that(Knows::Tokens, |_| {}).await;
    let (body, _) = message(LEGACY, "ping", json!({}));
    let (first, rest) = body.split_at(body.len() / 2);
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nauthorization: Bearer \
         ada-1\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{first}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    timeout(PATIENCE, served.tokens.1.notified()).await.expect("the token is looked at");
    served.tokens.set("ada-1", None);
    stream.write_all(rest.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
}

#[tokio::test]
async fn a_session_of_this_machine_is_not_for_a_web_page_on_it() {
    let served = Served::that(Knows::Machine, |_| {}).await;
    let session = served.begin(NOBODY).await;
    let ping = Act::ask("ping", json!({}));
    assert_eq!(served.within(NOBODY_ELSEWHERE, &session, &ping).await.status(), 200, "it is the same machine");
    // Through a proxy it need not be.
    let headers = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", LEGACY), ("via", "1.1 proxy")];
    assert_eq!(served.send(NOBODY, Method::POST, ping.body.clone(), &headers).await.status(), 404);
}

#[tokio::test]
async fn a_state_goes_on_for_its_caller_alone() {
    for (knows, owner, strangers) in [
        (Knows::Tokens, ADA, vec![BOB, NOBODY]),
        (Knows::Tokens, NOBODY, vec![ADA, NOBODY_ELSEWHERE]),
        (Knows::Nobody, NOBODY, vec![NOBODY_ELSEWHERE]),
    ] {
        let served = Served::that(knows, |_| {}).await;
        for (method, name) in [("tools/call", "talk_greet"), ("prompts/get", "talk_asks")] {
            let first = served.ask(owner, method, json!({"name": name})).await;
            let answers = json!({"who": {"action": "accept", "content": {"name": "Ada"}}});
            let again =
                json!({"name": name, "requestState": first["result"]["requestState"], "inputResponses": answers});
            for stranger in &strangers {
                let refused = served.ask(*stranger, method, again.clone()).await;
                assert_eq!(refused["error"]["code"], -32602, "{stranger:?} {refused}");
            }
            let done = served.ask(owner, method, again).await;
            assert!(done["result"]["resultType"] == "complete", "{done}");
        }
    }
}

#[tokio::test]
async fn a_state_that_is_too_old_is_refused() {
    let served = Served::that(Knows::Tokens, |options| options.state_lasts = Duration::ZERO).await;
    let first = served.ask(ADA, "tools/call", json!({"name": "talk_greet"})).await;
    let again = json!({
        "name": "talk_greet",
        "requestState": first["result"]["requestState"],
        "inputResponses": {"who": {"action": "accept", "content": {"name": "Ada"}}},
    });
    let refused = timeout(PATIENCE, async {
        loop {
            let answer = served.ask(ADA, "tools/call", again.clone()).await;
            if answer["error"].is_object() {
                return answer;
            }
        }
    });
    assert_eq!(refused.await.unwrap()["error"]["code"], -32602);
}
