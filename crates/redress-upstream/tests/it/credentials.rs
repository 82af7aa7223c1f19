//! Every way in which a document asks who calls, and where what is sent comes from.

use std::{
    collections::HashMap,
    net::SocketAddr,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{
    Json, Router,
    extract::State,
    http::HeaderMap,
    routing::{get, post},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use redress_core::Registry;
use redress_upstream::{ClientCredentials, Credential, SecretFrom, Upstream, UpstreamConfig, UpstreamError};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::mock::{Reply, Service, call, config, imported, registry};

/// A document whose operation asks for `requirement` among these schemes.
pub(crate) fn document(schemes: &str, requirement: &str) -> String {
    format!(
        r#"
openapi: 3.1.0
info: {{title: Safe, version: "1"}}
security: {requirement}
paths:
  /open:
    get: {{operationId: look, security: [], responses: {{200: {{description: x}}}}}}
  /safe:
    get: {{operationId: take, responses: {{200: {{description: x}}}}}}
    post: {{operationId: deposit, responses: {{200: {{description: x}}}}}}
components: {{securitySchemes: {{{schemes}}}}}
"#
    )
}

fn file(folder: &Path, name: &str, text: &str) -> SecretFrom {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    SecretFrom::File(path)
}

fn safe(address: SocketAddr, document: &str, credentials: &[(&str, Credential)]) -> (Registry, Upstream) {
    let mut config = config(address);
    config.name = "safe".to_owned();
    config.credentials = credentials.iter().map(|(name, given)| ((*name).to_owned(), given.clone())).collect();
    let upstream = Upstream::new(imported(document), config).unwrap();
    (registry([upstream.clone()]), upstream)
}

#[tokio::test]
async fn every_scheme_is_sent_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let secret = |name: &str, text: &str| file(folder.path(), name, text);
    let (service, address) = Service::start([Reply::of(200, "", "")]).await;
    let schemes = "h: {type: apiKey, in: header, name: X-Key}, q: {type: apiKey, in: query, name: key}, \
         c: {type: apiKey, in: cookie, name: sid}, b: {type: http, scheme: basic}, t: {type: http, scheme: bearer}";
    let given = [
        ("h", Credential::Secret(secret("h", "header-key\n"))),
        ("q", Credential::Secret(secret("q", "query key&"))),
        ("c", Credential::Secret(secret("c", "cookie-key"))),
        ("b", Credential::Basic { user: secret("u", "ada"), password: secret("p", "pass:word") }),
        ("t", Credential::Secret(secret("t", "bearer-token"))),
    ];
    for (requirement, given) in
        [("[{h: [], q: [], c: []}]", &given[..3]), ("[{b: []}]", &given[3..4]), ("[{t: []}]", &given[4..])]
    {
        let (registry, _) = safe(address, &document(schemes, requirement), given);
        let name = named(&registry, "take");
        assert_eq!(call(&registry, &name, json!({})).await["ok"], true);
    }
    let asked = service.asked();
    assert_eq!(asked[0].headers["x-key"], "header-key");
    assert_eq!(asked[0].uri.query(), Some("key=query+key%26"));
    assert_eq!(asked[0].headers["cookie"], "sid=cookie-key");
    let basic = asked[1].headers["authorization"].to_str().unwrap().strip_prefix("Basic ").unwrap().to_owned();
    assert_eq!(STANDARD.decode(basic).unwrap(), b"ada:pass:word");
    assert_eq!(asked[2].headers["authorization"], "Bearer bearer-token");
}

/// The name of the operation that ends so.
pub(crate) fn named(registry: &Registry, end: &str) -> String {
    let mut names = registry.contract().operations().iter().map(|one| one.name().as_str().to_owned());
    names.find(|name| name.ends_with(end)).unwrap()
}

#[tokio::test]
async fn what_is_missing_says_who_must_act_and_nothing_is_sent() {
    let (service, address) = Service::start([Reply::of(200, "", "")]).await;
    let document =
        document("k: {type: apiKey, in: header, name: X-Key}, o: {type: http, scheme: bearer}", "[{k: []}, {o: []}]");
    let (registry, upstream) = safe(address, &document, &[]);
    let envelope = call(&registry, &named(&registry, "take"), json!({})).await;
    assert_eq!((&envelope["code"], &envelope["http"]), (&json!("CREDENTIALS_REQUIRED"), &json!(424)));
    assert_eq!(
        envelope["details"],
        json!({"upstream": "safe", "who": "operator", "reason": "missing", "schemes": ["k", "o"]})
    );
    assert!(service.asked().is_empty());
    assert_eq!(call(&registry, &named(&registry, "look"), json!({})).await["ok"], true, "what asks for nothing works");
    let status = upstream.status().await;
    assert!(status.credentials.iter().all(|one| !one.given && one.trouble.is_none()), "{status:?}");
    let gone = Credential::Secret(SecretFrom::File("/nonexistent/key".into()));
    let (registry, upstream) = safe(address, &document, &[("k", gone)]);
    let envelope = call(&registry, &named(&registry, "take"), json!({})).await;
    assert_eq!(
        (&envelope["code"], &envelope["details"]["reason"]),
        (&json!("CREDENTIALS_REQUIRED"), &json!("unreadable"))
    );
    assert!(!envelope.to_string().contains("nonexistent"), "where it was to come from is the operator's to know");
    let trouble = upstream.status().await.credentials[0].trouble.clone().unwrap();
    assert!(trouble.contains("/nonexistent/key"), "{trouble}");
}

#[tokio::test]
async fn a_secret_that_was_exchanged_is_used_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (service, address) = Service::start([Reply::of(200, "", "")]).await;
    let from = file(folder.path(), "key", "old-key");
    let document = document("k: {type: apiKey, in: header, name: X-Key}", "[{k: []}]");
    let (registry, _) = safe(address, &document, &[("k", Credential::Secret(from))]);
    let name = named(&registry, "deposit");
    assert_eq!(call(&registry, &name, json!({})).await["ok"], true);
    tokio::time::sleep(Duration::from_millis(1100)).await;
    service.tell([Reply::of(401, "", ""), Reply::of(200, "", "")]);
    std::fs::write(folder.path().join("key"), "new-key").unwrap();
    // The service refuses the old one, and the file is read again: a refused call has changed nothing.
    assert_eq!(call(&registry, &name, json!({})).await["ok"], true);
    let sent: Vec<_> =
        service.asked().iter().map(|asked| asked.headers["x-key"].to_str().unwrap().to_owned()).collect();
    assert_eq!(sent.last().map(String::as_str), Some("new-key"), "{sent:?}");
}

