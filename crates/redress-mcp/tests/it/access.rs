//! Who may call what, where tokens tell who calls.

use std::sync::Arc;

use redress_core::{IdentityError, IdentityProvider, Secret, contract::Caller, testing::Canary};
use serde_json::json;

use crate::{
    demo::{self, Watched},
    service::{LEGACY, MODERN, Running, failure},
};

pub(crate) struct Tokens;

impl IdentityProvider for Tokens {
    fn identify<'a>(
        &'a self,
        token: &'a Secret,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<Caller, IdentityError>> + Send + 'a>> {
        Box::pin(async move {
            match token.expose() {
                "ada" => Ok(Caller::new("ada").scope("demo:closed")),
                "bob" => Ok(Caller::new("bob")),
                _ => Err(IdentityError::Invalid),
            }
        })
    }
}

async fn guarded(anonymous: bool) -> Running {
    let (canary, watched) = (Canary::new(), Arc::new(Watched::default()));
    let registry = demo::build(&canary, &watched, |builder| builder.identity(Tokens));
    Running::of(
        registry,
        canary,
        watched,
        |_| {},
        |http| {
            http.anonymous = anonymous;
            http.authorization_servers = vec!["https://login.example.com".to_owned()];
        },
    )
    .await
}

#[tokio::test]
async fn without_a_valid_token_the_whole_request_is_refused_and_told_where_to_get_one() {
    let running = guarded(false).await;
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let none = running.send(list, &[]).await;
    let metadata = format!("http://{}/.well-known/oauth-protected-resource/mcp", running.address);
    assert_eq!(none.status, 401);
    assert_eq!(none.header("www-authenticate"), format!(r#"Bearer resource_metadata="{metadata}""#));
    let bad = running.send(list, &[("authorization", "Bearer eve")]).await;
    assert_eq!(bad.status, 401);
    assert!(bad.header("www-authenticate").contains(r#"error="invalid_token""#));
    for refused in [none, bad] {
        let hint = refused.json()["error"]["data"]["hint"].as_str().unwrap().to_owned();
        assert!(hint.contains("sign in where `WWW-Authenticate` leads") && hint.contains("every request"), "{hint}");
    }

    for url in [metadata.clone(), metadata.trim_end_matches("/mcp").to_owned()] {
        let text = running.client.get(url).send().await.unwrap().text().await.unwrap();
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["resource"], running.url());
        assert_eq!(document["authorization_servers"], json!(["https://login.example.com"]));
        assert_eq!(document["scopes_supported"], json!(["demo:closed"]));
    }
}

#[tokio::test]
async fn the_list_shows_what_the_caller_may_call_and_may_be_kept_by_the_caller_alone() {
    let running = guarded(false).await;
    for (token, sees) in [("Bearer ada", true), ("bearer bob", false)] {
        let (body, headers) = crate::service::message(MODERN, "tools/list", json!({}));
        let mut headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        headers.push(("authorization", token));
        let listed = running.send(body, &headers).await.result();
        let closed = listed["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "demo_closed");
        assert_eq!((closed, listed["cacheScope"].as_str()), (sees, Some("private")), "{token}");
    }
}

#[tokio::test]
async fn a_missing_scope_is_asked_for() {
    let running = guarded(true).await;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo_closed"}}"#;
    let ada = running.send(call, &[("authorization", "Bearer ada")]).await;
    assert_eq!((ada.status, ada.result()["content"][0]["text"].as_str()), (200, Some("\"ada\"")));
    let bob = running.send(call, &[("authorization", "Bearer bob")]).await;
    assert_eq!((bob.status, failure(&bob.result())["code"].as_str()), (403, Some("FORBIDDEN")));
    assert!(bob.header("www-authenticate").contains(r#"error="insufficient_scope", scope="demo:closed""#));
    let nobody = running.send(call, &[]).await;
    assert_eq!((nobody.status, failure(&nobody.result())["code"].as_str()), (401, Some("AUTH_REQUIRED")));
    assert!(nobody.header("www-authenticate").contains("resource_metadata="));
    let told = call.replace(r#""demo_closed""#, r#""demo_closed","_meta":{"progressToken":1}"#);
    assert_eq!(running.send(told, &[("authorization", "Bearer bob")]).await.status, 403, "with progress as without");
    assert_eq!(running.call(LEGACY, "demo_number", json!({})).await.status, 200, "what is open stays open");
}

#[tokio::test]
async fn where_no_tokens_are_there_is_no_document_about_them() {
    let running = Running::start().await;
    let url = format!("http://{}/.well-known/oauth-protected-resource", running.address);
    assert_eq!(running.client.get(url).send().await.unwrap().status().as_u16(), 404);
}
