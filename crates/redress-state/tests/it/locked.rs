//! A file that somebody else holds: nothing is claimed to be kept, nothing is lost, and it heals by itself.

use std::time::Duration;

use redress_state::{AuditFilter, AuditReader, CloseError, StateOptions, StateStore};
use serde_json::json;
use sqlx::SqliteConnection;

use crate::keeping::key;
use crate::service::{Hands, Runs, call, keyed, open_state, other, service, until};

async fn run(connection: &mut SqliteConnection, sql: &'static str) {
    sqlx::query(sql).execute(connection).await.unwrap();
}

#[tokio::test]
async fn while_the_file_is_locked_calls_wait_or_are_refused_and_none_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let options = StateOptions::new(folder.path()).patience(Duration::from_secs(60));
    let state = StateStore::open(options).await.unwrap();
    let runs = Runs::default();
    let registry = service(&state, &runs);
    let mut somebody = other(folder.path()).await;
    run(&mut somebody, "BEGIN EXCLUSIVE").await;
    let waiting = tokio::spawn({
        let registry = registry.clone();
        async move { call(&registry, "pay.send", &json!({})).await }
    });
    until(|| !state.is_open()).await;
    assert!(!registry.is_ready());
    // What has not begun is refused, and has not run.
    let ran = runs.get();
    for key in ["a", "b"] {
        assert_eq!(keyed(&registry, "pay.send", key, &json!({})).await.code(), Some("OVERLOADED"));
    }
    assert_eq!(call(&registry, "pay.send", &json!({})).await.code(), Some("OVERLOADED"));
    assert_eq!(runs.get(), ran);
    // What has run is answered once it is kept.
    assert!(!waiting.is_finished());
    run(&mut somebody, "COMMIT").await;
    assert!(waiting.await.unwrap().is_ok());
    until(|| state.is_open()).await;
    assert!(keyed(&registry, "pay.send", "a", &json!({})).await.is_ok());
    let mut reader = AuditReader::open(folder.path()).await.unwrap();
    let records = reader.read(&AuditFilter::new()).await.unwrap();
    assert_eq!(records.iter().map(|record| record.code.as_str()).collect::<Vec<_>>(), ["ok", "ok"]);
    assert_eq!(state.health().late, 0);
    state.close().await.unwrap();
}

#[tokio::test]
async fn an_answer_waits_for_its_record_only_so_long_and_the_record_is_kept_later() {
    let folder = tempfile::tempdir().unwrap();
    let options = StateOptions::new(folder.path()).patience(Duration::from_millis(1));
    let state = StateStore::open(options).await.unwrap();
    let registry = service(&state, &Runs::default());
    let mut somebody = other(folder.path()).await;
    run(&mut somebody, "BEGIN EXCLUSIVE").await;
    assert!(call(&registry, "pay.send", &json!({})).await.is_ok());
    assert_eq!(state.health().late, 1);
    assert!(state.health().queued_bytes > 0);
    run(&mut somebody, "COMMIT").await;
    until(|| state.health().queued_bytes == 0).await;
    let mut reader = AuditReader::open(folder.path()).await.unwrap();
    assert_eq!(reader.read(&AuditFilter::new()).await.unwrap().len(), 1);
    state.close().await.unwrap();
}

#[tokio::test]
async fn a_revocation_that_could_not_be_kept_in_time_holds_at_once_and_is_kept_later() {
    let folder = tempfile::tempdir().unwrap();
    let options = StateOptions::new(folder.path()).patience(Duration::from_millis(1));
    let state = StateStore::open(options).await.unwrap();
    let consents = state.consents();
    let registry = service(&state, &Runs::default());
    until_granted(&registry).await;
    let mut somebody = other(folder.path()).await;
    run(&mut somebody, "BEGIN EXCLUSIVE").await;
    let scope = "pay.wipe".parse().unwrap();
    assert!(consents.withdraw("ada", &scope).await.is_err());
    assert!(consents.list(Some("ada")).await.unwrap().is_empty());
    run(&mut somebody, "COMMIT").await;
    state.close().await.unwrap();
    let state = open_state(folder.path()).await;
    assert!(state.consents().list(Some("ada")).await.unwrap().is_empty());
    state.close().await.unwrap();
}

#[tokio::test]
async fn a_state_that_closes_on_a_broken_disk_counts_all_that_it_could_not_keep_and_lets_nobody_wait() {
    let (folder, hands) = (tempfile::tempdir().unwrap(), Hands::new());
    let options = StateOptions::new(folder.path()).patience(Duration::from_secs(600)).clock(hands.clone());
    let state = StateStore::open(options).await.unwrap();
    let registry = service(&state, &Runs::default());
    let mut somebody = other(folder.path()).await;
    run(&mut somebody, "BEGIN EXCLUSIVE").await;
    let call =
        |registry: redress_core::Registry| tokio::spawn(async move { call(&registry, "pay.send", &json!({})).await });
    let first = call(registry.clone());
    until(|| state.health().queued_bytes > 0).await;
    // The writer is busy with the first for as long as it waits for the lock.
    let one = state.health().queued_bytes;
    let second = call(registry.clone());
    until(|| state.health().queued_bytes > one).await;
    let (closed, ()) = tokio::join!(state.close(), async {
        while !second.is_finished() {
            hands.pass(Duration::from_secs(1));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let error = closed.unwrap_err();
    assert!(matches!(error, CloseError::Unkept { records: 2, .. }), "{error}");
    assert!(first.await.unwrap().is_ok() && second.await.unwrap().is_ok());
}

#[tokio::test]
async fn a_writer_that_dies_closes_the_state_and_lets_nobody_wait() {
    let (folder, hands) = (tempfile::tempdir().unwrap(), Hands::new());
    let options = StateOptions::new(folder.path()).patience(Duration::from_secs(600)).clock(hands.clone());
    let state = StateStore::open(options).await.unwrap();
    let (registry, keys) = (service(&state, &Runs::default()), state.keys());
    let mut somebody = other(folder.path()).await;
    run(&mut somebody, "BEGIN EXCLUSIVE").await;
    let waiting = tokio::spawn({
        let registry = registry.clone();
        async move { call(&registry, "pay.send", &json!({})).await }
    });
    until(|| state.health().queued_bytes > 0).await;
    hands.stop();
    run(&mut somebody, "COMMIT").await;
    assert!(waiting.await.unwrap().is_ok());
    until(|| !state.is_open()).await;
    assert!(!registry.is_ready());
    assert!(keys.begin(&key(), [0; 32]).await.is_err());
    assert!(matches!(state.close().await, Err(CloseError::Writer(_))));
}

/// Grants a consent, however often its short patience is over first.
async fn until_granted(registry: &redress_core::Registry) {
    let input = json!({"operation": "pay.wipe"});
    while !call(registry, "consent.grant", &input).await.is_ok() {}
}
