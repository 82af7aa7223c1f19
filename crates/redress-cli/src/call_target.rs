//! Where calls go: to the operations of this process, or to a server.

use std::{error::Error as _, path::Path, time::Duration};

use redress_contract::{CONSENT_GRANT, Caller, Contract, Name, OperationDeclaration, Shape};
use redress_core::{Face, Registry, Request};
use redress_wire::http;
use reqwest::{Response, StatusCode};
use serde_json::{Value, json, value::RawValue};
use tokio_util::sync::CancellationToken;

use crate::{
    error::{CliError, without_number},
    signals,
    stream_items::StreamItems,
    terminal::outcome_view::OutcomeView,
    tls,
};

/// The most bytes of an answer. A server that goes on for ever is none of ours.
const MAX_SIZE: usize = 256 << 20;

/// Where calls go.
pub(crate) enum CallTarget {
    Here(Registry),
    There { url: String, client: reqwest::Client },
}

/// One call.
pub(crate) struct Ask<'a> {
    pub(crate) operation: &'a str,
    pub(crate) input: &'a [u8],
    pub(crate) deadline: Option<Duration>,
    pub(crate) key: Option<&'a str>,
}

impl CallTarget {
    /// The server at `url`, whose authority may be one of those in the file `ca`, called with `token`.
    pub(crate) fn at(url: &str, ca: Option<&Path>, token: Option<&str>) -> Result<CallTarget, CliError> {
        let speaks = if cfg!(feature = "tls") { "https://" } else { "http://" };
        if !url.starts_with("http://") && !url.starts_with(speaks) {
            let says = if url.starts_with("https://") {
                "this build speaks plain HTTP only; build it with the feature `tls`"
            } else {
                "the URL does not start with `http://`"
            };
            return Err(CliError::ServerUnreachable { url: url.to_owned(), says: says.to_owned() });
        }
        let url = url.trim_end_matches('/').to_owned();
        let client = tls::client(&url, ca, token)?;
        Ok(CallTarget::There { url, client })
    }

    pub(crate) async fn call(&self, ask: &Ask<'_>) -> Result<OutcomeView, CliError> {
        self.call_as(Caller::local(), ask).await
    }

    /// Calls what is for persons, for somebody who has said so on the command line. A server goes by the token.
    pub(crate) async fn call_as_person(&self, ask: &Ask<'_>) -> Result<OutcomeView, CliError> {
        self.call_as(Caller::local().scope(CONSENT_GRANT), ask).await
    }

    async fn call_as(&self, caller: Caller, ask: &Ask<'_>) -> Result<OutcomeView, CliError> {
        let (registry, url) = match self {
            CallTarget::Here(registry) => (registry, None),
            CallTarget::There { url, .. } => {
                let response = self.post("/call", ask).await?;
                return answer(url, response).await;
            }
        };
        let mut request = local(ask).with_caller(caller);
        // A stream is not called, it is refused at once; Ctrl-C goes on to end the process.
        if registry.operation(ask.operation).is_some_and(|operation| operation.shape() != Shape::Subscription) {
            request = request.with_cancellation(interrupted()?);
        }
        let envelope = registry.call(ask.operation, request).await;
        let answer = OutcomeView::read(envelope.into_bytes())
            .ok_or_else(|| unreadable(url.unwrap_or("this process"), StatusCode::OK))?;
        Ok(match registry.operation(ask.operation).and_then(OperationDeclaration::deprecated) {
            Some(deprecation) => answer.of_deprecated(deprecation.replaced_by.clone()),
            None => answer,
        })
    }

    /// Subscribes; what refuses the call before the stream is open comes as an answer.
    pub(crate) async fn subscribe(&self, ask: &Ask<'_>) -> Result<Result<StreamItems, OutcomeView>, CliError> {
        match self {
            CallTarget::Here(registry) => match registry.subscribe(ask.operation, local(ask)).await {
                Ok(subscription) => Ok(Ok(StreamItems::Here(Box::new(subscription)))),
                Err(envelope) => {
                    let refused = OutcomeView::read(envelope.into_bytes());
                    refused.map(Err).ok_or_else(|| unreadable("this process", StatusCode::OK))
                }
            },
            CallTarget::There { url, .. } => {
                let response = self.post("/subscribe", ask).await?;
                if response.status().is_success() {
                    return Ok(Ok(StreamItems::there(url.clone(), response)));
                }
                answer(url, response).await.map(Err)
            }
        }
    }

    /// One line for each operation that may be called, as `GET /ops` tells it.
    pub(crate) async fn operations(&self) -> Result<Vec<Value>, CliError> {
        let (url, client) = match self {
            CallTarget::Here(registry) => return Ok(registry.open_to(Some(&Caller::local())).map(line).collect()),
            CallTarget::There { url, client } => (url, client),
        };
        let response = client.get(format!("{url}/ops")).timeout(PATIENCE).send().await;
        let response = response.map_err(|error| unreachable(url, &error))?;
        let status = response.status();
        let body = body(url, response).await?;
        let listed: Option<Value> = serde_json::from_slice(&body).ok();
        match listed.and_then(|mut listed| listed.get_mut("operations").map(Value::take)) {
            Some(Value::Array(operations)) => Ok(operations),
            Some(_) | None => Err(unreadable(url, status)),
        }
    }

