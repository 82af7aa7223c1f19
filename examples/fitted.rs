//! Who may call, how much, what is kept and what is counted: the parts of `redress.toml` in a program of your own.
//!
//! `cargo run -p redress --features serve,access,limits,state,telemetry --example with_layers`
#![expect(clippy::print_stdout, reason = "an example shows what happens")]
use std::{path::Path, sync::Arc};

use axum::{Router, body::Body, extract::Request};
use redress::{
    Layers, Outcome, Registry,
    access::{AccessOptions, Authenticator, NewToken, TokenFile},
    data,
    limits::{LimitOptions, Limits},
    operation,
    serve::Faces,
    state::{AuditFilter, AuditReader, StateOptions, StateStore},
    telemetry::Metrics,
};
use tower::ServiceExt as _;

#[data]
struct Payment {
    cents: u32,
}

/// Pay an invoice.
#[operation(mutation, name = "bank.pay", access(scopes = "bank:pay"), idempotency_key)]
async fn pay(input: Payment) -> Outcome<String> {
    Ok(format!("paid {} cents", input.cents))
}

pub(crate) fn registry() -> Result<Registry, redress::BuildError> {
    Registry::builder().add(pay).build()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    // As `redress token new ada --scope bank:pay` does: the file holds hashes, the tokens are shown once.
    let tokens = TokenFile::at(folder.path().join("tokens.json"));
    let (ada, _) = tokens.create(NewToken::new("ada").scopes(["bank:pay"]))?;
    let (eve, _) = tokens.create(NewToken::new("eve"))?;

    let state = StateStore::open(StateOptions::new(folder.path().join("state"))).await?;
    let (router, metrics) = served(tokens.path(), &state)?;
    ask(&router, "nobody", None, "1").await?;
    ask(&router, "eve", Some(eve.expose()), "1").await?;
    ask(&router, "ada", Some(ada.expose()), "1").await?;
    ask(&router, "ada, again with her key", Some(ada.expose()), "1").await?;
    ask(&router, "ada, a third time in a minute", Some(ada.expose()), "2").await?;

    println!("\nwhat is counted:");
    for line in metrics.text().lines().filter(|line| line.starts_with("redress_calls_total")) {
        println!("  {line}");
    }
    println!("\nwhat is kept:");
    let mut audit = AuditReader::open(folder.path().join("state")).await?;
    for record in audit.read(&AuditFilter::new()).await? {
        let caller = record.caller.as_deref().unwrap_or("nobody");
        let repeated = if record.repeated { ", repeated" } else { "" };
        println!("  {caller} {} {}{repeated}", record.operation, record.code);
    }
    state.close().await?;
    Ok(())
}

/// The faces of a registry with everything fitted.
fn served(tokens: &Path, state: &StateStore) -> Result<(Router, Arc<Metrics>), Box<dyn std::error::Error>> {
    let mut access = AccessOptions::default();
    access.tokens = Some(tokens.to_owned());
    let mut limits = LimitOptions::default();
    limits.rate = Some("2/min".parse()?);

    let registry = registry()?;
    let metrics = Metrics::new(registry.contract());
    let registry = registry.with_layers(
        Layers::new()
            .identity(Authenticator::open(access)?)
            .limit(Limits::new(limits)?)
            .consent(state.consents())
            .idempotency(state.keys())
            .audit(state.audit())
            .observer(metrics.clone()),
    );
    let counted = Arc::clone(&metrics);
    Ok((Faces::new(registry).metrics(move || counted.text()).router(), metrics))
}

/// Pays once, without a socket here.
async fn ask(router: &Router, who: &str, token: Option<&str>, key: &str) -> Result<(), Box<dyn std::error::Error>> {
    let mut request = Request::post("/ops/bank/pay").header("idempotency-key", key);
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let response = router.clone().oneshot(request.body(Body::from(r#"{"cents":250}"#))?).await?;
    let status = response.status();
    let body: serde_json::Value = serde_json::from_slice(&axum::body::to_bytes(response.into_body(), 65_536).await?)?;
    println!("{who}: {} {}", status.as_u16(), body.get("code").unwrap_or(&body));
    Ok(())
}
