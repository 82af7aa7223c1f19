//! Callers that a token tells.

use std::{
    future::ready,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::http::HeaderValue;
use futures_util::{SinkExt as _, StreamExt as _, stream};
use redress_core::{
    Events, Extension, IdentityError, IdentityProvider, Operation, Registry, Secret,
    contract::{self, Access, Caller},
    testing::Canary,
};
use redress_serve::Faces;
use serde_json::json;
use tokio_tungstenite::{
    connect_async,
    tungstenite::{Message, client::IntoClientRequest as _},
};

use crate::service::{Answer, Running};

/// Knows the tokens of Ada, who may read things, and of Bob, who may not.
struct Tokens {
    ada: String,
    bob: String,
    old: String,
}

impl IdentityProvider for Tokens {
    fn identify<'a>(
        &'a self,
        token: &'a Secret,
    ) -> Pin<Box<dyn Future<Output = Result<Caller, IdentityError>> + Send + 'a>> {
        let token = token.expose();
        Box::pin(ready(if token == self.ada {
            Ok(Caller::new("ada").scope("things:read"))
        } else if token == self.bob {
            Ok(Caller::new("bob"))
        } else if token == self.old {
            Err(IdentityError::Expired)
        } else {
            Err(IdentityError::Invalid)
        }))
    }
}

async fn start() -> (Running, [String; 3]) {
    let canary = Canary::new();
    let [ada, bob, old] = ["ada's token", "bob's token", "a token that has expired"].map(|what| canary.plant(what));
    let read = contract::OperationDeclaration::query("things.read")
        .with_summary("Read a thing.")
        .with_access(Access::caller().scope("things:read"));
    let read = Operation::dynamic(read).with_handler(|ctx, _| async move { Ok(json!(ctx.caller().map(Caller::id))) });
    let open =
        contract::OperationDeclaration::query("things.open").with_summary("Open to all.").with_access(Access::anyone());
    let open = Operation::dynamic(open).with_handler(|ctx, _| async move { Ok(json!(ctx.caller().map(Caller::id))) });
    let tokens = Tokens { ada: ada.clone(), bob: bob.clone(), old: old.clone() };
    let registry = Registry::builder().identity(tokens).add(read).add(open).build().unwrap();
    (Running::of(Faces::new(registry), canary, Default::default()).await, [ada, bob, old])
}