    /// The declarations of the operations, as far as whoever asks may see them.
    pub(crate) async fn contract(&self) -> Result<Contract, CliError> {
        let (url, client) = match self {
            CallTarget::Here(registry) => return Ok(registry.contract().clone()),
            CallTarget::There { url, client } => (url, client),
        };
        let asked = client.get(format!("{url}/contract.json")).timeout(PATIENCE).send().await;
        let response = asked.map_err(|error| unreachable(url, &error))?;
        let status = response.status();
        let body = body(url, response).await?;
        let declared = status.is_success().then(|| serde_json::from_slice(&body).ok()).flatten();
        declared.ok_or_else(|| unreadable(url, status))
    }

    async fn post(&self, path: &str, ask: &Ask<'_>) -> Result<Response, CliError> {
        let CallTarget::There { url, client } = self else { return Err(unreadable("this process", StatusCode::OK)) };
        // The input goes as it was given, and is not read and written again.
        let input: &RawValue = serde_json::from_slice(ask.input).map_err(CliError::InputNotJson)?;
        let body = json_call(ask.operation, input)?;
        let mut request = client.post(format!("{url}{path}")).header("content-type", "application/json").body(body);
        if let Some(deadline) = ask.deadline {
            request = request.header(http::header::DEADLINE_MS, deadline.as_millis().max(1).to_string());
        }
        if let Some(key) = ask.key {
            request = request.header(http::header::IDEMPOTENCY_KEY, key);
        }
        request.send().await.map_err(|error| unreachable(url, &error))
    }
}

fn json_call(operation: &str, input: &RawValue) -> Result<Vec<u8>, CliError> {
    #[derive(serde::Serialize)]
    struct ServerMessage<'a> {
        operation: &'a str,
        input: &'a RawValue,
    }
    serde_json::to_vec(&ServerMessage { operation, input }).map_err(CliError::InputNotJson)
}

/// The call as this process makes it: whoever can start it may do everything in it but consent, which takes a flag.
fn local<'a>(ask: &Ask<'a>) -> Request<'a> {
    let mut request = Request::new(ask.input).with_face(Face::Command).with_caller(Caller::local());
    if let Some(deadline) = ask.deadline {
        request = request.with_deadline(deadline);
    }
    if let Some(key) = ask.key {
        request = request.with_idempotency_key(key);
    }
    request
}

/// What Ctrl-C cancels: the call ends as CANCELLED and shows how, and the process goes on.
fn interrupted() -> Result<CancellationToken, CliError> {
    let token = CancellationToken::new();
    let cancelled = token.clone();
    let interrupt = signals::interrupt().map_err(CliError::RuntimeUnavailable)?;
    tokio::spawn(async move {
        interrupt.await;
        cancelled.cancel();
    });
    Ok(token)
}

fn line(operation: &OperationDeclaration) -> Value {
    let mut line = json!({
        "name": operation.name(),
        "shape": operation.shape(),
        "summary": operation.summary(),
        "path": http::path(operation.name()),
        "deprecated": operation.deprecated().is_some(),
    });
    if let Some(instead) = operation.deprecated().and_then(|deprecation| deprecation.replaced_by.as_deref()) {
        line["replaced_by"] = instead.into();
    }
    line
}

async fn answer(url: &str, response: Response) -> Result<OutcomeView, CliError> {
    let status = response.status();
    let deprecated = response.headers().contains_key(http::DEPRECATION).then(|| successor(response.headers()));
    let body = body(url, response).await?;
    let answer = OutcomeView::read(body).ok_or_else(|| unreadable(url, status))?;
    Ok(match deprecated {
        Some(instead) => answer.of_deprecated(instead),
        None => answer,
    })
}

/// The operation that a server says to call instead.
fn successor(headers: &reqwest::header::HeaderMap) -> Option<String> {
    headers.get_all(http::LINK).iter().find_map(|link| {
        let (to, rel) = link.to_str().ok()?.strip_prefix('<')?.split_once('>')?;
        let (_, path) = to.split_once("/ops/").filter(|_| rel.contains("\"successor-version\""))?;
        Name::new(&path.replace('/', ".")).ok().map(|name| name.to_string())
    })
}

/// How long a server may take to tell its operations.
const PATIENCE: Duration = Duration::from_secs(30);

/// The whole body of an answer, if it is no larger than any that a server gives.
pub(crate) async fn body(url: &str, mut response: Response) -> Result<Vec<u8>, CliError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| unreachable(url, &error))? {
        if body.len().saturating_add(chunk.len()) > MAX_SIZE {
            return Err(unreadable(url, response.status()));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn unreadable(url: &str, status: StatusCode) -> CliError {
    CliError::ServerAnswerUnreadable { url: url.to_owned(), status: status.as_u16() }
}

/// The innermost reason, which is the one that a person can act on.
pub(crate) fn unreachable(url: &str, error: &reqwest::Error) -> CliError {
    if let Some(says) = tls::untrusted(error) {
        return CliError::ServerUntrusted { url: url.to_owned(), says };
    }
    let mut reason = error.source();
    while let Some(inner) = reason.and_then(|reason| reason.source()) {
        reason = Some(inner);
    }
    let says = reason.map_or_else(|| error.to_string(), ToString::to_string);
    let says = without_number(&says).to_lowercase();
    CliError::ServerUnreachable { url: url.to_owned(), says }
}
