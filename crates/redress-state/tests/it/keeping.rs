//! Idempotency keys: the same outcome again, after a restart too, and one run however many ask.

use std::sync::Arc;

use redress_core::{Begin, IdempotencyKey, Settled, contract::Name};
use serde_json::{Value, json};

use crate::service::{Runs, keyed, open_state, other, service};

#[tokio::test]
async fn a_key_has_its_outcome_again_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let runs = Runs::default();
    let input = json!({"amount": 5, "note": "ä \"quoted\""});
    let mut answers = Vec::new();
    for _ in 0..2 {
        let state = open_state(folder.path()).await;
        let registry = service(&state, &runs);
        for _ in 0..2 {
            let sent = keyed(&registry, "pay.send", "k", &input).await;
            answers.push(serde_json::from_slice::<Value>(sent.output().unwrap()).unwrap());
            let failed = keyed(&registry, "pay.fail", "k", &input).await;
            answers.push(serde_json::to_value(failed.problem().unwrap()).unwrap());
        }
        assert_eq!(keyed(&registry, "pay.send", "k", &json!({})).await.code(), Some("IDEMPOTENCY_CONFLICT"));
        state.close().await.unwrap();
    }
    assert_eq!(runs.get(), 2);
    assert_eq!(answers[1]["code"], "ACCOUNT_EMPTY");
    for pair in answers.chunks(2) {
        assert_eq!(pair, &answers[..2]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_calls_with_one_key_at_once_one_runs_and_all_get_its_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let state = open_state(folder.path()).await;
    let runs = Runs::default();
    let registry = service(&state, &runs);
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..200 {
        let registry = registry.clone();
        calls.spawn(async move {
            let key = format!("k{}", n % 5);
            let envelope = keyed(&registry, "pay.send", &key, &json!({"amount": n % 5})).await;
            (key, envelope.output().map(<[u8]>::to_vec))
        });
    }
    let mut answers = calls.join_all().await;
    answers.sort();
    answers.dedup();
    assert_eq!(answers.len(), 5);
    assert!(answers.iter().all(|(_, output)| output.is_some()));
    assert_eq!(runs.get(), 5);
    state.close().await.unwrap();
}

pub(crate) fn key() -> IdempotencyKey {
    IdempotencyKey { caller: "ada".into(), operation: Name::new("pay.send").unwrap(), key: Arc::from("k") }
}

#[tokio::test]
async fn a_key_that_was_freed_is_claimed_again_and_one_that_was_lost_never_is() {
    let folder = tempfile::tempdir().unwrap();
    let state = open_state(folder.path()).await;
    let keys = state.keys();
    for _ in 0..2 {
        assert!(matches!(keys.begin(&key(), [1; 32]).await.unwrap(), Begin::Fresh));
        keys.settle(&key(), Settled::Free).await.unwrap();
    }
    assert!(matches!(keys.begin(&key(), [1; 32]).await.unwrap(), Begin::Fresh));
    keys.settle(&key(), Settled::Lost).await.unwrap();
    for _ in 0..2 {
        assert!(matches!(keys.begin(&key(), [1; 32]).await.unwrap(), Begin::Unknown));
        assert!(matches!(keys.begin(&key(), [2; 32]).await.unwrap(), Begin::Conflict));
    }
    state.close().await.unwrap();
    let state = open_state(folder.path()).await;
    assert!(matches!(state.keys().begin(&key(), [1; 32]).await.unwrap(), Begin::Unknown));
    state.close().await.unwrap();
}

#[tokio::test]
async fn a_claim_that_is_dropped_before_it_is_answered_leaves_the_key_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let state = open_state(folder.path()).await;
    let keys = state.keys();
    for _ in 0..20 {
        let key = key();
        let mut claim = keys.begin(&key, [1; 32]);
        assert!(futures_util::poll!(&mut claim).is_pending());
        drop(claim);
    }
    assert!(matches!(keys.begin(&key(), [1; 32]).await.unwrap(), Begin::Fresh));
    keys.settle(&key(), Settled::Free).await.unwrap();
    let rows: i64 =
        sqlx::query_scalar("SELECT COUNT(*) FROM keys").fetch_one(&mut other(folder.path()).await).await.unwrap();
    assert_eq!(rows, 0);
    state.close().await.unwrap();
}

#[tokio::test]
async fn a_claim_is_in_the_file_before_its_handler_may_run() {
    let folder = tempfile::tempdir().unwrap();
    let state = open_state(folder.path()).await;
    let keys = state.keys();
    assert!(matches!(keys.begin(&key(), [1; 32]).await.unwrap(), Begin::Fresh));
    let stage: String =
        sqlx::query_scalar("SELECT stage FROM keys").fetch_one(&mut other(folder.path()).await).await.unwrap();
    assert_eq!(stage, "running");
    state.close().await.unwrap();
}

#[tokio::test]
async fn the_file_has_no_digest_of_an_input_that_others_could_make() {
    let folder = tempfile::tempdir().unwrap();
    let state = open_state(folder.path()).await;
    let (keys, guessed) = (state.keys(), [7; 32]);
    assert!(matches!(keys.begin(&key(), guessed).await.unwrap(), Begin::Fresh));
    let row = sqlx::query("SELECT input FROM keys").fetch_one(&mut other(folder.path()).await).await.unwrap();
    let kept: Vec<u8> = sqlx::Row::get(&row, 0);
    assert_eq!(kept.len(), 32);
    assert_ne!(kept, guessed);
    state.close().await.unwrap();
    // It still tells the same input from another one.
    let state = open_state(folder.path()).await;
    assert!(matches!(state.keys().begin(&key(), guessed).await.unwrap(), Begin::Unknown));
    assert!(matches!(state.keys().begin(&key(), [8; 32]).await.unwrap(), Begin::Conflict));
    state.close().await.unwrap();
}
