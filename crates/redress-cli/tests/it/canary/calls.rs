//! Every operation, as every kind of caller, over every face.

use std::{process::Stdio, sync::Arc};

use futures_util::{SinkExt as _, StreamExt as _};
use reqwest::{Client, header::HeaderMap};
use serde_json::json;
use tokio::{io::AsyncWriteExt as _, net::TcpStream, process::Command, time::timeout};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _},
    },
};
use tokio_tungstenite::tungstenite::{Message, client::IntoClientRequest as _};

use super::house::{Credential, House, SOON};

const OPERATIONS: [&str; 14] = [
    "hide.nothing",
    "hide.refusal",
    "hide.cause",
    "hide.foreign",
    "hide.known",
    "hide.declared",
    "hide.panic",
    "hide.undeclared",
    "hide.output",
    "hide.payment",
    "hide.agreed",
    "hide.scoped",
    "hide.rare",
    "hide.composed",
];

/// More than may run at once.
const CROWD: usize = 24;

/// Inputs that pass, that are refused for what they hold, that are too deep, and that are no JSON.
fn inputs(input: &str) -> [String; 4] {
    [
        json!({"text": input}).to_string(),
        json!({"text": [input], "texd": input}).to_string(),
        format!(r#"{{"text":{}"{input}"{}}}"#, "[".repeat(40), "]".repeat(40)),
        format!(r#"{{"text": "{input}"#),
    ]
}

/// Makes all calls, and gives every byte of what was answered, by face.
pub(crate) async fn make_all(house: &House) -> Vec<(String, Vec<u8>)> {
    let mut faces: Vec<(String, Vec<u8>)> = Vec::new();
    let mut keep = |face: &str, bytes: Vec<u8>| match faces.iter_mut().find(|(name, _)| name == face) {
        Some((_, all)) => all.extend(bytes),
        None => faces.push((face.to_owned(), bytes)),
    };
    let (mut admitted, mut sessions, mut sockets, mut measured, mut packed) = (0, 0, 0, 0, 0);
    for credential in &house.credentials {
        let http = Http { house, credential, client: house.client(credential) };
        for operation in OPERATIONS {
            let path = format!("/ops/{}", operation.replace('.', "/"));
            for input in inputs(&house.input) {
                keep("/ops", http.post(&path, &input).await);
            }
            let [good, ..] = inputs(&house.input);
            let call = format!(r#"{{"operation":"{operation}","input":{good}}}"#);
            keep("/call", http.post("/call", &call).await);
            keep("/batch", http.post("/batch", &format!("[{call},{call}]")).await);
            let rpc = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{operation}","params":{good}}}"#);
            keep("/rpc", http.post("/rpc", &rpc).await);
            let tool = operation.replace('.', "_");
            let mcp = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{good}}}}}"#
            );
            keep("/mcp", http.post("/mcp", &mcp).await);
        }
        let grant = json!({"operation": "hide.agreed", "reason": "because"}).to_string();
        let granted = http.post("/ops/consent/grant", &grant).await;
        admitted += usize::from(granted.starts_with(b"200"));
        keep("/ops", granted);
        let [good, ..] = inputs(&house.input);
        let stream = format!(r#"{{"operation":"hide.stream","input":{good}}}"#);
        keep("/subscribe", http.post("/subscribe", &stream).await);
        for path in ["/metrics", "/openapi.json", "/openrpc.json", "/contract.json", "/ops", "/readyz", "/nowhere"] {
            let place = if path == "/metrics" { "/metrics" } else { "documents" };
            let said = http.get(path).await;
            if path == "/metrics" && said.starts_with(b"200") {
                measured += 1;
                all_metrics(&said);
            }
            keep(place, said);
        }
        let (packs, said) = http.compressed().await;
        packed += packs;
        keep("compressed", said);
        let (opened, said) = web_socket(house, credential).await;
        sockets += usize::from(opened);
        keep("/ws", said);
        let (opened, said) = http.mcp_session().await;
        sessions += usize::from(opened);
        keep("/mcp", said);
    }
    // One token, one JSON Web Token and one certificate at least are callers; the others are refused.
    assert!(admitted >= 3, "only {admitted} kinds of caller were let in");
    assert!(packed >= 3, "only {packed} answers were compressed");
    assert_eq!(measured, 1, "one caller may read the metrics");
    assert!(sockets >= 3, "only {sockets} kinds of caller opened a WebSocket and were answered");
    let crowd = Http { house, credential: &house.credentials[0], client: house.client(&house.credentials[0]) };
    let [good, ..] = inputs(&house.input);
    let slow = std::iter::repeat_with(|| crowd.post("/ops/hide/slow", &good)).take(CROWD);
    let answers = futures_util::future::join_all(slow).await;
    assert!(answers.iter().any(|answer| answer.starts_with(b"503")), "nobody was refused for want of room");
    answers.into_iter().for_each(|answer| keep("/ops", answer));
    assert!(sessions >= 3, "only {sessions} kinds of caller opened a session of MCP");
    faces
}

