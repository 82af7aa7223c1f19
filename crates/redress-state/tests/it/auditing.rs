//! The audit: one record for each call, found again by what was asked for, with no input in it.

use std::time::{Duration, SystemTime};

use redress_core::{Face, Request, contract::Caller};
use redress_state::{AuditFilter, AuditReader, AuditRecord, ReadError, StateOptions, StateStore, Sync};
use serde_json::json;

use crate::service::{Runs, call, keyed, open_state, other, service};

fn lines(records: &[AuditRecord]) -> Vec<String> {
    let line = |record: &AuditRecord| {
        format!("{} {} {}", record.caller.as_deref().unwrap_or("nobody"), record.operation, record.code)
    };
    records.iter().map(line).collect()
}

#[tokio::test]
async fn a_call_is_in_the_audit_by_the_time_it_is_answered() {
    for sync in [Sync::Full, Sync::Normal] {
        let folder = tempfile::tempdir().unwrap();
        let state = StateStore::open(StateOptions::new(folder.path()).sync(sync)).await.unwrap();
        let registry = service(&state, &Runs::default());
        let mut reader = AuditReader::open(folder.path()).await.unwrap();
        for name in ["pay.send", "pay.fail", "pay.wipe"] {
            let envelope = call(&registry, name, &json!({"amount": 1})).await;
            let records = reader.next(&AuditFilter::new()).await.unwrap();
            assert_eq!(lines(&records), [format!("ada {name} {}", envelope.code().unwrap_or("ok"))]);
            assert_eq!(records[0].request_id, envelope.meta().request_id.to_string());
            assert_eq!((records[0].face.as_str(), &records[0].parent), ("process", &None));
            let ago = SystemTime::now().duration_since(records[0].time).unwrap_or_default();
            assert!(ago < Duration::from_secs(60), "{ago:?}");
        }
        state.close().await.unwrap();
    }
}

