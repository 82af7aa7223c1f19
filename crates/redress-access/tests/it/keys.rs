//! Keys from files: every kind of file, every kind of key.

use std::{fs, path::Path};

use futures_util::FutureExt as _;
use redress_access::{AccessError, AccessOptions, Algorithm, Authenticator, JwtOptions, KeySource};
use redress_core::{IdentityError, IdentityProvider as _, Secret, contract::Caller};
use serde_json::json;

use crate::signing::{self, Key, SECRET};

fn open(keys: KeySource, algorithms: &[Algorithm]) -> Result<std::sync::Arc<Authenticator>, AccessError> {
    let mut jwt = JwtOptions::new(keys);
    jwt.audience = vec!["https://api.example".into()];
    jwt.algorithms = algorithms.to_vec();
    let mut options = AccessOptions::default();
    options.jwt = Some(jwt);
    Authenticator::open(options)
}

async fn identify(access: &Authenticator, token: String) -> Result<String, IdentityError> {
    access.identify(&Secret::new(token)).await.map(|caller: Caller| caller.id().to_owned())
}

fn written(folder: &Path, content: &str) -> std::path::PathBuf {
    let path = folder.join("key");
    fs::write(&path, content).unwrap();
    path
}

#[tokio::test]
async fn a_key_that_a_token_names_is_tried_before_those_that_have_no_name() {
    let key = Key::p256("named");
    let mut keys: Vec<_> = (0..20)
        .map(|_| {
            let mut jwk = Key::p256("nameless").jwk();
            jwk.as_object_mut().unwrap().remove("kid");
            jwk
        })
        .collect();
    keys.push(key.jwk());
    let folder = tempfile::tempdir().unwrap();
    let set = written(folder.path(), &json!({"keys": keys}).to_string());
    let access = open(KeySource::JwksFile(set), &[]).unwrap();
    let token = key.token(key.algorithms[0], &signing::claims());
    assert_eq!(identify(&access, token).await.as_deref(), Ok("ada"));
}

/// A stranger may send as many made-up tokens as it likes, and no worker is kept by any.
#[tokio::test]
async fn a_signature_is_checked_off_the_workers() {
    let folder = tempfile::tempdir().unwrap();
    let key = Key::p384("one");
    let access = open(KeySource::KeyFile(written(folder.path(), &key.public)), &[]).unwrap();
    let made_up = Secret::new(Key::p384("stranger").token(key.algorithms[0], &signing::claims()));
    assert!(access.identify(&made_up).now_or_never().is_none(), "it was checked where it was asked");
    assert_eq!(access.identify(&made_up).await, Err(IdentityError::Invalid));
}

#[tokio::test]
async fn a_public_key_as_pem_verifies_its_own_algorithms_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    for key in Key::each().into_iter().skip(1) {
        let access = open(KeySource::KeyFile(written(folder.path(), &key.public)), &[]).unwrap();
        for algorithm in &key.algorithms {
            assert_eq!(identify(&access, key.token(*algorithm, &signing::claims())).await.as_deref(), Ok("ada"));
        }
        for other in Key::each() {
            for algorithm in &other.algorithms {
                let token = other.token(*algorithm, &signing::claims());
                assert_eq!(identify(&access, token).await, Err(IdentityError::Invalid), "{} {algorithm}", key.id);
            }
        }
    }
}

#[tokio::test]
async fn a_file_may_hold_the_key_of_today_and_that_of_tomorrow() {
    let folder = tempfile::tempdir().unwrap();
    let (today, tomorrow) = (Key::p256("today"), Key::ed25519("tomorrow"));
    let path = written(folder.path(), &format!("{}\n{}", today.public, tomorrow.public));
    let access = open(KeySource::KeyFile(path), &[]).unwrap();
    for key in [&today, &tomorrow] {
        assert!(identify(&access, key.token(key.algorithms[0], &signing::claims())).await.is_ok(), "{}", key.id);
    }
}

