//! The file of tokens, and files that change while they are in use.

use std::{
    fs,
    sync::Arc,
    thread,
    time::{Duration, Instant, SystemTime},
};

use redress_access::{AccessError, AccessOptions, Authenticator, JwtOptions, KeySource, NewToken, TokenFile};
use redress_core::{IdentityProvider as _, Secret};
use serde_json::{Value, json};

use crate::signing::{self, Key};

fn file(folder: &tempfile::TempDir) -> TokenFile {
    TokenFile::at(folder.path().join("tokens.json"))
}

fn open(file: &TokenFile) -> Arc<Authenticator> {
    let mut options = AccessOptions::default();
    options.tokens = Some(file.path().to_owned());
    // So rarely that only `reload` looks at the file, except where a test says otherwise.
    options.poll = Duration::from_secs(3600);
    Authenticator::open(options).unwrap()
}

async fn is_known(access: &Authenticator, token: &Secret) -> bool {
    access.identify(token).await.is_ok()
}

#[test]
fn the_file_holds_everything_but_the_token() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(&folder);
    let expires = SystemTime::UNIX_EPOCH + Duration::from_secs(1_900_000_000);
    let (token, entry) =
        file.create(NewToken::new("ada").scopes(["a", "b"]).expires(expires).note("for the laptop")).unwrap();
    let text = fs::read_to_string(file.path()).unwrap();
    let secret = token.expose().rsplit_once('_').unwrap().1;
    assert!(!text.contains(token.expose()) && !text.contains(secret), "{text}");
    assert!(!format!("{token:?} {entry:?} {file:?}").contains(secret));
    let document: Value = serde_json::from_str(&text).unwrap();
    let kept = &document["tokens"][0];
    assert_eq!((&kept["caller"], &kept["scopes"]), (&json!("ada"), &json!(["a", "b"])));
    assert_eq!((&kept["expires"], &kept["note"]), (&json!("2030-03-17T17:46:40Z"), &json!("for the laptop")));
    assert!(token.expose().starts_with(&format!("rd_{}_", entry.id)));
    assert_eq!(file.list().unwrap(), [entry]);
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_the_file_and_nothing_is_left_beside_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let file = file(&folder);
    for _ in 0..2 {
        file.create(NewToken::new("ada")).unwrap();
        assert_eq!(fs::metadata(file.path()).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["tokens.json", "tokens.json.lock"]);
}

#[test]
fn what_a_killed_writer_left_does_not_stop_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(&folder);
    fs::write(folder.path().join("tokens.json.new"), "half a fi").unwrap();
    file.create(NewToken::new("ada")).unwrap();
    assert_eq!(file.list().unwrap().len(), 1);
}

#[test]
fn no_token_is_lost_when_many_write_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(&folder);
    thread::scope(|scope| {
        for writer in 0..8 {
            let file = &file;
            scope.spawn(move || {
                for _ in 0..5 {
                    let (_, entry) = file.create(NewToken::new(format!("caller {writer}"))).unwrap();
                    // A reader sees a whole file at any time.
                    assert!(file.list().unwrap().contains(&entry));
                }
            });
        }
    });
    assert_eq!(file.list().unwrap().len(), 40);
}

#[test]
fn a_token_that_is_not_there_cannot_be_revoked() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(&folder);
    file.create(NewToken::new("ada")).unwrap();
    assert!(matches!(file.revoke("0123"), Err(AccessError::TokenMissing { id, .. }) if id == "0123"));
    assert_eq!(file.list().unwrap().len(), 1);
}

#[test]
fn what_is_wrong_with_the_file_is_said_by_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(&folder);
    let entry = |id: &str, caller: &str, hash: &str| {
        json!({"tokens": [{"id": id, "caller": caller, "hash": hash, "created": "2026-01-01T00:00:00Z"}]}).to_string()
    };
    let with = |member: &str, value: Value| {
        let mut document: Value = serde_json::from_str(&entry("a", "ada", &"0".repeat(64))).unwrap();
        document["tokens"][0][member] = value;
        document.to_string()
    };
    let mut twice: Value = serde_json::from_str(&entry("a", "ada", &"0".repeat(64))).unwrap();
    let mut second = twice["tokens"][0].clone();
    second["caller"] = "bob".into();
    twice["tokens"].as_array_mut().unwrap().push(second);
    for (content, says) in [
        (twice.to_string(), "two tokens are called `a`"),
        (with("id", json!("a_b")), "the token `a_b` has no usable `id`"),
        (with("id", json!("a\u{1b}")), "the token `a\\u{1b}` has no usable `id`"),
        (with("caller", json!("a\nb")), "the token `a` has no usable `caller`"),
        (with("scopes", json!(["two words"])), "the token `a` has no usable `scopes`"),
        (with("note", json!("a\nb")), "the token `a` has no usable `note`"),
        ("{\"tokens\": [\n  oops".to_owned(), "is no file of tokens: line 2, column 3"),
        (entry("a", "ada", "short"), "the token `a` has no usable `hash`"),
        (entry("a", "", &"0".repeat(64)), "the token `a` has no usable `caller`"),
        (entry("", "ada", &"0".repeat(64)), "the token `` has no usable `id`"),
    ] {
        fs::write(file.path(), &content).unwrap();
        let error = file.list().unwrap_err();
        assert!(error.to_string().ends_with(says), "{error}");
        // And nothing is written over it.
        assert!(file.create(NewToken::new("ada")).is_err());
        assert_eq!(fs::read_to_string(file.path()).unwrap(), content);
    }
}

