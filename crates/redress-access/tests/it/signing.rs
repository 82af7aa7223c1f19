//! Keys made for a test, and tokens signed with them.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{EncodingKey, crypto, jwk::Jwk};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, PKCS_RSA_SHA256, RsaKeySize};
use redress_access::Algorithm;
use serde_json::{Value, json};

/// A shared secret that is long enough for every algorithm.
pub(crate) const SECRET: &str = "a shared secret that nobody knows, of sixty-four bytes and more...";

/// A key that signs, and what others need to verify that.
pub(crate) struct Key {
    pub(crate) id: &'static str,
    pub(crate) algorithms: Vec<Algorithm>,
    signs: EncodingKey,
    /// The public key as PEM; the secret itself, if it is one.
    pub(crate) public: String,
    jwk: Value,
}

impl Key {
    pub(crate) fn secret(id: &'static str) -> Key {
        Key {
            id,
            algorithms: vec![Algorithm::Hs256, Algorithm::Hs384, Algorithm::Hs512],
            signs: EncodingKey::from_secret(SECRET.as_bytes()),
            public: SECRET.to_owned(),
            jwk: json!({"kty": "oct", "k": URL_SAFE_NO_PAD.encode(SECRET)}),
        }
    }

    pub(crate) fn rsa(id: &'static str) -> Key {
        let pair = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048).unwrap();
        let signs = EncodingKey::from_rsa_pem(pair.serialize_pem().as_bytes()).unwrap();
        let is_rsa = |algorithm: &Algorithm| algorithm.name().starts_with("RS") || algorithm.name().starts_with("PS");
        let algorithms = Algorithm::ALL.into_iter().filter(is_rsa).collect();
        let jwk = jwk(&signs, jsonwebtoken::Algorithm::RS256);
        Key { id, algorithms, signs, public: pair.public_key_pem(), jwk }
    }

    pub(crate) fn p256(id: &'static str) -> Key {
        let pair = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        let signs = EncodingKey::from_ec_pem(pair.serialize_pem().as_bytes()).unwrap();
        let jwk = jwk(&signs, jsonwebtoken::Algorithm::ES256);
        Key { id, algorithms: vec![Algorithm::Es256], signs, public: pair.public_key_pem(), jwk }
    }

    pub(crate) fn p384(id: &'static str) -> Key {
        let pair = KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384).unwrap();
        let signs = EncodingKey::from_ec_pem(pair.serialize_pem().as_bytes()).unwrap();
        let jwk = jwk(&signs, jsonwebtoken::Algorithm::ES384);
        Key { id, algorithms: vec![Algorithm::Es384], signs, public: pair.public_key_pem(), jwk }
    }

    pub(crate) fn ed25519(id: &'static str) -> Key {
        let pair = KeyPair::generate_for(&PKCS_ED25519).unwrap();
        let signs = EncodingKey::from_ed_pem(pair.serialize_pem().as_bytes()).unwrap();
        let jwk = json!({"kty": "OKP", "crv": "Ed25519", "x": URL_SAFE_NO_PAD.encode(pair.public_key_raw())});
        Key { id, algorithms: vec![Algorithm::EdDsa], signs, public: pair.public_key_pem(), jwk }
    }

    /// One of each kind.
    pub(crate) fn each() -> Vec<Key> {
        vec![Key::secret("hs"), Key::rsa("rs"), Key::p256("es"), Key::p384("es384"), Key::ed25519("ed")]
    }

    /// The key in a set, under its id.
    pub(crate) fn jwk(&self) -> Value {
        let mut jwk = self.jwk.clone();
        jwk["kid"] = self.id.into();
        jwk
    }

    /// A token with these claims.
    pub(crate) fn token(&self, algorithm: Algorithm, claims: &Value) -> String {
        self.with_header(&json!({"alg": algorithm.name(), "kid": self.id, "typ": "JWT"}), algorithm, claims)
    }

    /// A token whose header says what it likes.
    pub(crate) fn with_header(&self, header: &Value, algorithm: Algorithm, claims: &Value) -> String {
        let message = message(header, claims);
        let library = serde_json::from_value(algorithm.name().into()).unwrap();
        let signature = crypto::sign(message.as_bytes(), &self.signs, library).unwrap();
        format!("{message}.{signature}")
    }
}

/// The parts of a token that are signed.
pub(crate) fn message(header: &Value, claims: &Value) -> String {
    format!("{}.{}", URL_SAFE_NO_PAD.encode(header.to_string()), URL_SAFE_NO_PAD.encode(claims.to_string()))
}

/// A set of keys, as an issuer publishes it.
pub(crate) fn set<'a>(keys: impl IntoIterator<Item = &'a Key>) -> String {
    json!({"keys": keys.into_iter().map(Key::jwk).collect::<Vec<_>>()}).to_string()
}

/// What a good token of Ada says.
pub(crate) fn claims() -> Value {
    json!({
        "iss": "https://login.example", "aud": ["https://api.example"], "sub": "ada", "tenant": "acme",
        "exp": now() + 600, "nbf": now() - 600, "scope": "things:read things:list",
    })
}

/// The same, with one claim changed; without it, if it becomes null.
pub(crate) fn claims_with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    if value.is_null() {
        claims.as_object_mut().unwrap().remove(name);
    } else {
        claims[name] = value;
    }
    claims
}

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn jwk(key: &EncodingKey, algorithm: jsonwebtoken::Algorithm) -> Value {
    let mut jwk = serde_json::to_value(Jwk::from_encoding_key(key, algorithm).unwrap()).unwrap();
    // A key of RSA verifies more than the one algorithm that the library writes down.
    jwk.as_object_mut().unwrap().remove("alg");
    jwk
}
