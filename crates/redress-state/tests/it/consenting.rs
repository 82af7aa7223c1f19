//! Consents: kept over a restart until they end or are taken back, and never brought back.

use redress_core::{Consent, ConsentScope, contract::Caller, contract::Name};
use serde_json::{Value, json};
use std::{path::Path, time::Duration};

use redress_state::{ConsentDesk, DeskError, StateOptions, StateStore};

use crate::{
    log::Log,
    service::{Runs, call, open_state, other, service},
};

fn consent(caller: &str, scope: &ConsentScope) -> Consent {
    Consent { caller: caller.into(), scope: scope.clone(), lasts: Duration::from_secs(60), reason: "in person".into() }
}

#[tokio::test]
async fn a_person_who_may_write_the_folder_consents_beside_the_service_that_runs_and_without_one() {
    let folder = tempfile::tempdir().unwrap();
    let desk = ConsentDesk::at(folder.path());
    let scope: ConsentScope = "pay.wipe".parse().unwrap();
    assert!(desk.list(None).await.unwrap().is_empty(), "a folder without a state has none");
    let state = open_state(folder.path()).await;
    let registry = service(&state, &Runs::default());
    for _ in 0..2 {
        assert_eq!(call(&registry, "pay.wipe", &json!({})).await.code(), Some("CONSENT_REQUIRED"));
        assert!(!desk.withdraw("ada", &scope).await.unwrap());
        desk.grant(consent("bob", &scope)).await.unwrap();
        assert_eq!(call(&registry, "pay.wipe", &json!({})).await.code(), Some("CONSENT_REQUIRED"), "bob is another");
        desk.grant(consent("ada", &scope)).await.unwrap();
        assert!(call(&registry, "pay.wipe", &json!({})).await.is_ok(), "it holds when the desk has said so");
        assert_eq!(desk.list(Some("ada")).await.unwrap(), state.consents().list(Some("ada")).await.unwrap());
        assert!(desk.withdraw("ada", &scope).await.unwrap());
    }
    desk.grant(consent("ada", &scope)).await.unwrap();
    state.close().await.unwrap();
    assert_eq!(desk.list(Some("ada")).await.unwrap()[0].reason, "in person", "it is kept as any other");
    // Now nobody runs, and the desk writes the file itself.
    assert!(desk.withdraw("ada", &scope).await.unwrap() && !desk.withdraw("ada", &scope).await.unwrap());
    desk.grant(consent("ada", &scope)).await.unwrap();
    let state = open_state(folder.path()).await;
    assert!(call(&service(&state, &Runs::default()), "pay.wipe", &json!({})).await.is_ok());
    state.close().await.unwrap();
}

#[tokio::test]
async fn what_was_ordered_when_the_service_died_is_carried_out_by_the_next_one_in_its_order() {
    let folder = tempfile::tempdir().unwrap();
    open_state(folder.path()).await.close().await.unwrap();
    let mut connection = other(folder.path()).await;
    let later = "strftime('%s', 'now') * 1000 + 60000";
    let orders = format!(
        "INSERT INTO consent_orders (caller, scope, until_ms, reason) VALUES ('ada', 'pay.wipe', {later}, ''), \
         ('bob', 'pay.wipe', {later}, ''), ('bob', 'pay.wipe', NULL, ''), ('eve', 'no name', {later}, ''), ('old', 'pay.wipe', 1, '')"
    );
    sqlx::query(sqlx::AssertSqlSafe(orders)).execute(&mut connection).await.unwrap();
    drop(connection);
    let state = open_state(folder.path()).await;
    let (consents, wipe) = (state.consents(), Name::new("pay.wipe").unwrap());
    let took = async {
        while !consents.has(&Caller::new("ada"), &wipe).await.unwrap() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), took).await.expect("it is carried out");
    let held: Vec<String> = consents.list(None).await.unwrap().into_iter().map(|held| held.caller).collect();
    assert_eq!(held, ["ada"]);
    state.close().await.unwrap();
}