#[tokio::test]
async fn a_token_tells_who_calls_and_without_a_good_one_nobody_does() {
    let (running, [ada, bob, old]) = start().await;
    let bearer = |token: &str| format!("Bearer {token}");
    let challenge = r#"Bearer realm="redress""#;
    let invalid = format!("{challenge}, {}", redress_wire::http::INVALID_TOKEN);
    let scope = format!(r#"{challenge}, error="insufficient_scope", scope="things:read""#);
    let cases = [
        (None, 401, "AUTH_REQUIRED", challenge),
        (Some(bearer("nobody's")), 401, "AUTH_REQUIRED", &*invalid),
        (Some(bearer(&old)), 401, "AUTH_REQUIRED", &*invalid),
        (Some(bearer("")), 401, "AUTH_REQUIRED", challenge),
        (Some(format!("Basic {ada}")), 401, "AUTH_REQUIRED", challenge),
        (Some(bearer(&bob)), 403, "FORBIDDEN", &*scope),
        (Some(bearer(&ada)), 200, "", ""),
        (Some(format!("bEaReR  {ada}")), 200, "", ""),
    ];
    for (authorization, status, code, challenge) in cases {
        let headers: Vec<(&str, &str)> = authorization.iter().map(|value| ("authorization", value.as_str())).collect();
        let plain = running.post_with("/ops/things/read", "{}", &headers).await;
        let called = running.post_with("/call", r#"{"operation":"things.read"}"#, &headers).await;
        let message = r#"{"jsonrpc":"2.0","id":1,"method":"things.read"}"#;
        let answered = running.post_with("/rpc", message, &headers).await.json();
        for answer in [&plain, &called] {
            assert_eq!((answer.status, answer.header("www-authenticate")), (status, challenge), "{code}");
        }
        if status == 200 {
            assert_eq!((plain.text.as_str(), &called.json()["result"]), ("\"ada\"", &json!("ada")));
            assert_eq!(answered["result"], "ada");
        } else {
            let number = if status == 401 { -32006 } else { -32005 };
            assert_eq!((&plain.json()["code"], &called.json()["code"]), (&json!(code), &json!(code)));
            assert_eq!(
                (&answered["error"]["code"], &answered["error"]["data"]["code"]),
                (&json!(number), &json!(code))
            );
        }
    }
    running.canary.assert_clean();
}

#[tokio::test]
async fn a_bad_token_is_refused_where_no_token_is_needed() {
    // Whoever sends a token means to be somebody; to go on as nobody would be a surprise.
    let (running, [ada, ..]) = start().await;
    assert_eq!(running.post("/ops/things/open", "{}").await.text, "null");
    let refused = running.post_with("/ops/things/open", "{}", &[("authorization", "Bearer x")]).await;
    assert_eq!((refused.status, &refused.json()["code"]), (401, &json!("AUTH_REQUIRED")));
    let known = running.post_with("/ops/things/open", "{}", &[("authorization", &format!("Bearer {ada}"))]).await;
    assert_eq!(known.text, "\"ada\"");
}

#[tokio::test]
async fn a_server_that_takes_no_credentials_lets_a_token_be_on_every_face() {
    let who = contract::OperationDeclaration::query("things.who").with_summary("Who?").with_access(Access::caller());
    let who = Operation::dynamic(who).with_handler(|ctx, _| async move { Ok(json!(ctx.caller().map(Caller::id))) });
    let registry = Registry::builder().add(who).build().unwrap();
    let running = Running::of(Faces::new(registry), Canary::new(), Default::default()).await;
    let bearer = [("authorization", "Bearer nobody-knows-this")];
    let call = r#"{"operation":"things.who","input":{}}"#;
    let rpc = r#"{"jsonrpc":"2.0","id":1,"method":"things.who","params":{}}"#;
    let tool = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"things_who","arguments":{}}}"#;
    for (path, body, pointer) in [
        ("/ops/things/who", "{}".to_owned(), ""),
        ("/call", call.to_owned(), "/result"),
        ("/batch", format!("[{call}]"), "/0/result"),
        ("/rpc", rpc.to_owned(), "/result"),
        ("/mcp", tool.to_owned(), "/result/content/0/text"),
    ] {
        let accept = [bearer[0], ("accept", "application/json, text/event-stream")];
        let answer = running.post_with(path, &body, &accept).await;
        // The text of a tool is JSON itself.
        let wanted = if path == "/mcp" { json!("\"local\"") } else { json!("local") };
        assert_eq!(answer.json().pointer(pointer), Some(&wanted), "{path}: {}", answer.text);
    }
    let mut request = running.url("/ws").replace("http", "ws").into_client_request().unwrap();
    request.headers_mut().insert("authorization", HeaderValue::from_static("Bearer nobody-knows-this"));
    let (mut socket, _) = connect_async(request).await.unwrap();
    for token in [json!("nobody-knows-this"), json!(null)] {
        let payload = json!({"operation": "things.who", "input": {}, "auth_token": token});
        let message = json!({"type": "call.requested", "id": "t", "payload": payload});
        socket.send(Message::text(message.to_string())).await.unwrap();
        let answer = socket.next().await.unwrap().unwrap().into_text().unwrap();
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["payload"]["output"], "local", "{answer}");
    }
}

#[tokio::test]
async fn an_extensions_own_codes_are_in_the_index_of_codes() {
    let own = contract::FailureDeclaration::new("NOT_RECORDING", contract::Kind::Conflict)
        .with_when("Nothing is recorded right now.")
        .with_message("nothing is recorded right now")
        .with_recovery(contract::Recovery::stop("Stop, and tell the user that nothing is recorded."));
    let extension = Extension::new("trace", "1.0.0").code(own);
    let registry = Registry::builder().extension(extension, serde_json::Value::Null).start().await.unwrap();
    let running = Running::of(Faces::new(registry), Canary::new(), Default::default()).await;
    let index = running.get("/errors").await.json();
    let listed = |code: &str| index["codes"].as_array().unwrap().iter().any(|row| row["code"] == code);
    assert!(listed("trace.NOT_RECORDING") && listed("NOT_FOUND"), "{index}");
    assert_eq!(running.get("/errors/trace.NOT_RECORDING").await.status, 200);
    let page = Answer::of(&running, running.client.get(running.url("/errors")).header("accept", "text/html")).await;
    assert!(page.text.contains("errors/trace.NOT_RECORDING"), "{}", page.text);
}

#[tokio::test]
async fn what_can_be_read_depends_on_the_token() {
    let (running, [ada, bob, _]) = start().await;
    let get = async |path: &str, token: &str| {
        let request = running.client.get(running.url(path)).header("authorization", format!("Bearer {token}"));
        Answer::of(&running, request).await
    };
    for path in ["/ops", "/openapi.json", "/openrpc.json", "/contract.json"] {
        assert!(get(path, &ada).await.text.contains("things.read"), "{path}");
        assert!(!get(path, &bob).await.text.contains("things.read"), "{path}");
        assert!(!running.get(path).await.text.contains("things.read"), "{path}");
        let refused = get(path, "x").await;
        assert_eq!((refused.status, &refused.json()["code"]), (401, &json!("AUTH_REQUIRED")), "{path}");
    }
    let document = get("/openapi.json", &ada).await.json();
    assert_eq!(document["components"]["securitySchemes"]["bearer"]["scheme"], "bearer");
    assert_eq!(document["paths"]["/ops/things/read"]["post"]["security"], json!([{"bearer": ["things:read"]}]));
    running.canary.assert_clean();
}

