//! One table: every kind of credentials, every face, the same answer.

use std::{
    fmt::Write as _,
    time::{Duration, SystemTime},
};

use redress_access::{AccessOptions, Algorithm, Authenticator, JwtOptions, KeySource, NewToken, TokenFile, TokenHash};
use serde_json::{Value, json};

use crate::{
    faces::{Site, Told},
    signing::{self, Key, claims, claims_with, now},
};

/// One kind of credentials, and what comes of them.
struct Row {
    what: String,
    authorization: Option<String>,
    /// The caller, or the code.
    wanted: Result<&'static str, &'static str>,
}

fn row(what: impl Into<String>, token: &str, wanted: Result<&'static str, &'static str>) -> Row {
    Row { what: what.into(), authorization: Some(format!("Bearer {token}")), wanted }
}

const REFUSED: Result<&str, &str> = Err("AUTH_REQUIRED");
const FORBIDDEN: Result<&str, &str> = Err("FORBIDDEN");

const GIVEN: &str = "a token of configuration";

fn hash(token: &str, scopes: &[&str], expires: Option<SystemTime>) -> TokenHash {
    use sha2::Digest as _;
    let digest = sha2::Sha256::digest(token);
    let sha256 = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    TokenHash { caller: "ada".into(), scopes: scopes.iter().map(|scope| (*scope).into()).collect(), sha256, expires }
}

fn of_tokens(file: &TokenFile) -> Vec<Row> {
    let past = SystemTime::now() - Duration::from_secs(60);
    let soon = SystemTime::now() + Duration::from_secs(600);
    let make = |new: NewToken| file.create(new).unwrap();
    let ada = || NewToken::new("ada").scopes(["things:read"]);
    let (good, _) = make(ada());
    let (second, _) = make(ada().expires(soon).note("a second one"));
    let (poor, _) = make(NewToken::new("bob").scopes(["things:list"]));
    let (old, _) = make(ada().expires(past));
    let (gone, entry) = make(ada());
    file.revoke(&entry.id).unwrap();
    let good = good.expose();
    let (id, secret) = good.strip_prefix("rd_").unwrap().split_once('_').unwrap();
    let other = if secret.starts_with('A') { "B" } else { "A" };
    vec![
        row("token", good, Ok("ada")),
        row("second token of the same caller", second.expose(), Ok("ada")),
        row("token without the scope", poor.expose(), FORBIDDEN),
        row("token that has expired", old.expose(), REFUSED),
        row("token that was revoked", gone.expose(), REFUSED),
        row("token with another secret", &format!("rd_{id}_{other}{}", &secret[1..]), REFUSED),
        row("token cut short", &good[..good.len() - 1], REFUSED),
        row("token with an unknown id", &format!("rd_0000000000000000_{secret}"), REFUSED),
        row("token of no shape", "nonsense", REFUSED),
        row("empty token", "", REFUSED),
        row("token given by its hash", GIVEN, Ok("ada")),
        row("token given by its hash, without the scope", "a poor token of configuration", FORBIDDEN),
        row("token given by its hash, expired", "an old token of configuration", REFUSED),
        row("hash instead of the token", &hash(GIVEN, &[], None).sha256, REFUSED),
    ]
}

fn of_jwt(keys: &[Key], stranger: &Key) -> Vec<Row> {
    let mut rows = Vec::new();
    for key in keys {
        for algorithm in &key.algorithms {
            rows.push(row(format!("JWT {algorithm}"), &key.token(*algorithm, &claims()), Ok("ada")));
        }
    }
    let [secret, rsa, es, ..] = keys else { panic!("there are more keys") };
    let signed = |claims: &Value| es.token(Algorithm::Es256, claims);
    let header = |header: Value| es.with_header(&header, Algorithm::Es256, &claims());
    for (what, name, value, wanted) in [
        ("without the scope", "scope", json!("things:list"), FORBIDDEN),
        ("without scopes", "scope", Value::Null, FORBIDDEN),
        ("with an array of scopes", "scope", json!(["things:read"]), Ok("ada")),
        ("of another issuer", "iss", json!("https://evil.example"), REFUSED),
        ("of no issuer", "iss", Value::Null, REFUSED),
        ("for another audience", "aud", json!("https://other.example"), REFUSED),
        ("for no audience", "aud", Value::Null, REFUSED),
        ("that has expired", "exp", json!(now() - 60), REFUSED),
        ("that has just expired, within the skew", "exp", json!(now() - 10), Ok("ada")),
        ("that never expires", "exp", Value::Null, REFUSED),
        ("that is not valid yet", "nbf", json!(now() + 60), REFUSED),
        ("without a required claim", "tenant", Value::Null, REFUSED),
        ("with another value of a required claim", "tenant", json!("other"), REFUSED),
        ("without a caller", "sub", Value::Null, REFUSED),
    ] {
        rows.push(row(format!("JWT {what}"), &signed(&claims_with(name, value)), wanted));
    }
    let good = signed(&claims());
    let (message, signature) = good.rsplit_once('.').unwrap();
    let forged = signing::message(&json!({"alg": "ES256", "kid": es.id}), &claims_with("sub", json!("root")));
    let none = signing::message(&json!({"alg": "none"}), &claims());
    // The public key of RSA as the secret of HMAC, which a verifier takes that believes the header.
    let confused = {
        let key = jsonwebtoken::EncodingKey::from_secret(rsa.public.as_bytes());
        let message = signing::message(&json!({"alg": "HS256", "kid": rsa.id}), &claims());
        let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key, jsonwebtoken::Algorithm::HS256).unwrap();
        format!("{message}.{signature}")
    };
    rows.extend([
        row("JWT without a signature", &format!("{message}."), REFUSED),
        row("JWT with the signature of another", &format!("{forged}.{signature}"), REFUSED),
        row("JWT of a key that is not ours", &stranger.token(Algorithm::Es256, &claims()), REFUSED),
        row("JWT under another key's id", &header(json!({"alg": "ES256", "kid": "rs"})), REFUSED),
        row("JWT without an id of a key", &header(json!({"alg": "ES256"})), Ok("ada")),
        row("JWT with alg none", &format!("{none}."), REFUSED),
        row("JWT with alg none and a signature", &format!("{none}.{signature}"), REFUSED),
        row("JWT with alg HS256 and a public key", &confused, REFUSED),
        row("JWT with another alg than it is signed by", &header(json!({"alg": "ES384", "kid": "es"})), REFUSED),
        row("JWT with a critical header", &header(json!({"alg": "ES256", "kid": "es", "crit": ["b64"]})), REFUSED),
        row("JWT in four parts", &format!("{good}.x"), REFUSED),
        row("JWT of nonsense", "a.b.c", REFUSED),
        row("JWT too long", &secret.token(Algorithm::Hs256, &claims_with("pad", json!("x".repeat(9000)))), REFUSED),
    ]);
    rows
}

