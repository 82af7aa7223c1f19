//! So many calls in a day, counted in the state of the service: a restart does not give them back.
//!
//! `cargo run -p redress --features limits,state --example quota`
#![expect(clippy::print_stdout, reason = "an example shows what happens")]
use std::{path::Path, time::SystemTime};

use redress::{
    Caller, Layers, Outcome, Registry, Request,
    limits::{LimitOptions, LimitRule, Limits},
    operation,
    state::{QuotaReader, StateOptions, StateStore},
};

/// Build the report of the month.
#[operation(mutation, name = "reports.build", access(scopes = "reports:build"))]
async fn build() -> Outcome<String> {
    Ok("42 pages".to_owned())
}

pub(crate) fn registry() -> Result<Registry, redress::BuildError> {
    Registry::builder().add(build).build()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let folder = folder.path().join("state");
    for start in ["first start", "second start"] {
        println!("{start}:");
        serve(&folder).await?;
    }
    for used in QuotaReader::open(&folder).await?.read(SystemTime::now(), None).await? {
        let caller = used.caller.unwrap_or_default();
        println!("{caller} has used {} of {} a {}", used.used, used.limit, used.window.as_str());
    }
    Ok(())
}

/// Two calls on the state in `folder`.
async fn serve(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut reports = LimitRule::new(["reports.*"]);
    reports.quotas = vec!["3/month".parse()?];
    let mut limits = LimitOptions::default();
    limits.rules.push(reports);

    let state = StateStore::open(StateOptions::new(folder)).await?;
    let fittings = Layers::new().limit(Limits::new(limits)?).quotas(state.quotas());
    let registry = registry()?.with_layers(fittings);
    for _ in 0..2 {
        let ada = Caller::new("ada").scopes(["reports:build"]);
        let answer = registry.call("reports.build", Request::default().with_caller(ada)).await;
        let left: Vec<u64> = answer.allowances().iter().map(|allowance| allowance.remaining).collect();
        println!("  {}, {left:?} left", answer.code().unwrap_or("ok"));
    }
    state.close().await?;
    Ok(())
}