#[tokio::test]
async fn no_input_takes_the_place_of_a_credential() {
    let folder = tempfile::tempdir().unwrap();
    let (service, address) = Service::start([Reply::of(200, "", "")]).await;
    let document = r#"
openapi: 3.1.0
info: {title: Safe, version: "1"}
security: [{h: [], q: [], c: []}]
paths:
  /safe:
    get:
      operationId: take
      parameters:
        - {name: X-Key, in: header, schema: {type: string}}
        - {name: key, in: query, schema: {type: string}}
        - {name: other, in: query, schema: {type: string}}
        - {name: sid, in: cookie, schema: {type: string}}
      responses: {200: {description: x}}
components:
  securitySchemes:
    h: {type: apiKey, in: header, name: X-Key}
    q: {type: apiKey, in: query, name: key}
    c: {type: apiKey, in: cookie, name: sid}
"#;
    let given = |name: &str| Credential::Secret(file(folder.path(), name, &format!("own-{name}-secret")));
    let (registry, _) = safe(address, document, &[("h", given("h")), ("q", given("q")), ("c", given("c"))]);
    let name = named(&registry, "take");
    let properties: Vec<String> = registry.operation(&name).unwrap().input().as_value()["properties"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    let input: Value =
        properties.iter().map(|name| (name.clone(), json!("evil"))).collect::<serde_json::Map<_, _>>().into();
    assert_eq!(call(&registry, &name, input).await["ok"], true);
    let asked = service.asked().pop().unwrap();
    assert_eq!(asked.headers["x-key"], "own-h-secret");
    assert_eq!(asked.headers["cookie"], "sid=own-c-secret");
    let query = asked.uri.query().unwrap().to_owned();
    assert!(query.contains("key=own-q-secret") && !query.contains("key=evil"), "{query}");
}

/// The headers and the form of a request for a token.
type AskedForToken = (HeaderMap, HashMap<String, String>);

/// An authorization server.
#[derive(Clone)]
struct Issuer {
    given: Arc<AtomicU64>,
    lasts: Arc<AtomicU64>,
    asked: Arc<Mutex<Vec<AskedForToken>>>,
    address: SocketAddr,
}

async fn issuer() -> Issuer {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let issuer = Issuer { given: Arc::default(), lasts: Arc::new(3600.into()), asked: Arc::default(), address };
    let token = async |State(issuer): State<Issuer>, headers: HeaderMap, body: String| {
        let url = reqwest::Url::parse(&format!("form:?{body}")).unwrap();
        let form: HashMap<String, String> = url.query_pairs().into_owned().collect();
        issuer.asked.lock().unwrap().push((headers, form));
        // Long enough for every caller to come before it is given.
        tokio::time::sleep(Duration::from_millis(100)).await;
        let number = issuer.given.fetch_add(1, Ordering::Relaxed) + 1;
        let lasts = issuer.lasts.load(Ordering::Relaxed);
        Json(json!({"access_token": format!("issued-token-{number}"), "token_type": "Bearer", "expires_in": lasts}))
    };
    let describe = async |State(issuer): State<Issuer>| {
        Json(
            json!({"issuer": format!("http://{}", issuer.address), "token_endpoint": format!("http://{}/token", issuer.address)}),
        )
    };
    let router = Router::new()
        .route("/token", post(token))
        .route("/.well-known/openid-configuration", get(describe))
        .with_state(issuer.clone());
    tokio::spawn(async move { axum::serve(listener, router).await });
    issuer
}

fn client(folder: &Path, issuer: &Issuer) -> ClientCredentials {
    let mut client = ClientCredentials::new(file(folder, "id", "gateway"), file(folder, "secret", "client secret/+"));
    client.token_url = Some(format!("http://{}/token", issuer.address));
    client
}

const OAUTH: &str =
    "o: {type: oauth2, flows: {clientCredentials: {tokenUrl: \"https://login.example/token\", scopes: {read: r}}}}";

#[tokio::test]
async fn many_calls_share_one_token_and_it_is_exchanged_before_it_expires() {
    let folder = tempfile::tempdir().unwrap();
    let issuer = issuer().await;
    let (service, address) = Service::start([Reply::of(200, "", "")]).await;
    let given = Credential::ClientCredentials(client(folder.path(), &issuer));
    let (registry, _) = safe(address, &document(OAUTH, "[{o: [read]}]"), &[("o", given)]);
    let name = named(&registry, "take");
    issuer.lasts.store(2, Ordering::Relaxed);
    let calls = futures_util::future::join_all((0..20).map(|_| call(&registry, &name, json!({})))).await;
    assert!(calls.iter().all(|envelope| envelope["ok"] == true));
    assert_eq!(issuer.given.load(Ordering::Relaxed), 1, "single flight");
    assert!(service.asked().iter().all(|asked| asked.headers["authorization"] == "Bearer issued-token-1"));
    let (headers, form) = issuer.asked.lock().unwrap()[0].clone();
    assert_eq!(form["grant_type"], "client_credentials");
    assert_eq!(form["scope"], "read");
    let basic = headers["authorization"].to_str().unwrap().strip_prefix("Basic ").unwrap().to_owned();
    assert_eq!(STANDARD.decode(basic).unwrap(), b"gateway:client%20secret%2F%2B");
    // It lasts two seconds, and the last fifth of that is for exchanging it.
    tokio::time::sleep(Duration::from_millis(1700)).await;
    assert_eq!(call(&registry, &name, json!({})).await["ok"], true);
    assert_eq!(issuer.given.load(Ordering::Relaxed), 2);
    assert_eq!(service.asked().last().unwrap().headers["authorization"], "Bearer issued-token-2");
}

#[tokio::test]
async fn a_token_that_is_refused_is_exchanged_once() {
    let folder = tempfile::tempdir().unwrap();
    let issuer = issuer().await;
    let (service, address) = Service::start([Reply::of(401, "", ""), Reply::of(200, "", "")]).await;
    let given = Credential::ClientCredentials(client(folder.path(), &issuer));
    let (registry, _) = safe(address, &document(OAUTH, "[{o: [read]}]"), &[("o", given)]);
    let name = named(&registry, "deposit");
    call(&registry, &named(&registry, "look"), json!({})).await;
    tokio::time::sleep(Duration::from_millis(1100)).await;
    service.tell([Reply::of(200, "", "")]);
    assert_eq!(call(&registry, &name, json!({})).await["ok"], true);
    tokio::time::sleep(Duration::from_millis(1100)).await;
    service.tell([Reply::of(401, "", ""), Reply::of(200, "", "")]);
    assert_eq!(call(&registry, &name, json!({})).await["ok"], true, "a mutation too: who is not known changes nothing");
    assert_eq!(issuer.given.load(Ordering::Relaxed), 2);
    service.tell([Reply::of(401, "", "")]);
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let before = service.asked().len();
    let envelope = call(&registry, &name, json!({})).await;
    assert_eq!(
        (&envelope["code"], &envelope["details"]["reason"]),
        (&json!("CREDENTIALS_REQUIRED"), &json!("refused"))
    );
    assert_eq!(service.asked().len(), before + 2, "once more, and not for ever");
}

#[tokio::test]
async fn where_tokens_are_given_is_discovered() {
    let folder = tempfile::tempdir().unwrap();
    let issuer = issuer().await;
    let (service, address) = Service::start([Reply::of(200, "", "")]).await;
    let mut client = client(folder.path(), &issuer);
    client.token_url = None;
    client.issuer = Some(format!("http://{}", issuer.address));
    client.secret_in_body = true;
    client.resource = Some("https://api.example/".to_owned());
    let scheme =
        "o: {type: openIdConnect, openIdConnectUrl: \"https://login.example/.well-known/openid-configuration\"}";
    let (registry, _) = safe(address, &document(scheme, "[{o: []}]"), &[("o", Credential::ClientCredentials(client))]);
    assert_eq!(call(&registry, &named(&registry, "take"), json!({})).await["ok"], true);
    assert_eq!(service.asked()[0].headers["authorization"], "Bearer issued-token-1");
    let (headers, form) = issuer.asked.lock().unwrap()[0].clone();
    assert_eq!(headers.get("authorization"), None);
    assert_eq!((form["client_id"].as_str(), form["client_secret"].as_str()), ("gateway", "client secret/+"));
    assert_eq!(form["resource"], "https://api.example/");
}

#[tokio::test]
async fn an_issuer_that_is_away_is_unreachable_and_one_that_refuses_is_for_the_operator() {
    let folder = tempfile::tempdir().unwrap();
    let (service, address) = Service::start([Reply::of(200, "", "")]).await;
    let issuer = issuer().await;
    let mut away = client(folder.path(), &issuer);
    away.token_url = Some("http://127.0.0.1:9/token".to_owned());
    let (registry, _) = safe(address, &document(OAUTH, "[{o: []}]"), &[("o", Credential::ClientCredentials(away))]);
    let envelope = call(&registry, &named(&registry, "deposit"), json!({})).await;
    assert_eq!((&envelope["code"], &envelope["effect"]), (&json!("UPSTREAM_UNREACHABLE"), &json!("none")));
    assert_eq!(envelope["details"]["reason"], "authorization_server");
    let (refusing, at) = Service::start([Reply::json(401, &json!({"error": "invalid_client"}))]).await;
    let mut refused = client(folder.path(), &issuer);
    refused.token_url = Some(format!("http://{at}/token"));
    let (registry, _) = safe(address, &document(OAUTH, "[{o: []}]"), &[("o", Credential::ClientCredentials(refused))]);
    for _ in 0..5 {
        let envelope = call(&registry, &named(&registry, "take"), json!({})).await;
        assert_eq!(
            (&envelope["code"], &envelope["details"]["reason"]),
            (&json!("CREDENTIALS_REQUIRED"), &json!("no_token"))
        );
    }
    assert_eq!(refusing.asked().len(), 1, "an issuer that says no is not asked for each call");
    assert!(service.asked().is_empty());
}

#[test]
fn what_cannot_be_right_is_said_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let import = || imported(&document(OAUTH, "[{o: []}]"));
    let with = |name: &str, credential: Credential| {
        let mut config = UpstreamConfig::new("safe");
        config.base_url = Some("https://api.example".to_owned());
        config.credentials.insert(name.to_owned(), credential);
        Upstream::new(import(), config).unwrap_err()
    };
    let secret = || file(folder.path(), "s", "x");
    let error = with("other", Credential::Secret(secret()));
    assert!(matches!(error, UpstreamError::SchemeUnknown { .. }), "{error}");
    let error = with("o", Credential::Basic { user: secret(), password: secret() });
    assert!(matches!(error, UpstreamError::CredentialUnfit { .. }), "{error}");
    let error = with("o", Credential::ClientCredentials(ClientCredentials::new(secret(), secret())));
    assert!(matches!(error, UpstreamError::TokenAddressUnnamed { .. }), "{error}");
    let mut plain = ClientCredentials::new(secret(), secret());
    plain.token_url = Some("http://login.example/token".to_owned());
    let error = with("o", Credential::ClientCredentials(plain));
    assert!(matches!(error, UpstreamError::AddressUnsafe { .. }), "{error}");
}