#[tokio::test]
async fn records_are_found_by_every_thing_that_is_known_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let state = open_state(folder.path()).await;
    let registry = service(&state, &Runs::default());
    let strange = "ann \"the\\key\"\u{1}ä";
    let request = || Request::new(br#"{"amount":1}"#.as_slice());
    registry.call("pay.send", request().with_caller(Caller::new("ada")).with_request_id("first")).await;
    registry.call("pay.fail", request().with_caller(Caller::new("bob")).with_face(Face::Http)).await;
    registry.call("pay.send", Request::new(br#"{"amount":2}"#.as_slice()).with_caller(Caller::new(strange))).await;
    let mut reader = AuditReader::open(folder.path()).await.unwrap();
    let hash = reader.hash(br#"{"amount":2}"#);
    let now = SystemTime::now();
    let (ahead, ago) = (now + Duration::from_secs(600), now - Duration::from_secs(600));
    let all = AuditFilter::new;
    for (filter, expected) in [
        (all(), vec!["ada pay.send ok", "bob pay.fail ACCOUNT_EMPTY", "ann \"the\\key\"\u{1}ä pay.send ok"]),
        (all().limit(2), vec!["bob pay.fail ACCOUNT_EMPTY", "ann \"the\\key\"\u{1}ä pay.send ok"]),
        (all().limit(0), vec![]),
        (all().caller("ada"), vec!["ada pay.send ok"]),
        (all().caller(strange), vec!["ann \"the\\key\"\u{1}ä pay.send ok"]),
        (all().operation("pay.f*").unwrap(), vec!["bob pay.fail ACCOUNT_EMPTY"]),
        (all().code("ok").limit(1), vec!["ann \"the\\key\"\u{1}ä pay.send ok"]),
        (all().request_id("first"), vec!["ada pay.send ok"]),
        (all().face("http"), vec!["bob pay.fail ACCOUNT_EMPTY"]),
        (all().input(hash), vec!["ann \"the\\key\"\u{1}ä pay.send ok"]),
        (all().since(ago).until(ahead).caller("bob"), vec!["bob pay.fail ACCOUNT_EMPTY"]),
        (all().since(ahead), vec![]),
        (all().until(ago), vec![]),
    ] {
        assert_eq!(lines(&reader.read(&filter).await.unwrap()), expected, "{filter:?}");
    }
    state.close().await.unwrap();
    // The service has gone, and its records have not.
    let mut reader = AuditReader::open(folder.path()).await.unwrap();
    assert_eq!(reader.read(&all()).await.unwrap().len(), 3);
}

#[tokio::test]
async fn people_can_ask_with_sql() {
    let folder = tempfile::tempdir().unwrap();
    let state = open_state(folder.path()).await;
    let registry = service(&state, &Runs::default());
    for _ in 0..3 {
        keyed(&registry, "pay.send", "k", &json!({})).await;
    }
    let rows: Vec<(String, String, String, bool)> =
        sqlx::query_as("SELECT time, caller, code, repeated FROM audit WHERE operation = 'pay.send' ORDER BY time")
            .fetch_all(&mut other(folder.path()).await)
            .await
            .unwrap();
    assert_eq!(rows.iter().map(|row| row.3).collect::<Vec<_>>(), [false, true, true]);
    assert!(rows.iter().all(|row| row.1 == "ada" && row.2 == "ok"));
    let shown = &rows[0].0;
    assert!(shown.len() == 24 && shown.ends_with('Z') && shown.contains('T'), "{shown}");
    state.close().await.unwrap();
}

#[tokio::test]
async fn nothing_of_an_input_is_in_any_file_of_the_state() {
    let folder = tempfile::tempdir().unwrap();
    let state = open_state(folder.path()).await;
    let registry = service(&state, &Runs::default());
    let needle = "a-needle-in-the-input";
    let input = json!({"note": needle});
    call(&registry, "pay.send", &input).await;
    keyed(&registry, "pay.send", "k", &input).await;
    keyed(&registry, "pay.fail", "k", &input).await;
    let search = || {
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            let path = entry.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            let found = bytes.windows(needle.len()).any(|window| window == needle.as_bytes());
            assert!(!found, "{}", path.display());
        }
    };
    search();
    state.close().await.unwrap();
    search();
}

#[tokio::test]
async fn the_hash_of_an_input_tells_nothing_to_whoever_has_another_state() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut hashes = Vec::new();
    for folder in [one.path(), two.path(), one.path()] {
        open_state(folder).await.close().await.unwrap();
        hashes.push(AuditReader::open(folder).await.unwrap().hash(b"{}"));
    }
    assert_eq!(hashes[0], hashes[2]);
    assert_ne!(hashes[0], hashes[1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_calls_at_once_are_recorded_once_each() {
    let folder = tempfile::tempdir().unwrap();
    let state = open_state(folder.path()).await;
    let registry = service(&state, &Runs::default());
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..64 {
        let registry = registry.clone();
        calls.spawn(async move {
            let mut ids = Vec::new();
            for m in 0..32 {
                let envelope = call(&registry, "pay.send", &json!({"n": n, "m": m})).await;
                ids.push(envelope.meta().request_id.to_string());
            }
            ids
        });
    }
    let mut answered = calls.join_all().await.concat();
    let mut reader = AuditReader::open(folder.path()).await.unwrap();
    let records = reader.read(&AuditFilter::new().limit(usize::MAX)).await.unwrap();
    let mut recorded: Vec<String> = records.into_iter().map(|record| record.request_id).collect();
    answered.sort();
    recorded.sort();
    assert_eq!(answered, recorded);
    assert_eq!(state.health().queued_bytes, 0);
    state.close().await.unwrap();
}

#[tokio::test]
async fn a_folder_with_no_state_is_told_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let error = AuditReader::open(folder.path()).await.unwrap_err();
    assert!(matches!(error, ReadError::Missing(_)), "{error}");
}