#[tokio::test]
async fn an_order_that_nobody_carries_out_is_taken_back_and_told() {
    let folder = tempfile::tempdir().unwrap();
    open_state(folder.path()).await.close().await.unwrap();
    // Somebody has the folder, who is no service.
    let lock = std::fs::File::open(folder.path()).unwrap();
    lock.lock().unwrap();
    std::fs::write(folder.path().join("redress.lock"), "").unwrap();
    let scope: ConsentScope = "pay.wipe".parse().unwrap();
    let refused = ConsentDesk::at(folder.path()).grant(consent("ada", &scope)).await;
    assert!(matches!(refused, Err(DeskError::NotTaken)), "{refused:?}");
    drop(lock);
    let state = open_state(folder.path()).await;
    state.upkeep().await.unwrap();
    assert!(state.consents().list(None).await.unwrap().is_empty());
    state.close().await.unwrap();
}

#[tokio::test]
async fn an_order_that_the_service_cannot_read_changes_nothing_and_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let state = open_state(folder.path()).await;
    // As one of a newer command may be.
    for spoilt in ["scope = 'no name'", "reason = x'ff'"] {
        let trigger = format!(
            "DROP TRIGGER IF EXISTS spoil; CREATE TRIGGER spoil AFTER INSERT ON consent_orders \
             BEGIN UPDATE consent_orders SET {spoilt} WHERE id = NEW.id; END"
        );
        sqlx::raw_sql(sqlx::AssertSqlSafe(trigger)).execute(&mut other(folder.path()).await).await.unwrap();
        let scope: ConsentScope = "pay.wipe".parse().unwrap();
        let refused = ConsentDesk::at(folder.path()).grant(consent("ada", &scope)).await;
        assert!(matches!(refused, Err(DeskError::Refused)), "{spoilt}: {refused:?}");
    }
    assert!(state.consents().list(None).await.unwrap().is_empty() && state.is_open());
    let left: i64 = sqlx::query_scalar("SELECT count(*) FROM consent_orders")
        .fetch_one(&mut other(folder.path()).await)
        .await
        .unwrap();
    assert_eq!(left, 0, "who has been told leaves nothing behind");
    state.close().await.unwrap();
}

/// All that is in a file, beside its consents.
async fn contents(folder: &Path) -> Vec<String> {
    let mut connection = other(folder).await;
    let all = "SELECT 'key ' || key || ' ' || stage FROM keys UNION ALL \
               SELECT 'batch ' || id FROM audit_batches UNION ALL \
               SELECT 'quota ' || caller || ' ' || used FROM quotas UNION ALL \
               SELECT 'meta ' || name || ' ' || hex(value) FROM meta ORDER BY 1";
    sqlx::query_scalar(all).fetch_all(&mut connection).await.unwrap()
}

#[tokio::test]
async fn a_desk_touches_nothing_but_consents_whatever_is_past_its_time_by_default() {
    let folder = tempfile::tempdir().unwrap();
    let lasting = || {
        let years = Duration::from_secs(10 * 365 * 24 * 60 * 60);
        StateStore::open(StateOptions::new(folder.path()).keys_last(years).retention(years))
    };
    lasting().await.unwrap().close().await.unwrap();
    for old in [
        // Four years ago, and a service has run for a year since.
        "INSERT INTO keys VALUES ('ada', 'pay.send', 'old', 1, x'00', 0, 'output', '{}'), \
         ('ada', 'pay.send', 'cut', 1, x'00', 0, 'running', NULL)",
        "INSERT INTO audit_batches VALUES (1, 0, 0, 0, 0, '[]')",
        "INSERT INTO quotas VALUES ('ada', '*', 'day', 0, 86400, 3, 4)",
        "UPDATE meta SET value = 31536000000 WHERE name = 'ran_ms'",
    ] {
        sqlx::query(old).execute(&mut other(folder.path()).await).await.unwrap();
    }
    let before = contents(folder.path()).await;
    assert!(before.contains(&"key cut running".to_owned()) && before.contains(&"batch 1".to_owned()), "{before:?}");
    let (desk, scope) = (ConsentDesk::at(folder.path()), "pay.wipe".parse().unwrap());
    desk.grant(consent("ada", &scope)).await.unwrap();
    assert_eq!(contents(folder.path()).await, before);
    assert!(desk.withdraw("ada", &scope).await.unwrap());
    desk.grant(consent("bob", &scope)).await.unwrap();
    assert_eq!(contents(folder.path()).await, before);
    let held = lasting().await.unwrap();
    assert_eq!(held.consents().list(None).await.unwrap()[0].caller, "bob");
    held.close().await.unwrap();
}