fn others(good: &str) -> Vec<Row> {
    let raw = |what: &str, authorization: Option<String>| Row { what: what.into(), authorization, wanted: REFUSED };
    vec![raw("nothing", None), raw("another scheme", Some(format!("Basic {good}")))]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_credentials_gives_the_same_answer_on_every_face() {
    let folder = tempfile::tempdir().unwrap();
    let keys = Key::each();
    let stranger = Key::p256("es");
    let jwks = folder.path().join("jwks.json");
    std::fs::write(&jwks, signing::set(&keys)).unwrap();
    let file = TokenFile::at(folder.path().join("tokens.json"));
    let mut rows = of_tokens(&file);
    let good = rows[0].authorization.clone().unwrap();
    rows.extend(others(good.trim_start_matches("Bearer ")));
    rows.extend(of_jwt(&keys, &stranger));

    let mut options = AccessOptions::default();
    options.tokens = Some(file.path().to_owned());
    options.hashes = vec![
        hash(GIVEN, &["things:read"], None),
        hash("a poor token of configuration", &[], None),
        hash("an old token of configuration", &["things:read"], Some(SystemTime::UNIX_EPOCH)),
    ];
    let mut jwt = JwtOptions::new(KeySource::JwksFile(jwks));
    jwt.issuer = vec!["https://login.example".into()];
    jwt.audience = vec!["https://api.example".into()];
    jwt.required_claims.insert("tenant".into(), Some("acme".into()));
    jwt.max_bytes = 8 * 1024;
    options.jwt = Some(jwt);
    let site = Site::start(Authenticator::open(options).unwrap()).await;

    let mut shown = String::new();
    for row in &rows {
        // The second time, what was verified is remembered.
        for time in ["first", "second"] {
            for told in site.ask(row.authorization.as_deref()).await {
                check(row, &told, time);
            }
        }
        writeln!(shown, "{:50} {}", row.what, row.wanted.unwrap_or_else(|code| code)).unwrap();
    }
    // Kept, so that no row drops out of the table unseen.
    insta::assert_snapshot!(shown);
}

fn check(row: &Row, told: &Told, time: &str) {
    let what = format!("{} by {}, the {time} time: {}", row.what, told.face, told.all);
    assert_eq!(told.caller.as_deref(), row.wanted.ok(), "{what}");
    assert_eq!(told.code.as_deref(), row.wanted.err(), "{what}");
    if let Some(token) = row.authorization.as_deref().and_then(|value| value.split_once(' ')).map(|(_, token)| token)
        && token.len() > 8
    {
        assert!(!told.all.contains(token), "{what}");
    }
    // A scheme that is not ours is no token at all, and neither is nothing.
    let bears = row.authorization.as_deref().is_some_and(|value| value.trim_end().starts_with("Bearer "));
    let challenge = told.challenge.as_ref().map(|challenge| challenge.as_deref().unwrap_or_default());
    let begins = match told.face {
        "MCP" => "Bearer ",
        _ => r#"Bearer realm="redress""#,
    };
    match row.wanted {
        Ok(_) => assert!(challenge.is_none_or(str::is_empty), "{what}"),
        Err("FORBIDDEN") => {
            assert_eq!(told.failure["recovery"], json!({"verb": "get_access", "scope": "things:read"}), "{what}");
            assert_eq!(told.failure["details"], json!({"missing": ["things:read"], "one_is_enough": false}), "{what}");
            if let Some(challenge) = challenge {
                assert!(challenge.starts_with(begins), "{what}");
                assert!(challenge.contains(r#"error="insufficient_scope", scope="things:read""#), "{what}");
            }
        }
        Err(_) => {
            let refused = told.failure["details"]["token"] == "refused";
            assert_eq!(refused, bears, "{what}");
            if let Some(challenge) = challenge {
                assert!(challenge.starts_with(begins), "{what}");
                assert_eq!(challenge.contains(r#"error="invalid_token", error_description=""#), bears, "{what}");
            }
        }
    }
}
