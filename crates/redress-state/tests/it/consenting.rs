//! Consents: kept over a restart until they end or are taken back, and never brought back.

use redress_core::{Consent, ConsentScope, contract::Caller, contract::Name};
use serde_json::{Value, json};
use std::time::Duration;

use redress_state::{ConsentDesk, DeskError};

use crate::service::{Runs, call, open_state, other, service};

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