struct Http<'a> {
    house: &'a House,
    credential: &'a Credential,
    client: Client,
}

impl Http<'_> {
    async fn post(&self, path: &str, body: &str) -> Vec<u8> {
        let request = self.client.post(self.house.url(path)).body(body.to_owned());
        let mut request = request
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("x-forwarded-for", "203.0.113.9")
            .header("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
        // The one operation that takes a key.
        if path.contains("payment") || body.contains("payment") {
            let key = format!("key-{}-{}", self.credential.name.len(), path.len());
            request = request.header("idempotency-key", key);
        }
        self.send(request).await
    }

    /// Opens a session of MCP, and says in it what no part of the service takes: whether it was opened, and every
    /// answer.
    async fn mcp_session(&self) -> (bool, Vec<u8>) {
        let input = &self.house.input;
        let about = json!({"name": input, "version": input});
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}, "clientInfo": about});
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let opened = self.post("/mcp", &hello.to_string()).await;
        let text = String::from_utf8_lossy(&opened).into_owned();
        let Some(session) = text.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")) else {
            return (false, opened);
        };
        let mut said = opened.clone();
        for (method, params) in [
            ("notifications/initialized", json!({"_meta": {"note": input}})),
            ("notifications/x", json!({"password": input})),
            ("notifications/cancelled", json!({"requestId": input, "reason": input})),
            ("notifications/progress", json!({"progressToken": input, "progress": 1, "message": input})),
        ] {
            let message = json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string();
            let request = self.client.post(self.house.url("/mcp")).body(message).header("mcp-session-id", session);
            let request = request
                .header("content-type", "application/json")
                .header("accept", "application/json, text/event-stream")
                .header("mcp-protocol-version", "2025-06-18");
            let answer = self.send(request).await;
            assert!(answer.starts_with(b"202"), "{}", String::from_utf8_lossy(&answer));
            said.extend(answer);
        }
        let request = self.client.delete(self.house.url("/mcp")).header("mcp-session-id", session);
        said.extend(self.send(request.header("accept", "application/json, text/event-stream")).await);
        (true, said)
    }

    /// What comes where the reader takes it compressed, as it is then read, and how many answers were.
    async fn compressed(&self) -> (usize, Vec<u8>) {
        let (mut packs, mut said) = (0, Vec::new());
        let [good, ..] = inputs(&self.house.input);
        let call = format!(r#"{{"operation":"hide.composed","input":{good}}}"#);
        let calls = format!("[{}]", [call.as_str(); 20].join(","));
        for request in [
            self.client.post(self.house.url("/batch")).header("content-type", "application/json").body(calls),
            self.client.get(self.house.url("/contract.json")),
        ] {
            let mut request = request.header("accept-encoding", "gzip");
            if let Some(token) = &self.credential.token {
                request = request.bearer_auth(token);
            }
            let answer = timeout(SOON, request.send()).await.expect("an answer comes").unwrap();
            let packed = answer.headers().get("content-encoding").is_some_and(|by| by == "gzip");
            packs += usize::from(packed);
            said.extend(told(answer.headers()).into_bytes());
            let body = timeout(SOON, answer.bytes()).await.expect("the answer ends").unwrap();
            said.extend(if packed { unpacked(&body).await } else { body.to_vec() });
        }
        (packs, said)
    }

    async fn get(&self, path: &str) -> Vec<u8> {
        self.send(self.client.get(self.house.url(path))).await
    }

    async fn send(&self, mut request: reqwest::RequestBuilder) -> Vec<u8> {
        if let Some(token) = &self.credential.token {
            request = request.bearer_auth(token);
        }
        let answer = timeout(SOON, request.send()).await.expect("an answer comes").unwrap();
        let (status, headers) = (answer.status(), told(answer.headers()));
        let body = timeout(SOON, answer.bytes()).await.expect("the answer ends").unwrap();
        [format!("{status}\n{headers}\n").as_bytes(), &body, b"\n"].concat()
    }
}

