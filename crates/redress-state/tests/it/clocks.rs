//! Clocks that are set: nothing is removed before its time, and nothing lasts longer for it.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use redress_state::{AuditFilter, AuditReader, StateOptions, StateStore};
use serde_json::json;

use crate::service::{Hands, Runs, call, keyed, service};

const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

async fn open(folder: &Path, hands: &Arc<Hands>) -> StateStore {
    let options = StateOptions::new(folder).keys_last(HOUR).retention(30 * DAY).clock(hands.clone());
    StateStore::open(options).await.unwrap()
}

async fn count(folder: &Path) -> usize {
    AuditReader::open(folder).await.unwrap().read(&AuditFilter::new().limit(usize::MAX)).await.unwrap().len()
}

#[tokio::test]
async fn records_are_removed_when_their_time_is_over_and_not_before() {
    let (folder, hands) = (tempfile::tempdir().unwrap(), Hands::new());
    let state = open(folder.path(), &hands).await;
    let registry = service(&state, &Runs::default());
    for _ in 0..3 {
        call(&registry, "pay.send", &json!({})).await;
        hands.pass(14 * DAY);
        state.upkeep().await.unwrap();
    }
    // The first is 42 days old, the second 28, the third 14.
    assert_eq!(count(folder.path()).await, 2);
    hands.pass(3 * DAY);
    state.upkeep().await.unwrap();
    assert_eq!(count(folder.path()).await, 1);
    state.close().await.unwrap();
}

#[tokio::test]
async fn a_clock_that_is_set_years_ahead_does_not_empty_the_audit() {
    let (folder, hands) = (tempfile::tempdir().unwrap(), Hands::new());
    let mut state = open(folder.path(), &hands).await;
    for _ in 0..3 {
        call(&service(&state, &Runs::default()), "pay.send", &json!({})).await;
        hands.pass(HOUR);
    }
    hands.set_ahead(20 * YEAR);
    for restart in [false, true, false] {
        if restart {
            state.close().await.unwrap();
            state = open(folder.path(), &hands).await;
        }
        hands.pass(HOUR);
        state.upkeep().await.unwrap();
        assert_eq!(count(folder.path()).await, 3);
    }
    // Somebody has set it right again, and what is kept then is in order.
    hands.set_back(20 * YEAR);
    call(&service(&state, &Runs::default()), "pay.fail", &json!({})).await;
    state.upkeep().await.unwrap();
    let mut reader = AuditReader::open(folder.path()).await.unwrap();
    let records = reader.read(&AuditFilter::new().limit(1)).await.unwrap();
    assert_eq!(records[0].code, "ACCOUNT_EMPTY");
    assert_eq!(count(folder.path()).await, 4);
    state.close().await.unwrap();
}

#[tokio::test]
async fn whoever_follows_the_audit_sees_every_record_once_and_in_order_whatever_the_clock_does() {
    let (folder, hands) = (tempfile::tempdir().unwrap(), Hands::new());
    let state = open(folder.path(), &hands).await;
    let registry = service(&state, &Runs::default());
    let mut reader = AuditReader::open(folder.path()).await.unwrap();
    let an_hour_ago = AuditFilter::new().since(SystemTime::now() - HOUR);
    for jump in [0_i32, 10, -10, -1, 1] {
        if jump > 0 {
            hands.set_ahead(jump.unsigned_abs() * YEAR);
        } else {
            hands.set_back(jump.unsigned_abs() * YEAR);
        }
        call(&registry, "pay.send", &json!({})).await;
        call(&registry, "pay.fail", &json!({})).await;
        let followed = reader.next(&AuditFilter::new()).await.unwrap();
        assert_eq!(followed.iter().map(|record| record.code.as_str()).collect::<Vec<_>>(), ["ok", "ACCOUNT_EMPTY"]);
    }
    // Those of the year before are left out by their own time.
    assert_eq!(reader.read(&an_hour_ago).await.unwrap().len(), 8);
    state.close().await.unwrap();
}

#[tokio::test]
async fn what_is_recorded_while_the_clock_is_far_behind_is_not_taken_for_old() {
    let (folder, hands) = (tempfile::tempdir().unwrap(), Hands::new());
    let state = open(folder.path(), &hands).await;
    call(&service(&state, &Runs::default()), "pay.send", &json!({})).await;
    hands.set_back(2 * YEAR);
    call(&service(&state, &Runs::default()), "pay.fail", &json!({})).await;
    state.upkeep().await.unwrap();
    assert_eq!(count(folder.path()).await, 2);
    hands.set_ahead(2 * YEAR);
    hands.pass(HOUR);
    state.upkeep().await.unwrap();
    assert_eq!(count(folder.path()).await, 2);
    // Both are as old as they really are.
    hands.pass(31 * DAY);
    state.upkeep().await.unwrap();
    assert_eq!(count(folder.path()).await, 0);
    state.close().await.unwrap();
}