#[tokio::test]
async fn a_desk_makes_no_state_and_no_file_where_there_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let scope: ConsentScope = "pay.wipe".parse().unwrap();
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    for place in [folder.path().join("sttae"), empty] {
        let desk = ConsentDesk::at(&place);
        let granted = desk.grant(consent("ada", &scope)).await;
        assert!(matches!(&granted, Err(DeskError::Missing(missing)) if *missing == place), "{granted:?}");
        assert!(matches!(desk.withdraw("ada", &scope).await, Err(DeskError::Missing(_))));
        assert!(std::fs::read_dir(&place).map_or(0, Iterator::count) == 0, "{}", place.display());
    }
    // A back-up that was put back has no other file yet, and the desk leaves none.
    let state = folder.path().join("state");
    open_state(&state).await.close().await.unwrap();
    std::fs::remove_file(state.join("redress.lock")).unwrap();
    ConsentDesk::at(&state).grant(consent("ada", &scope)).await.unwrap();
    let names: Vec<_> = std::fs::read_dir(&state).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["redress.db"]);
}

#[tokio::test]
async fn what_was_changed_without_a_service_is_told_in_the_log_of_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    open_state(folder.path()).await.close().await.unwrap();
    let (desk, scope) = (ConsentDesk::at(folder.path()), "pay.wipe".parse().unwrap());
    for caller in ["ada", "bob"] {
        desk.grant(consent(caller, &scope)).await.unwrap();
    }
    assert!(desk.withdraw("bob", &scope).await.unwrap());
    let log = Log::default();
    let told = {
        let _heard = tracing::subscriber::set_default(log.clone());
        let state = open_state(folder.path()).await;
        let held = state.consents().list(None).await.unwrap();
        assert_eq!(held.iter().map(|held| held.caller.as_str()).collect::<Vec<_>>(), ["ada"]);
        state.close().await.unwrap();
        log.lines()
    };
    let about = |words: &[&str]| told.iter().filter(|line| words.iter().all(|word| line.contains(word))).count();
    assert_eq!(about(&["granted in the state folder", "ada", "pay.wipe"]), 1, "{told:?}");
    assert_eq!((about(&["granted", "bob"]), about(&["taken back in the state folder", "bob"])), (1, 1), "{told:?}");
    // Once, and not at each start.
    let log = Log::default();
    let _heard = tracing::subscriber::set_default(log.clone());
    let state = open_state(folder.path()).await;
    assert!(state.consents().has(&Caller::new("ada"), &Name::new("pay.wipe").unwrap()).await.unwrap());
    state.close().await.unwrap();
    assert!(!log.lines().iter().any(|line| line.contains("state folder")), "{:?}", log.lines());
}

#[tokio::test]
async fn to_take_back_what_was_never_given_is_no_news() {
    let folder = tempfile::tempdir().unwrap();
    let (desk, scope) = (ConsentDesk::at(folder.path()), "pay.wipe".parse().unwrap());
    let log = Log::default();
    {
        let _heard = tracing::subscriber::set_default(log.clone());
        open_state(folder.path()).await.close().await.unwrap();
        assert!(!desk.withdraw("ada", &scope).await.unwrap());
        open_state(folder.path()).await.close().await.unwrap();
    }
    assert!(!log.lines().iter().any(|line| line.contains("taken back")), "{:?}", log.lines());
}