fn told(headers: &HeaderMap) -> String {
    headers.iter().map(|(name, value)| format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes()))).collect()
}

/// What was compressed, by the program that everybody has.
async fn unpacked(body: &[u8]) -> Vec<u8> {
    let mut gzip = Command::new("gzip");
    let mut gzip = gzip.arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, body) = (gzip.stdin.take().unwrap(), body.to_vec());
    let writes = tokio::spawn(async move { input.write_all(&body).await });
    let output = timeout(SOON, gzip.wait_with_output()).await.expect("it ends").unwrap();
    writes.await.unwrap().unwrap();
    assert!(output.status.success() && !output.stdout.is_empty());
    output.stdout
}

/// Whether a service with everything switched on tells every metric that there is, but those of services behind a gateway: this
/// one is none.
fn all_metrics(page: &[u8]) {
    let page = String::from_utf8_lossy(page);
    for name in redress_telemetry::names::ALL.iter().filter(|name| !name.name().starts_with("redress_upstream_")) {
        assert!(page.contains(&format!("\n{}", name.name())), "/metrics does not tell {}", name.name());
    }
}

/// Whether a caller was answered well, and everything that one socket says while each operation is called on it, as
/// whom the connection is and as whom the message says.
async fn web_socket(house: &House, credential: &Credential) -> (bool, Vec<u8>) {
    let mut roots = RootCertStore::empty();
    roots.add(house.ca.der().clone()).unwrap();
    let config = ClientConfig::builder().with_root_certificates(roots);
    let config = if credential.certificate {
        let certificates = CertificateDer::pem_slice_iter(house.identity.as_bytes()).map(Result::unwrap).collect();
        let key = PrivateKeyDer::from_pem_slice(house.identity.as_bytes()).unwrap();
        config.with_client_auth_cert(certificates, key).unwrap()
    } else {
        config.with_no_client_auth()
    };
    let stream = TcpStream::connect(&house.address).await.unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    let mut request = format!("wss://{}/ws", house.address).into_client_request().unwrap();
    if let Some(token) = &credential.token {
        request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    }
    let (mut socket, handshake) = match tokio_tungstenite::client_async(request, stream).await {
        Ok(open) => open,
        Err(tokio_tungstenite::tungstenite::Error::Http(refused)) => {
            return (false, refused.body().clone().unwrap_or_default());
        }
        Err(error) => panic!("{error}"),
    };
    let mut said = told(handshake.headers()).into_bytes();
    let mut answered = false;
    let all = OPERATIONS.iter().chain(&["hide.stream"]);
    let twice = all.clone().map(|operation| (operation, false)).chain(all.map(|operation| (operation, true)));
    for (place, (operation, own)) in twice.enumerate() {
        let mut payload = json!({"operation": operation, "input": {"text": house.input}});
        if let (true, Some(token)) = (own, &credential.token) {
            payload["auth_token"] = token.as_str().into();
        }
        let message = json!({"type": "call.requested", "id": place.to_string(), "payload": payload});
        socket.send(Message::text(message.to_string())).await.unwrap();
        loop {
            let message = timeout(SOON, socket.next()).await.expect("a message comes").unwrap().unwrap();
            let text = message.into_text().unwrap();
            said.extend_from_slice(text.as_bytes());
            answered |= *operation == "hide.nothing" && text.contains("fine");
            if *operation != "hide.stream" || text.contains("call.error") || text.contains("call.completed") {
                break;
            }
        }
    }
    (answered, said)
}
