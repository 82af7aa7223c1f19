//! The file of bearer tokens: what is none leaves the one before in force, and only a token whose hash is in it counts.

use std::{
    fmt::Write as _,
    fs,
    path::PathBuf,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use redress::{IdentityProvider as _, Secret};
use redress_access::{AccessOptions, Authenticator, TokenFile};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::service;

/// A token as the command makes them.
const TOKEN: &str = "rd_0123456789abcdef_0123456789abcdef0123456789abcdef0123456789abcdef";

struct TokensFolder {
    _folder: TempDir,
    path: PathBuf,
    access: Arc<Authenticator>,
}

static PLACE: LazyLock<Mutex<TokensFolder>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("the machine has a folder for this");
    let path = folder.path().join("tokens.json");
    let mut options = AccessOptions::default();
    options.tokens = Some(path.clone());
    // Only what the target says is read, when it says so.
    options.poll = std::time::Duration::from_hours(24);
    let access = Authenticator::open(options).expect("a file that is not there holds no tokens");
    Mutex::new(TokensFolder { _folder: folder, path, access })
});

fn hash() -> String {
    Sha256::digest(TOKEN).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A file with one token.
fn good() -> String {
    let entry = json!({"id": "0123456789abcdef", "caller": "ada", "scopes": ["a"], "hash": hash(), "created": "2026-01-01T00:00:00Z"});
    json!({"tokens": [entry]}).to_string()
}

pub(super) fn target(data: &[u8]) {
    let place = PLACE.lock().unwrap_or_else(PoisonError::into_inner);
    let token = Secret::new(TOKEN);
    service::alone(async {
        fs::write(&place.path, good()).expect("it can be written");
        place.access.reload().expect("the file is one");
        assert!(place.access.identify(&token).await.is_ok(), "the token is in the file");
        if let Ok(text) = std::str::from_utf8(data) {
            let other = place.access.identify(&Secret::new(text)).await;
            assert!(text == TOKEN || other.is_err(), "nobody made {text}");
        }
        fs::write(&place.path, data).expect("it can be written");
        match place.access.reload() {
            Ok(()) => {
                assert!(
                    place.access.known(token.expose().as_bytes()).is_none(),
                    "what an older file said is forgotten"
                );
                let entries = TokenFile::at(&place.path).list().expect("it was read just now");
                let held = entries.iter().any(|entry| entry.hash.eq_ignore_ascii_case(&hash()));
                let taken = place.access.identify(&token).await;
                assert!(held || taken.is_err(), "a token that is not in the file counts");
                let written = serde_json::to_value(&entries).expect("entries are JSON");
                let read: Value = serde_json::from_slice(data).expect("what was read is JSON");
                assert_eq!(written.as_array().map(Vec::len), read["tokens"].as_array().map(Vec::len));
            }
            Err(error) => {
                assert!(place.access.identify(&token).await.is_ok(), "the file before stays in force");
                let said = format!("{error} {error:?}").to_ascii_lowercase();
                assert!(!said.contains(&hash()), "the error shows a hash: {said}");
            }
        }
    });
}
