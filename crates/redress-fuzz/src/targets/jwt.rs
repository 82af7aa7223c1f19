//! JSON Web Tokens: a line with the header, and the claims, signed by somebody who has the key; and the same bytes as
//! a token of their own.

use std::{
    fs,
    sync::{Arc, LazyLock},
    time::{SystemTime, UNIX_EPOCH},
};

use redress::{IdentityProvider as _, Secret};
use redress_access::{AccessOptions, Authenticator, JwtOptions, KeySource};
use serde_json::{Map, Value};
use tempfile::TempDir;

use super::cut;
use crate::{
    service,
    signed::{self, KEY},
};

static ACCESS: LazyLock<(TempDir, Arc<Authenticator>)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("the machine has a folder for this");
    let path = folder.path().join("secret");
    fs::write(&path, KEY).expect("it can be written");
    let mut jwt = JwtOptions::new(KeySource::SecretFile(path));
    jwt.issuer = vec!["issuer".into()];
    jwt.audience = vec!["us".into()];
    jwt.required_claims.insert("tenant".into(), Some("acme".into()));
    let mut options = AccessOptions::default();
    options.jwt = Some(jwt);
    let access = Authenticator::open(options).expect("the secret is long enough");
    (folder, access)
});

pub(super) fn target(data: &[u8]) {
    let (_, access) = &*ACCESS;
    let (header, payload) = cut(data);
    service::alone(async {
        if let Ok(text) = std::str::from_utf8(data) {
            let forged = access.identify(&Secret::new(text)).await;
            assert!(forged.is_err(), "nobody signed {text}");
        }
        let token = signed::token(header, payload);
        let told = access.identify(&Secret::new(token.clone())).await;
        if let Ok(caller) = &told {
            let claims = sound(header, payload).unwrap_or_else(|why| panic!("{why}: {caller:?}"));
            assert_eq!(Some(caller.id()), claims["sub"].as_str());
            assert!(access.known(token.as_bytes()).is_some_and(|known| *known == *caller));
        } else if let Ok(claims) = sound(header, payload) {
            let plain = claims["sub"].as_str().is_some_and(|sub| sub.bytes().all(|byte| byte.is_ascii_alphanumeric()));
            let scope = claims.get("scope").is_none_or(Value::is_string);
            assert!(!plain || !scope || token.len() > 16 * 1024, "{told:?} for {claims:?}");
        }
        // One bit of the signature makes it somebody else's.
        let mut bent = token.into_bytes();
        let last = bent.len() - 5;
        bent[last] = if bent[last] == b'A' { b'B' } else { b'A' };
        let bent = access.identify(&Secret::new(String::from_utf8_lossy(&bent).into_owned())).await;
        assert!(bent.is_err(), "a signature that was bent is taken");
    });
}

/// The claims of a token that may be believed, once its signature is right.
fn sound(header: &[u8], payload: &[u8]) -> Result<Map<String, Value>, &'static str> {
    let header = object(header).ok_or("the header is no object")?;
    if header.get("alg").and_then(Value::as_str) != Some("HS256") {
        return Err("the algorithm is not ours");
    }
    if header.get("crit").is_some_and(|crit| !crit.is_null())
        || !header.get("kid").is_none_or(|kid| kid.is_string() || kid.is_null())
    {
        return Err("the header asks for more");
    }
    let claims = object(payload).ok_or("the claims are no object")?;
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
    let exp = claims.get("exp").and_then(Value::as_f64).ok_or("it does not end")?;
    let nbf = claims.get("nbf").map_or(Some(0.0), Value::as_f64).ok_or("it does not begin")?;
    if exp < now - 40.0 || nbf > now + 40.0 || nbf < 0.0 {
        return Err("it is not now");
    }
    let aud = claims.get("aud").ok_or("it is for nobody")?;
    let ours = aud == "us" || aud.as_array().is_some_and(|all| all.iter().any(|one| one == "us"));
    if text("iss") != Some("issuer") || text("tenant") != Some("acme") || !ours {
        return Err("it is from or for others");
    }
    if !text("sub").is_some_and(|sub| !sub.trim().is_empty() && sub.len() <= 256 && !sub.chars().any(char::is_control))
    {
        return Err("it names nobody");
    }
    Ok(claims)
}

/// An object in which every member is there once, at any depth: as it is counted in the text, by its colons outside of
/// strings, and in what was read.
fn object(bytes: &[u8]) -> Option<Map<String, Value>> {
    fn members(value: &Value) -> usize {
        match value {
            Value::Array(values) => values.iter().map(members).sum(),
            Value::Object(object) => object.len() + object.values().map(members).sum::<usize>(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        }
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let object: Map<String, Value> = serde_json::from_str(text).ok()?;
    let (mut colons, mut inside, mut escaped) = (0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => inside = !inside,
            b':' if !inside => colons += 1,
            _ => {}
        }
    }
    let read = members(&Value::Object(object.clone()));
    (read == colons).then_some(object)
}
