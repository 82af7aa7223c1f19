//! A server that runs: whether it answers, takes calls, has its documents, and goes by the same clock.

use std::time::{Duration, SystemTime};

use reqwest::{Client, Response};

use super::DoctorCheck;
use crate::{arguments, call_target, error::CliError, terminal::shell};

/// How far two clocks may be apart.
const SKEW: Duration = Duration::from_secs(5);
/// How long the server has to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The documents, each with a member that only it has.
const DOCUMENTS: [(&str, &str); 4] = [
    ("/openapi.json", "openapi"),
    ("/openrpc.json", "openrpc"),
    ("/contract.json", "operations"),
    ("/errors", "codes"),
];

pub(super) async fn checks(
    program: &str,
    url: &str,
    args: &arguments::ServerArgs,
) -> Result<Vec<DoctorCheck>, CliError> {
    let call_target::CallTarget::There { url, client } =
        call_target::CallTarget::at(url, args.ca(), args.token.as_deref())?
    else {
        return Ok(Vec::new());
    };
    let start = shell::line([program, "serve"]);
    let health = match ask(&client, &format!("{url}/healthz")).await {
        Ok(response) => response,
        Err(says) => return Ok(vec![DoctorCheck::fail("server", format!("{url} did not answer: {says}"), start)]),
    };
    let mut checks = vec![if health.status().is_success() {
        DoctorCheck::ok("server", format!("{url} answers"))
    } else {
        DoctorCheck::fail("server", format!("{url} answers {} to /healthz", health.status().as_u16()), start)
    }];
    checks.extend(clock(&health, SystemTime::now()));
    checks.extend(certificate(&health));
    let ready = match ask(&client, &format!("{url}/readyz")).await {
        Ok(response) if response.status().is_success() => {
            checks.extend(away(&url, response).await);
            DoctorCheck::ok("ready", "it takes calls")
        }
        Ok(response) => {
            let says = format!("it takes no calls: /readyz answers {}", response.status().as_u16());
            DoctorCheck::fail("ready", says, "look at its log: it goes down, or its state cannot be written")
        }
        Err(says) => DoctorCheck::fail("ready", format!("/readyz did not answer: {says}"), "look at its log"),
    };
    checks.push(ready);
    for (document, member) in DOCUMENTS {
        let answered = ask(&client, &format!("{url}{document}")).await;
        let status = answered.as_ref().map(|response| response.status().as_u16()).map_err(Clone::clone);
        checks.push(match status {
            Ok(200..=299) if is_document(&url, answered, member).await => {
                DoctorCheck::ok("documents", format!("{document} is there"))
            }
            Ok(200..=299) => {
                let says = format!("{document} is there, and is not what a server of redress gives");
                DoctorCheck::fail("documents", says, "look at what answers there: another program, or a proxy")
            }
            Ok(status @ (401 | 403)) => {
                let says = format!("{document} answers {status}: this caller may not read it");
                DoctorCheck::warn("documents", says, "set REDRESS_TOKEN to a token of a caller who may")
            }
            Ok(status) => DoctorCheck::fail("documents", format!("{document} answers {status}"), "look at its log"),
            Err(says) => {
                DoctorCheck::fail("documents", format!("{document} did not answer: {says}"), "look at its log")
            }
        });
    }
    Ok(checks)
}

/// The services behind a gateway to which no call goes through, as `/readyz` tells them.
async fn away(url: &str, response: Response) -> Vec<DoctorCheck> {
    let Ok(body) = call_target::body(url, response).await else { return Vec::new() };
    let said: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    let states = said.get("upstreams").and_then(serde_json::Value::as_object).into_iter().flatten();
    let away = states.filter_map(|(name, state)| Some((name, state.as_str().filter(|state| *state != "connected")?)));
    away.map(|(name, state)| {
        DoctorCheck::warn("upstream", format!("{name}: {state}"), "look at the service; it is tried again by itself")
    })
    .collect()
}

/// Whether the answer is the document that has this member. Any program can answer with 200.
async fn is_document(url: &str, answered: Result<Response, String>, member: &str) -> bool {
    let Ok(response) = answered else { return false };
    let Ok(body) = call_target::body(url, response).await else { return false };
    serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&body)
        .is_ok_and(|document| document.contains_key(member))
}

async fn ask(client: &Client, url: &str) -> Result<Response, String> {
    let answered = client.get(url).timeout(PATIENCE).send().await;
    answered.map_err(|error| {
        let trouble = call_target::unreachable(url, &error);
        let (CliError::ServerUnreachable { says, .. } | CliError::ServerUntrusted { says, .. }) = trouble else {
            return trouble.to_string();
        };
        says
    })
}

/// Tokens, consents and audits go by the clocks of both.
fn clock(response: &Response, now: SystemTime) -> Option<DoctorCheck> {
    let date = response.headers().get("date")?.to_str().ok()?;
    let there = httpdate::parse_http_date(date).ok()?;
    let apart = there.duration_since(now).or_else(|_| now.duration_since(there)).ok()?;
    Some(if apart <= SKEW {
        DoctorCheck::ok("clock", "the server goes by the same clock")
    } else {
        let says = format!("the clock of the server is {}s off", apart.as_secs());
        DoctorCheck::warn("clock", says, "set both clocks, best by NTP")
    })
}

#[cfg(feature = "tls")]
fn certificate(response: &Response) -> Option<DoctorCheck> {
    let shown = response.extensions().get::<reqwest::tls::TlsInfo>()?.peer_certificate()?;
    Some(super::certificate::held("tls", shown, SystemTime::now()))
}

#[cfg(not(feature = "tls"))]
fn certificate(_: &Response) -> Option<DoctorCheck> {
    None
}
