//! Services that are made of their documents: each answers every status that it declares, and the caller gets the declared
//! code, the body as details and the advice to come again, over every face.

use std::{collections::BTreeMap, io::Read as _};

use redress_core::Registry;
use redress_import::{BodyKind, Import, ImportedOperation, ReadOptions, ResponsePlan, StatusPattern, openapi};
use redress_upstream::{ClientCredentials, Credential, SecretFrom, Upstream, UpstreamConfig};
use serde_json::{Value, json};

use crate::{
    faces::Site,
    mock::{Reply, Service, config, registry},
    values::value_of,
};

fn document(name: &str) -> Import {
    let path = format!("{}/../redress-import/tests/documents/{name}.gz", env!("CARGO_MANIFEST_DIR"));
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    openapi::read(&bytes, &ReadOptions::default()).unwrap()
}

/// Something for every security scheme, so that no call ends for want of it.
fn with_credentials(import: &Import, mut config: UpstreamConfig) -> UpstreamConfig {
    let secret = || SecretFrom::Env("CARGO_PKG_NAME".to_owned());
    let mut given = BTreeMap::new();
    for scheme in &import.security_schemes {
        use redress_import::SecurityScheme as Scheme;
        let credential = match scheme {
            Scheme::Basic { .. } => Credential::Basic { user: secret(), password: secret() },
            Scheme::MutualTls { .. } => continue,
            Scheme::ApiKey { .. }
            | Scheme::Bearer { .. }
            | Scheme::Http { .. }
            | Scheme::Oauth2 { .. }
            | Scheme::OpenIdConnect { .. } => Credential::Secret(secret()),
        };
        given.insert(scheme.scheme().to_owned(), credential);
    }
    config.credentials = given;
    config
}

/// A status that `plan` is for, and no other plan of the operation.
fn status_of(operation: &ImportedOperation, plan: &ResponsePlan) -> Option<u16> {
    let is_its = |status: &u16| operation.response(*status).is_some_and(|found| found.status == plan.status);
    match plan.status {
        StatusPattern::Exact(status) => Some(status),
        StatusPattern::Range(digit) => (0..99).map(|n| u16::from(digit) * 100 + n).find(is_its),
        StatusPattern::Default => (400..600).find(is_its),
    }
}

/// What the service answers, and the body that its caller is to be told.
fn reply(plan: &ResponsePlan, status: u16) -> (Reply, Option<Value>) {
    let Some(content) = plan.content.iter().find(|content| content.kind != BodyKind::Bytes) else {
        return (Reply::of(status, "", ""), None);
    };
    let media_type = content.essence().replace('*', "json");
    let value = value_of(content.schema.as_value());
    match content.kind {
        BodyKind::Json | BodyKind::Problem => (Reply::of(status, &media_type, value.to_string()), Some(value)),
        BodyKind::Text | BodyKind::Events | BodyKind::JsonLines => {
            (Reply::of(status, &media_type, "text"), (content.kind == BodyKind::Text).then(|| json!("text")))
        }
        BodyKind::Form | BodyKind::Bytes => (Reply::of(status, "", ""), None),
    }
}

struct Ask {
    operation: String,
    input: Value,
    code: String,
    retryable: bool,
    reply: Reply,
    body: Option<Value>,
    status: u16,
}

/// Every failure of every operation, or `max` of them from all over the document.
fn asks(import: &Import, max: usize) -> Vec<Ask> {
    let mut all = Vec::new();
    for imported in &import.operations {
        for plan in &imported.responses {
            let (Some(code), Some(status)) = (&plan.code, status_of(imported, plan)) else { continue };
            // What begins with another digit is no ending of an exchange.
            if !(300..600).contains(&status) {
                continue;
            }
            let (reply, body) = reply(plan, status);
            all.push(Ask {
                operation: imported.operation.name().as_str().to_owned(),
                input: value_of(imported.operation.input().as_value()),
                code: code.as_str().to_owned(),
                retryable: imported.operation.failure(code.as_str()).unwrap().retryable(),
                reply: reply.with("retry-after", "7"),
                body,
                status,
            });
        }
    }
    let step = all.len().div_ceil(max).max(1);
    all.into_iter().step_by(step).collect()
}