#[tokio::test]
async fn a_token_that_is_revoked_is_worth_nothing_from_the_next_look_on() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(&folder);
    let access = open(&file);
    let (token, entry) = file.create(NewToken::new("ada")).unwrap();
    assert!(!is_known(&access, &token).await, "nobody has looked yet");
    access.reload().unwrap();
    assert!(is_known(&access, &token).await);
    assert_eq!(access.known(token.expose().as_bytes()).unwrap().id(), "ada");
    file.revoke(&entry.id).unwrap();
    access.reload().unwrap();
    assert!(access.known(token.expose().as_bytes()).is_none());
    assert!(!is_known(&access, &token).await);
}

#[tokio::test]
async fn a_token_that_has_ended_is_refused_for_that_and_not_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(&folder);
    let (old, _) = file.create(NewToken::new("ada").expires(SystemTime::now() - Duration::from_secs(1))).unwrap();
    let access = open(&file);
    assert_eq!(access.identify(&old).await, Err(redress_core::IdentityError::Expired));
    assert!(access.known(old.expose().as_bytes()).is_none());
}

#[tokio::test]
async fn a_broken_file_leaves_in_force_what_was_read_before() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(&folder);
    let (token, _) = file.create(NewToken::new("ada")).unwrap();
    let access = open(&file);
    fs::write(file.path(), "{").unwrap();
    assert!(matches!(access.reload(), Err(AccessError::TokensMalformed { .. })));
    assert!(is_known(&access, &token).await);
    // Nor does one that is gone: a mishap must not lock everybody out. An empty list takes every token away.
    fs::remove_file(file.path()).unwrap();
    assert!(matches!(access.reload(), Err(AccessError::Gone { .. })));
    assert!(is_known(&access, &token).await);
    fs::write(file.path(), r#"{"tokens": []}"#).unwrap();
    access.reload().unwrap();
    assert!(!is_known(&access, &token).await);
}

#[tokio::test]
async fn keys_that_change_count_at_once_and_broken_ones_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jwks.json");
    let (old, new) = (Key::p256("old"), Key::p256("new"));
    fs::write(&path, signing::set([&old])).unwrap();
    let mut jwt = JwtOptions::new(KeySource::JwksFile(path.clone()));
    jwt.audience = vec!["https://api.example".into()];
    let mut options = AccessOptions::default();
    options.jwt = Some(jwt);
    options.poll = Duration::from_secs(3600);
    let access = Authenticator::open(options).unwrap();
    let token = |key: &Key| Secret::new(key.token(key.algorithms[0], &signing::claims()));
    let (by_old, by_new) = (token(&old), token(&new));
    assert!(is_known(&access, &by_old).await && !is_known(&access, &by_new).await);
    fs::write(&path, signing::set([&new])).unwrap();
    access.reload().unwrap();
    assert!(access.known(by_old.expose().as_bytes()).is_none(), "what the old key verified is forgotten");
    assert!(!is_known(&access, &by_old).await && is_known(&access, &by_new).await);
    fs::write(&path, "{").unwrap();
    assert!(matches!(access.reload(), Err(AccessError::KeysMalformed { .. })));
    assert!(access.known(by_new.expose().as_bytes()).is_some());
}

#[tokio::test]
async fn what_is_read_changes_nothing_until_it_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(&folder);
    let keys = folder.path().join("jwks.json");
    let (old, new) = (Key::p256("old"), Key::p256("new"));
    fs::write(&keys, signing::set([&old])).unwrap();
    let (revoked, entry) = file.create(NewToken::new("ada")).unwrap();
    let mut jwt = JwtOptions::new(KeySource::JwksFile(keys.clone()));
    jwt.audience = vec!["https://api.example".into()];
    let mut options = AccessOptions::default();
    (options.tokens, options.jwt) = (Some(file.path().to_owned()), Some(jwt));
    options.poll = Duration::from_secs(3600);
    let access = Authenticator::open(options).unwrap();
    let token = |key: &Key| Secret::new(key.token(key.algorithms[0], &signing::claims()));
    let (by_old, by_new) = (token(&old), token(&new));
    file.revoke(&entry.id).unwrap();
    fs::write(&keys, signing::set([&new])).unwrap();
    let reading = access.read().unwrap();
    assert!(is_known(&access, &revoked).await && is_known(&access, &by_old).await);
    assert!(!is_known(&access, &by_new).await);
    access.take(reading);
    assert!(!is_known(&access, &revoked).await && !is_known(&access, &by_old).await);
    assert!(is_known(&access, &by_new).await);
    // What is wrong with one file is told, and the other one changes nothing either.
    file.create(NewToken::new("ada")).unwrap();
    fs::write(&keys, "{").unwrap();
    assert!(matches!(access.read(), Err(AccessError::KeysMalformed { .. })));
    assert!(is_known(&access, &by_new).await);
}

#[tokio::test]
async fn a_change_is_seen_without_being_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(&folder);
    let mut options = AccessOptions::default();
    options.tokens = Some(file.path().to_owned());
    options.poll = Duration::from_millis(1);
    let access = Authenticator::open(options).unwrap();
    let until = async |token: &Secret, known: bool| {
        let begun = Instant::now();
        // The table is replaced first, and what was remembered of it is forgotten right after.
        let remembered = || access.known(token.expose().as_bytes()).is_some();
        while is_known(&access, token).await != known || remembered() != known {
            assert!(begun.elapsed() < Duration::from_secs(30), "the change is not seen");
            tokio::task::yield_now().await;
        }
    };
    let (token, entry) = file.create(NewToken::new("ada")).unwrap();
    until(&token, true).await;
    file.revoke(&entry.id).unwrap();
    until(&token, false).await;
}
