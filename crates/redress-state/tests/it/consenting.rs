//! Consents: kept over a restart until they end or are taken back, and never brought back.

use redress_core::{Consent, ConsentScope, contract::Caller, contract::Name};
use serde_json::{Value, json};
use std::time::Duration;

use crate::service::{Runs, call, open_state, service};

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