/// Knows Ada at once, and breaks over one token.
struct Quick;

impl IdentityProvider for Quick {
    fn known(&self, token: &[u8]) -> Option<Arc<Caller>> {
        assert_ne!(token, b"breaking");
        (token == b"ada").then(|| Arc::new(Caller::new("ada").scope("things:read")))
    }

    fn identify<'a>(
        &'a self,
        _: &'a Secret,
    ) -> Pin<Box<dyn Future<Output = Result<Caller, IdentityError>> + Send + 'a>> {
        Box::pin(ready(Err(IdentityError::Invalid)))
    }
}

#[tokio::test]
async fn who_is_known_is_not_asked_about_and_what_is_no_text_is_no_token() {
    let open =
        contract::OperationDeclaration::query("things.open").with_summary("Open to all.").with_access(Access::anyone());
    let open = Operation::dynamic(open).with_handler(|ctx, _| async move { Ok(json!(ctx.caller().map(Caller::id))) });
    let registry = Registry::builder().identity(Quick).add(open).build().unwrap();
    let running = Running::of(Faces::new(registry), Canary::new(), Default::default()).await;
    let ask = async |token: &[u8]| {
        let authorization = HeaderValue::from_bytes(&[b"Bearer ", token].concat()).unwrap();
        let request = running.client.post(running.url("/ops/things/open")).header("authorization", authorization);
        Answer::of(&running, request.header("content-type", "application/json").body("{}")).await
    };
    assert_eq!(ask(b"ada").await.text, "\"ada\"");
    for (token, status, code) in
        [(&b"bob"[..], 401, "AUTH_REQUIRED"), (b"ad\xe4", 401, "AUTH_REQUIRED"), (b"breaking", 500, "INTERNAL")]
    {
        let refused = ask(token).await;
        assert_eq!((refused.status, &refused.json()["code"]), (status, &json!(code)));
    }
}

/// Takes every token, and counts how often it is asked.
struct Counting(Arc<AtomicUsize>);

impl IdentityProvider for Counting {
    fn identify<'a>(
        &'a self,
        token: &'a Secret,
    ) -> Pin<Box<dyn Future<Output = Result<Caller, IdentityError>> + Send + 'a>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(ready(Ok(Caller::new(token.expose()))))
    }
}

#[tokio::test]
async fn who_opens_a_stream_is_asked_once_and_takes_no_place_without_access() {
    let asked = Arc::new(AtomicUsize::new(0));
    let follow = |name: &str, access| {
        let follow = contract::OperationDeclaration::subscription(name).with_summary("Follow.").with_access(access);
        Operation::dynamic(follow).with_stream_handler(|ctx, _| async move {
            let who = json!(ctx.caller().map(Caller::id));
            Ok(Events::new(stream::iter([Ok(who)])))
        })
    };
    let registry = Registry::builder()
        .identity(Counting(Arc::clone(&asked)))
        .add(follow("things.follow", Access::caller()))
        .add(follow("things.watch", Access::caller().scope("things:watch")))
        .build()
        .unwrap();
    let faces = Faces::new(registry.clone());
    let running = Running::of(faces, Canary::new(), Default::default()).await;
    let ada = [("authorization", "Bearer ada")];
    assert_eq!(running.post_with("/ops/things/follow", "{}", &ada).await.events()[0].2, "ada");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    // Where there is no place at all, it is still the access that is told.
    let mut limits = redress_serve::ServerLimits::default();
    limits.streams = 0;
    let running = Running::of(Faces::new(registry).limits(limits), Canary::new(), Default::default()).await;
    assert_eq!(running.post_with("/ops/things/watch", "{}", &ada).await.status, 403);
    assert_eq!(running.post_with("/ops/things/follow", "{}", &ada).await.status, 429);
}

#[tokio::test]
async fn a_tag_of_one_callers_document_is_not_that_of_anothers() {
    let (running, [ada, bob, _]) = start().await;
    let document = |path: &str, token: &str, tag: &str| {
        let request = running.client.get(running.url(path)).bearer_auth(token).header("if-none-match", tag);
        Answer::of(&running, request)
    };
    for path in ["/openapi.json", "/openrpc.json", "/contract.json", "/ops"] {
        let ada_has = document(path, &ada, "\"\"").await.header("etag").to_owned();
        assert_eq!(document(path, &ada, &ada_has).await.status, 304, "{path}");
        let bobs = document(path, &bob, &ada_has).await;
        assert_eq!(bobs.status, 200, "{path}");
        assert_ne!(bobs.header("etag"), ada_has, "{path}");
    }
}