#[tokio::test]
async fn after_a_long_pause_the_old_is_removed_step_by_step_and_the_new_stays() {
    let (folder, hands) = (tempfile::tempdir().unwrap(), Hands::new());
    let state = open(folder.path(), &hands).await;
    call(&service(&state, &Runs::default()), "pay.send", &json!({})).await;
    state.close().await.unwrap();
    hands.set_ahead(100 * DAY);
    let state = open(folder.path(), &hands).await;
    call(&service(&state, &Runs::default()), "pay.fail", &json!({})).await;
    state.upkeep().await.unwrap();
    assert_eq!(count(folder.path()).await, 2);
    hands.pass(5 * DAY);
    state.upkeep().await.unwrap();
    let left = AuditReader::open(folder.path()).await.unwrap().read(&AuditFilter::new()).await.unwrap();
    assert_eq!(left.iter().map(|record| record.code.as_str()).collect::<Vec<_>>(), ["ACCOUNT_EMPTY"]);
    state.close().await.unwrap();
}

#[tokio::test]
async fn a_key_lasts_as_long_as_the_service_runs_whatever_the_clock_on_the_wall_says() {
    let (folder, hands) = (tempfile::tempdir().unwrap(), Hands::new());
    let runs = Runs::default();
    let state = open(folder.path(), &hands).await;
    keyed(&service(&state, &runs), "pay.send", "k", &json!({})).await;
    hands.pass(HOUR / 2);
    state.close().await.unwrap();
    hands.set_ahead(YEAR);
    let state = open(folder.path(), &hands).await;
    state.upkeep().await.unwrap();
    keyed(&service(&state, &runs), "pay.send", "k", &json!({})).await;
    hands.set_back(2 * YEAR);
    keyed(&service(&state, &runs), "pay.send", "k", &json!({})).await;
    assert_eq!(runs.get(), 1);
    hands.pass(HOUR);
    keyed(&service(&state, &runs), "pay.send", "k", &json!({})).await;
    assert_eq!(runs.get(), 2);
    hands.pass(2 * HOUR);
    state.upkeep().await.unwrap();
    keyed(&service(&state, &runs), "pay.send", "k", &json!({})).await;
    assert_eq!(runs.get(), 3);
    state.close().await.unwrap();
}

#[tokio::test]
async fn a_clock_that_is_set_back_makes_no_consent_longer() {
    let (folder, hands) = (tempfile::tempdir().unwrap(), Hands::new());
    let state = open(folder.path(), &hands).await;
    let registry = service(&state, &Runs::default());
    call(&registry, "consent.grant", &json!({"operation": "pay.wipe", "minutes": 30})).await;
    hands.set_back(DAY);
    assert!(call(&registry, "pay.wipe", &json!({})).await.is_ok());
    hands.pass(Duration::from_secs(31 * 60));
    assert_eq!(call(&registry, "pay.wipe", &json!({})).await.code(), Some("CONSENT_REQUIRED"));
    state.upkeep().await.unwrap();
    let consents = state.consents().list(None).await.unwrap();
    assert!(consents.is_empty(), "{consents:?}");
    state.close().await.unwrap();
}

#[tokio::test]
async fn a_consent_of_a_clock_that_was_ahead_gives_nothing_after_a_restart() {
    let (folder, hands) = (tempfile::tempdir().unwrap(), Hands::new());
    hands.set_ahead(60 * DAY);
    let state = open(folder.path(), &hands).await;
    call(&service(&state, &Runs::default()), "consent.grant", &json!({"operation": "pay.wipe", "minutes": 1})).await;
    assert!(call(&service(&state, &Runs::default()), "pay.wipe", &json!({})).await.is_ok());
    state.close().await.unwrap();
    hands.set_back(60 * DAY);
    let state = open(folder.path(), &hands).await;
    let registry = service(&state, &Runs::default());
    assert_eq!(call(&registry, "pay.wipe", &json!({})).await.code(), Some("CONSENT_REQUIRED"));
    assert!(state.consents().list(None).await.unwrap().is_empty());
    state.close().await.unwrap();
}
