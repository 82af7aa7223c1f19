//! JSON Web Key Sets: what is no set leaves the one before in force, and only a key that is in it verifies.

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use redress::{IdentityProvider as _, Secret};
use redress_access::{AccessOptions, Authenticator, JwtOptions, KeySource};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    service,
    signed::{self, KEY},
};

struct KeysFolder {
    _folder: TempDir,
    path: PathBuf,
    access: Arc<Authenticator>,
}

static PLACE: LazyLock<Mutex<KeysFolder>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("the machine has a folder for this");
    let path = folder.path().join("jwks.json");
    fs::write(&path, good()).expect("it can be written");
    let mut options = AccessOptions::default();
    options.jwt = Some(JwtOptions::new(KeySource::JwksFile(path.clone())));
    // Only what the target says is read, when it says so.
    options.poll = std::time::Duration::from_hours(24);
    let access = Authenticator::open(options).expect("the set is one");
    Mutex::new(KeysFolder { _folder: folder, path, access })
});

/// A set with the key of the one who signs.
fn good() -> String {
    json!({"keys": [{"kty": "oct", "alg": "HS256", "k": URL_SAFE_NO_PAD.encode(KEY)}]}).to_string()
}

pub(super) fn target(data: &[u8]) {
    let place = PLACE.lock().unwrap_or_else(PoisonError::into_inner);
    let claims = br#"{"sub":"ada","exp":99999999999}"#;
    let token = Secret::new(signed::token(br#"{"alg":"HS256"}"#, claims));
    service::alone(async {
        fs::write(&place.path, good()).expect("it can be written");
        place.access.reload().expect("the set is one");
        assert!(place.access.identify(&token).await.is_ok(), "the key is in the set");
        fs::write(&place.path, data).expect("it can be written");
        match place.access.reload() {
            Ok(()) => {
                assert!(
                    place.access.known(token.expose().as_bytes()).is_none(),
                    "what an older set verified is forgotten"
                );
                let set: Value = serde_json::from_slice(data).expect("a set is JSON");
                let keys = set["keys"].as_array().expect("a set has keys");
                assert!(!keys.is_empty());
                let ours = keys.iter().any(|key| {
                    let bytes = key["k"].as_str().and_then(|key| URL_SAFE_NO_PAD.decode(key).ok());
                    key["kty"] == "oct" && bytes.as_deref() == Some(KEY)
                });
                let taken = place.access.identify(&token).await.is_ok();
                assert!(ours || !taken, "a key that is not in the set verifies: {set}");
            }
            Err(error) => {
                assert!(place.access.identify(&token).await.is_ok(), "the set before stays in force");
                let said = format!("{error} {error:?}");
                for part in data.split(|byte| !byte.is_ascii_alphanumeric()).filter(|part| part.len() >= 16) {
                    let part = String::from_utf8_lossy(part);
                    assert!(!said.contains(&*part), "the error shows what was in the set: {said}");
                }
            }
        }
    });
}