fn judge(told: &crate::faces::Told, ask: &Ask) -> Result<(), String> {
    let what = || format!("{} {} {} over {}: {}", ask.operation, ask.status, ask.code, told.face, told.text);
    let Err(problem) = &told.outcome else { return Err(what()) };
    let details = &problem["details"];
    let body_fits = ask.body.as_ref().is_none_or(|body| details["body"] == *body);
    let told_when = !ask.retryable || problem["retryable"] == false || problem["retry_after_ms"] == 7000;
    if problem["code"] == ask.code && body_fits && details["status"] == ask.status && told_when {
        return Ok(());
    }
    Err(what())
}

/// What a model is told before its first call where tools are found and not listed, in tokens as envelopes estimate them: a
/// quarter of its characters.
async fn surface(registry: Registry) -> usize {
    let site = Site::discovering(registry);
    let client =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let mut characters = 0;
    for (method, params, member) in [("initialize", client, "instructions"), ("tools/list", json!({}), "tools")] {
        let (_, text) = site.mcp_message(method, params).await;
        let answer: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"));
        characters += answer["result"][member].to_string().chars().count();
    }
    characters.div_ceil(4)
}

async fn served(name: &str, max: usize) -> (Site, Service, Vec<Ask>) {
    let (service, address) = Service::start([Reply::of(200, "", "")]).await;
    let import = document(name);
    let asks = asks(&import, max);
    let mut config = with_credentials(&import, config(address));
    config.retries = 0;
    let upstream = Upstream::new(import, config).unwrap();
    let registry: Registry = registry([upstream]);
    let tokens = surface(registry.clone()).await;
    assert!(tokens <= 1_200, "{name}: {tokens} tokens before the first call");
    (Site::new(registry), service, asks)
}

/// What of these a caller cannot be told, each with the reason.
async fn unfit(name: &str, max: usize, all_faces: bool) -> (usize, Vec<String>) {
    let (site, service, asks) = served(name, max).await;
    let (mut wrong, count) = (Vec::new(), asks.len());
    for ask in asks {
        service.tell([ask.reply.clone()]);
        let told = if all_faces {
            site.ask(&ask.operation, &ask.input).await
        } else {
            vec![site.rpc(&ask.operation, &ask.input).await]
        };
        wrong.extend(told.iter().filter_map(|told| judge(told, &ask).err()));
    }
    (count, wrong)
}

#[tokio::test]
async fn every_declared_status_of_small_documents_is_told_over_every_face() {
    for (name, min) in [
        ("museum.yaml", 17),
        ("oai-3.0-petstore-expanded.yaml", 4),
        ("oai-3.1-tictactoe.yaml", 2),
        ("oai-3.0-api-with-examples.yaml", 1),
    ] {
        let (count, wrong) = unfit(name, usize::MAX, true).await;
        assert!(wrong.is_empty(), "{name}: {} of {count}\n{}", wrong.len(), wrong.join("\n"));
        assert!(count >= min, "{name}: {count}");
    }
}

/// Documents with so many failures that a sample from all over them has to do, and the least that it has.
const LARGE: [(&str, usize); 11] = [
    ("figma.yaml", 20),
    ("adyen-management-v3.json", 20),
    ("qdrant-v1.17.json", 20),
    ("qdrant-v1.19.json", 20),
    ("box.json", 20),
    ("discord.json", 20),
    ("github-rest-2022-10.yaml", 20),
    ("kubernetes-apps-v1.json", 20),
    ("openai.yaml", 20),
    ("stripe-2022-04.json", 20),
    ("twilio-api-v2010.json", 1),
];

#[tokio::test]
async fn declared_statuses_from_all_over_large_documents_are_told_over_every_face() {
    for (name, min) in LARGE {
        let (count, wrong) = unfit(name, 24, true).await;
        assert!(wrong.is_empty(), "{name}: {} of {count}\n{}", wrong.len(), wrong.join("\n"));
        assert!(count >= min, "{name}: {count}");
    }
}

/// Of a token the document says where it is given, and only the service itself is sent a secret because of that.
#[test]
fn a_secret_goes_to_no_address_that_only_a_document_names() {
    let import = document("box.json");
    let secret = || SecretFrom::Env("CARGO_PKG_NAME".to_owned());
    let mut config = UpstreamConfig::new("box");
    let scheme = import.security_schemes[0].scheme().to_owned();
    config
        .credentials
        .insert(scheme.clone(), Credential::ClientCredentials(ClientCredentials::new(secret(), secret())));
    config.base_url = Some("https://elsewhere.example".to_owned());
    let error = Upstream::new(import, config).unwrap_err().to_string();
    assert!(error.contains("token_url"), "{error}");
}
