//! What an operator gives for a service is seen by that service, and by nobody else: no face, no log, no document.

use std::{
    io,
    sync::{Arc, Mutex},
};

use redress_upstream::{Credential, SecretFrom, Upstream};
use serde_json::{Value, json};
use tracing_subscriber::fmt::MakeWriter;

use crate::{
    faces::Site,
    mock::{Reply, Service, config, imported, registry},
};

const CANARIES: [&str; 4] = ["canary-header-7f3a", "canary-query-9b1c", "canary-pass-55d0", "canary-bearer-e21f"];

const DOCUMENT: &str = r#"
openapi: 3.1.0
info: {title: Safe, version: "1"}
security: [{h: [], q: [], b: []}]
paths:
  /safe:
    get: {operationId: take, responses: {200: {description: x, content: {application/json: {schema: {type: object}}}}, 403: {description: x, headers: {X-Debug: {schema: {type: string}}, Location: {schema: {type: string}}}, content: {application/json: {schema: {type: object}}}}}}
  /bearer:
    get: {operationId: bear, security: [{t: []}], responses: {200: {description: x, content: {application/json: {schema: {type: object}}}}}}
components:
  securitySchemes:
    h: {type: apiKey, in: header, name: X-Key}
    q: {type: apiKey, in: query, name: key}
    b: {type: http, scheme: basic}
    t: {type: http, scheme: bearer}
"#;

/// A log that is kept.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Log;

    fn make_writer(&'a self) -> Log {
        self.clone()
    }
}

/// Every canary in the forms in which it may stand somewhere.
fn seen(text: &str) -> Option<String> {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let basic = STANDARD.encode(format!("ada:{}", CANARIES[2]));
    CANARIES.iter().map(|canary| (*canary).to_owned()).chain([basic]).find(|canary| text.contains(canary.as_str()))
}

#[tokio::test(flavor = "current_thread")]
async fn no_secret_is_seen_on_a_face_in_the_log_or_in_a_document() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(log.clone())
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let folder = tempfile::tempdir().unwrap();
    let secret = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        SecretFrom::File(path)
    };
    let (service, address) = Service::start([Reply::of(200, "", "")]).await;
    let mut config = config(address);
    config.retries = 0;
    config.credentials = [
        ("h", Credential::Secret(secret("h", CANARIES[0]))),
        ("q", Credential::Secret(secret("q", CANARIES[1]))),
        ("b", Credential::Basic { user: secret("u", "ada"), password: secret("p", CANARIES[2]) }),
        ("t", Credential::Secret(secret("t", CANARIES[3]))),
    ]
    .into_iter()
    .map(|(name, given)| (name.to_owned(), given))
    .collect();
    let upstream = Upstream::new(imported(DOCUMENT), config).unwrap();
    assert_eq!(seen(&format!("{upstream:?}")), None);
    let registry = registry([upstream.clone()]);
    let names: Vec<String> =
        registry.contract().operations().iter().map(|one| one.name().as_str().to_owned()).collect();
    let site = Site::new(registry);
    // What was sent once, by whichever operation, the service knows.
    for name in &names {
        site.http(name, &json!({})).await;
    }
    // A service that says back what it was sent, in every place where an answer has text.
    let basic = {
        use base64::{Engine as _, engine::general_purpose::STANDARD};
        STANDARD.encode(format!("ada:{}", CANARIES[2]))
    };
    let echo = format!("{} {basic}", CANARIES.join(" "));
    for reply in [
        Reply::json(200, &json!({"echo": echo, (CANARIES[0]): 1})),
        Reply::json(403, &json!({"message": format!("no key {echo}")})),
        Reply::json(403, &json!({})).with("x-debug", echo.clone()).with("location", echo.clone()),
        Reply::json(418, &json!({"message": echo})),
        Reply::of(500, "text/html", format!("<h1>{echo}</h1>")),
        Reply::of(200, "application/json", echo.clone()),
        Reply::of(302, "", "").with("location", format!("http://127.0.0.1:1/?{}", CANARIES[1])),
        Reply::of(401, "", ""),
    ] {
        service.tell([reply]);
        for name in &names {
            for told in site.ask(name, &json!({})).await {
                assert_eq!(seen(&told.text), None, "{}: {}", told.face, told.text);
                assert_eq!(seen(&format!("{:?}", told.headers)), None, "{}", told.face);
            }
        }
    }
    let sent: Vec<String> = service.asked().iter().map(|asked| format!("{} {:?}", asked.uri, asked.headers)).collect();
    assert!(sent.iter().any(|asked| asked.contains(CANARIES[1])), "the service itself is sent what is for it");
    for path in ["/openapi.json", "/contract.json", "/ops", "/openrpc.json", "/readyz"] {
        assert_eq!(seen(&site.get(path).await), None, "{path}");
    }
    assert_eq!(seen(&format!("{:?}", upstream.status().await)), None);
    drop(site);
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(!log.is_empty());
    // Libraries below log what they send only where they are told to; what is ours is looked at whole.
    let own: Vec<&str> = log.lines().filter(|line| line.contains("redress")).collect();
    assert_eq!(seen(&own.join("\n")), None);
    assert_eq!(seen(&log), None);
}

/// What is answered where a service cannot be reached holds no address with a key in it.
#[tokio::test]
async fn an_address_with_a_key_is_not_told_either() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("q");
    std::fs::write(&path, CANARIES[1]).unwrap();
    let document = DOCUMENT.replace("{h: [], q: [], b: []}", "{q: []}");
    let mut config = config("127.0.0.1:9".parse().unwrap());
    config.credentials.insert("q".to_owned(), Credential::Secret(SecretFrom::File(path)));
    let registry = registry([Upstream::new(imported(&document), config).unwrap()]);
    let name = registry
        .contract()
        .operations()
        .iter()
        .find(|one| one.name().as_str().ends_with("take"))
        .unwrap()
        .name()
        .clone();
    for told in Site::new(registry).ask(name.as_str(), &json!({})).await {
        let problem: Value = told.outcome.unwrap_err();
        assert_eq!(problem["code"], "UPSTREAM_UNREACHABLE");
        assert_eq!(seen(&told.text), None);
        assert!(!told.text.contains("127.0.0.1"), "{}", told.text);
    }
}