#[tokio::test]
async fn a_shared_secret_verifies_what_it_is_long_enough_for() {
    let folder = tempfile::tempdir().unwrap();
    let key = Key::secret("hs");
    for ending in ["", "\n", "\r\n"] {
        let access = open(KeySource::SecretFile(written(folder.path(), &format!("{SECRET}{ending}"))), &[]).unwrap();
        for algorithm in &key.algorithms {
            assert!(identify(&access, key.token(*algorithm, &signing::claims())).await.is_ok(), "{algorithm}");
        }
    }
    let short = written(folder.path(), &SECRET[..31]);
    assert!(matches!(open(KeySource::SecretFile(short), &[]), Err(AccessError::SecretShort { needed: 32, .. })));
    let middling = KeySource::SecretFile(written(folder.path(), &SECRET[..40]));
    assert!(open(middling.clone(), &[Algorithm::Hs256]).is_ok());
    let refused = open(middling, &[Algorithm::Hs512]).unwrap_err();
    assert!(matches!(refused, AccessError::AlgorithmWithoutKey { algorithm: Algorithm::Hs512, .. }), "{refused}");
}

#[tokio::test]
async fn algorithms_that_are_not_allowed_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let key = Key::rsa("rs");
    let access = open(KeySource::JwksFile(written(folder.path(), &signing::set([&key]))), &[Algorithm::Ps256]).unwrap();
    assert!(identify(&access, key.token(Algorithm::Ps256, &signing::claims())).await.is_ok());
    assert!(identify(&access, key.token(Algorithm::Rs256, &signing::claims())).await.is_err());
}

#[tokio::test]
async fn a_key_in_a_set_is_used_for_what_it_is_for() {
    let folder = tempfile::tempdir().unwrap();
    let key = Key::rsa("rs");
    let set = |member: &str, value: serde_json::Value| {
        let mut jwk = key.jwk();
        jwk[member] = value;
        json!({"keys": [jwk, Key::ed25519("ed").jwk(), {"kty": "new", "kid": "x"}, 7]}).to_string()
    };
    for (member, value, works) in [
        ("use", json!("sig"), true),
        ("use", json!("enc"), false),
        ("key_ops", json!(["verify"]), true),
        ("key_ops", json!(["encrypt"]), false),
        ("alg", json!("RS256"), true),
        ("alg", json!("PS256"), false),
        ("alg", json!("RSA-OAEP"), false),
    ] {
        let path = written(folder.path(), &set(member, value.clone()));
        let access = open(KeySource::JwksFile(path), &[]).unwrap();
        let told = identify(&access, key.token(Algorithm::Rs256, &signing::claims())).await;
        assert_eq!(told.is_ok(), works, "{member} = {value}");
    }
}

#[test]
fn what_is_wrong_with_a_file_of_keys_is_said_and_nothing_of_what_is_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let private = rcgen::KeyPair::generate().unwrap().serialize_pem();
    let rsa = Key::rsa("rs");
    let (jwks, secret, pem) = (KeySource::JwksFile, KeySource::SecretFile, KeySource::KeyFile);
    type Source = fn(std::path::PathBuf) -> KeySource;
    let cases: [(Source, &str, &str); 8] = [
        (jwks, "{", "is no JSON Web Key Set"),
        (jwks, r#"{"keys": []}"#, "holds no key that can verify a token"),
        (jwks, r#"{"keys": [{"kty": "oct", "k": "c2hvcnQ"}]}"#, "holds no key that can verify a token"),
        (secret, &rsa.public, "holds a key or a certificate, not a shared secret"),
        (secret, "tiny", "is shorter than 32 bytes"),
        (pem, &private, "holds a private key; give the public one"),
        (pem, "no key at all", "holds no key that can verify a token"),
        (pem, "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "holds no key that can verify a token"),
    ];
    for (source, content, says) in cases {
        let error = open(source(written(folder.path(), content)), &[]).unwrap_err();
        assert!(error.to_string().ends_with(says), "{error}");
        assert!(!format!("{error} {error:?}").contains(content) || content == "{", "{error:?}");
    }
    let missing = open(jwks(folder.path().join("missing")), &[]).unwrap_err();
    assert!(matches!(missing, AccessError::Read { .. }), "{missing}");
}