#[tokio::test]
async fn a_file_of_an_older_version_is_left_to_the_service() {
    let folder = tempfile::tempdir().unwrap();
    open_state(folder.path()).await.close().await.unwrap();
    let older = "DELETE FROM _sqlx_migrations WHERE version = 4; ALTER TABLE consent_orders DROP COLUMN refused";
    sqlx::raw_sql(older).execute(&mut other(folder.path()).await).await.unwrap();
    let (desk, scope) = (ConsentDesk::at(folder.path()), "pay.wipe".parse().unwrap());
    let refused = desk.grant(consent("ada", &scope)).await;
    assert!(matches!(refused, Err(DeskError::Outdated)), "{refused:?}");
    open_state(folder.path()).await.close().await.unwrap();
    desk.grant(consent("ada", &scope)).await.unwrap();
}

#[tokio::test]
async fn a_consent_lasts_over_a_restart_and_a_revocation_too() {
    let folder = tempfile::tempdir().unwrap();
    let runs = Runs::default();
    let input = json!({"operation": "pay.wipe", "reason": "it is mine"});
    {
        let state = open_state(folder.path()).await;
        let registry = service(&state, &runs);
        assert_eq!(call(&registry, "pay.wipe", &json!({})).await.code(), Some("CONSENT_REQUIRED"));
        assert!(call(&registry, "consent.grant", &input).await.is_ok());
        assert!(call(&registry, "pay.wipe", &json!({})).await.is_ok());
        state.close().await.unwrap();
    }
    {
        let state = open_state(folder.path()).await;
        let registry = service(&state, &runs);
        assert!(call(&registry, "pay.wipe", &json!({})).await.is_ok());
        let listed = call(&registry, "consent.list", &json!({})).await;
        let listed: Value = serde_json::from_slice(listed.output().unwrap()).unwrap();
        assert_eq!(listed["consents"][0]["reason"], "it is mine");
        assert!(call(&registry, "consent.revoke", &json!({"operation": "pay.wipe"})).await.is_ok());
        assert_eq!(call(&registry, "pay.wipe", &json!({})).await.code(), Some("CONSENT_REQUIRED"));
        state.close().await.unwrap();
    }
    let state = open_state(folder.path()).await;
    assert_eq!(call(&service(&state, &runs), "pay.wipe", &json!({})).await.code(), Some("CONSENT_REQUIRED"));
    state.close().await.unwrap();
}

#[tokio::test]
async fn a_consent_that_was_taken_back_while_it_was_given_does_not_hold() {
    let folder = tempfile::tempdir().unwrap();
    let state = open_state(folder.path()).await;
    let consents = state.consents();
    let (ada, wipe) = (Caller::new("ada"), Name::new("pay.wipe").unwrap());
    let scope = ConsentScope::from(wipe.clone());
    for _ in 0..50 {
        let consent = Consent {
            caller: "ada".into(),
            scope: scope.clone(),
            lasts: Duration::from_secs(60),
            reason: String::new(),
        };
        let mut grant = consents.grant(consent);
        assert!(futures_util::poll!(&mut grant).is_pending());
        let withdraw = consents.withdraw("ada", &scope);
        let (granted, withdrawn) = tokio::join!(grant, withdraw);
        granted.unwrap();
        withdrawn.unwrap();
        assert!(!consents.has(&ada, &wipe).await.unwrap());
        assert!(consents.list(None).await.unwrap().is_empty());
    }
    state.close().await.unwrap();
    let state = open_state(folder.path()).await;
    assert!(!state.consents().has(&ada, &wipe).await.unwrap());
    state.close().await.unwrap();
}
