//! One call: its request sent, again where that is safe, and its answer read; all within the deadline of the call.

use std::{sync::atomic::Ordering, time::Duration};

use redress_contract::{Caller, Effect};
use redress_core::{Ctx, UpstreamFailure};
use redress_import::StatusPattern;
use reqwest::{Method, Response, StatusCode, Url};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::{
    address::is_same_origin,
    advice,
    body::{Answer, Unread, millis},
    breaker::{Attempt, BreakerState},
    credentials::{Applied, CredentialsMissing},
    gate::GatePermit,
    outcome::undeclared,
    planned::Planned,
    request::{self, Built},
    upstream::Inner,
};

/// How many redirects are followed, all of them to the service itself.
const MAX_HOPS: usize = 5;
/// How long is waited at most before a request is sent again.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// An answer that is still to be read, with what it holds meanwhile.
pub(crate) struct Open {
    pub(crate) response: Response,
    pub(crate) applied: Applied,
    pub(crate) attempt: Attempt,
    pub(crate) permit: GatePermit,
}

/// One call on its way.
pub(crate) struct Exchange<'a> {
    upstream: &'a Inner,
    planned: &'a Planned,
    ctx: &'a Ctx,
    deadline: Option<Instant>,
    built: Built,
    /// Whether the same request may be sent again whatever became of it.
    repeatable: bool,
    tries: u32,
    hops: usize,
    renewed: bool,
    /// Whether room was asked for already: that is done once in a call.
    reserved: bool,
}

/// What comes after an answer was read.
enum Next {
    Done(Answer),
    Again,
}

impl<'a> Exchange<'a> {
    /// The exchange for one call with `input`.
    pub(crate) fn new(
        upstream: &'a Inner,
        planned: &'a Planned,
        ctx: &'a Ctx,
        input: &Map<String, Value>,
    ) -> Result<Exchange<'a>, UpstreamFailure> {
        let plan = &planned.imported.request;
        let mut built = request::build(plan, &planned.base, input)
            .map_err(|unsendable| UpstreamFailure::unsendable(&unsendable.field, unsendable.expected))?;
        for (name, value) in &upstream.headers {
            built.headers.insert(name, value.clone());
        }
        if let Some(trace) = upstream.config.trace_headers {
            for (name, value) in trace() {
                if let Ok(value) = value.parse() {
                    built.headers.insert(name, value);
                }
            }
        }
        let keyed = match plan.idempotency_header.as_deref().map(|name| name.to_ascii_lowercase().parse()) {
            Some(Ok(name)) => {
                // One key for all tries: the caller's own, where it sent one, and no other caller's.
                let key: reqwest::header::HeaderName = name;
                let operation = planned.imported.operation.name().as_str();
                let value = ctx.idempotency_key_for(operation).unwrap_or_else(new_key);
                value.parse().map(|value| built.headers.insert(key, value)).is_ok()
            }
            Some(Err(_)) | None => false,
        };
        Ok(Exchange {
            upstream,
            planned,
            ctx,
            deadline: ctx.deadline().map(Instant::from_std),
            built,
            repeatable: !planned.may_change() || keyed,
            tries: 0,
            hops: 0,
            renewed: false,
            reserved: false,
        })
    }

    /// Sends the request and reads the answer.
    pub(crate) async fn answer(mut self) -> Result<Answer, UpstreamFailure> {
        loop {
            let open = self.open().await?;
            if let Next::Done(answer) = self.read(open).await? {
                return Ok(answer);
            }
        }
    }

    /// Sends the request, and reads the answer unless it is one to be read bit by bit.
    pub(crate) async fn stream(mut self) -> Result<Result<Open, Answer>, UpstreamFailure> {
        loop {
            let open = self.open().await?;
            if open.response.status() == StatusCode::OK {
                return Ok(Ok(open));
            }
            if let Next::Done(answer) = self.read(open).await? {
                return Ok(Err(answer));
            }
        }
    }

    /// Sends the request until an answer begins.
    async fn open(&mut self) -> Result<Open, UpstreamFailure> {
        loop {
            let applied = self.credentials().await?;
            if let BreakerState::Open { next_probe } = self.upstream.breaker.state() {
                return Err(self.closed(next_probe));
            }
            // The place comes first: to wait for one is no fault of the service.
            let permit =
                self.upstream.gate.enter(self.ctx.caller().map_or("", Caller::id)).await.map_err(|no_room| {
                    let details = json!({"upstream": self.upstream.config.name, "limit": no_room.limit});
                    UpstreamFailure::overloaded().with_details(details).with_retry_after_ms(millis(no_room.retry_after))
                })?;
            // Who gives a service less time than the operation has must not be able to shut it for others.
            let fair = self.deadline.filter(|_| !self.ctx.is_hurried());
            let attempt = match self.upstream.breaker.admit(fair) {
                Ok(attempt) => attempt,
                Err(pause) => return Err(self.closed(pause)),
            };
            let client = self.upstream.clients.get().await;
            self.upstream.counters.sent.fetch_add(1, Ordering::Relaxed);
            let error = match client.execute(self.request(&applied)).await {
                Ok(response) => return Ok(Open { response, applied, attempt, permit }),
                Err(error) => error.without_url(),
            };
            drop(permit);
            if is_garbage(&error) {
                attempt.answered();
                return Err(self.garbage("protocol").with_cause(error));
            }
            attempt.failed();
            let never_made = error.is_connect();
            if !(never_made || self.repeatable) || !self.wait(None).await {
                return Err(self.unreachable(&error, never_made).with_cause(error));
            }
        }
    }

    /// What to send to be known by the service.
    async fn credentials(&self) -> Result<Applied, UpstreamFailure> {
        let upstream = self.upstream;
        let applied = upstream.credentials.apply(&self.planned.imported.security, &upstream.tokens, self.renewed).await;
        applied.map_err(|missing| {
            if let CredentialsMissing::NoToken { unreachable: true, .. } = missing {
                let details = json!({"upstream": upstream.config.name, "reason": "authorization_server"});
                return UpstreamFailure::unreachable(Effect::None).with_details(details).with_cause(missing);
            }
            let details = json!({
                "upstream": upstream.config.name,
                "who": "operator",
                "reason": missing.reason(),
                "schemes": missing.schemes(),
            });
            UpstreamFailure::credentials_required().with_details(details).with_cause(missing)
        })
    }

    fn request(&self, applied: &Applied) -> reqwest::Request {
        let mut built = self.built.clone();
        applied.put_into(&mut built);
        let mut request = reqwest::Request::new(built.method, built.url);
        *request.headers_mut() = built.headers;
        *request.body_mut() = built.body.map(reqwest::Body::from);
        request
    }

    /// Reads the answer, and says whether the request is to be sent again because of it.
    async fn read(&mut self, open: Open) -> Result<Next, UpstreamFailure> {
        let Open { response, applied, mut attempt, permit } = open;
        let max = self.upstream.config.max_response;
        let (ctx, reserved) = (self.ctx, &mut self.reserved);
        let reserve = async |bytes| {
            if !std::mem::replace(reserved, true) {
                // To wait for room here is no fault of the service either.
                let deadline = attempt.pause();
                ctx.reserve(bytes).await;
                attempt.go_on(deadline);
            }
        };
        let read = if self.built.method == Method::HEAD {
            Ok(Answer::without_body(response, &self.upstream.credentials.sent()))
        } else {
            Answer::read(response, max, &self.upstream.credentials.sent(), reserve).await
        };
        drop(permit);
        let answer = match read {
            Ok(answer) => answer,
            Err(Unread::TooLarge { size }) => {
                attempt.answered();
                let mut details = json!({"upstream": self.upstream.config.name, "limit_bytes": max});
                if let Some(size) = size {
                    details["size_bytes"] = size.into();
                }
                return Err(UpstreamFailure::result_too_large().with_details(details));
            }
            Err(Unread::Broken(error)) => {
                let error = error.without_url();
                if is_garbage(&error) || is_encoding(&error) {
                    attempt.answered();
                    return Err(self.garbage("encoding").with_cause(error));
                }
                attempt.failed();
                if self.repeatable && self.wait(None).await {
                    return Ok(Next::Again);
                }
                return Err(self.unreachable(&error, false).with_cause(error));
            }
        };
        attempt.answered();
        self.after(answer, &applied).await
    }

    async fn after(&mut self, answer: Answer, applied: &Applied) -> Result<Next, UpstreamFailure> {
        let status = answer.status;
        if let Some(url) = self.redirected(&answer)? {
            self.built.url = url;
            self.hops += 1;
            return Ok(Next::Again);
        }
        // A service that asks who calls has done nothing yet.
        if status == 401 && !self.renewed && !applied.is_empty() {
            self.renewed = true;
            // What is the same as before would be refused as before.
            if self.credentials().await.is_ok_and(|renewed| !renewed.is_same_as(applied)) {
                return Ok(Next::Again);
            }
        }
        if matches!(status, 429 | 502 | 503 | 504) && self.repeatable {
            let wait = advice::retry_after(&answer.headers, std::time::SystemTime::now());
            if self.wait(wait).await {
                return Ok(Next::Again);
            }
        }
        Ok(Next::Done(answer))
    }

    /// Where a redirect leads that is followed: to the service itself, for a request that changes nothing.
    fn redirected(&self, answer: &Answer) -> Result<Option<Url>, UpstreamFailure> {
        let follows = matches!(answer.status, 301 | 302 | 303 | 307 | 308)
            && matches!(self.built.method, Method::GET | Method::HEAD)
            && self.planned.imported.response(answer.status).is_none_or(|plan| plan.status == StatusPattern::Default);
        if !follows {
            return Ok(None);
        }
        let said = answer.location.as_ref().and_then(|value| value.to_str().ok());
        let target = said.and_then(|said| self.built.url.join(said).ok());
        match target.filter(|target| is_same_origin(target, &self.built.url)) {
            Some(_) if self.hops >= MAX_HOPS => {
                Err(undeclared(&self.upstream.config.name, answer, "redirect").with_effect(self.planned.effect()))
            }
            other => Ok(other),
        }
    }

    /// Waits before the request is sent again; says no where it is not to be.
    async fn wait(&mut self, said: Option<Duration>) -> bool {
        if self.tries >= self.upstream.config.retries {
            return false;
        }
        let backoff = self.upstream.config.backoff.saturating_mul(1 << self.tries.min(10));
        let wait = said.unwrap_or_else(|| backoff.mul_f64(0.5 + fastrand::f64()));
        let fits = self.deadline.is_none_or(|deadline| deadline.saturating_duration_since(Instant::now()) > wait * 2);
        if wait > LONGEST_WAIT || !fits {
            return false;
        }
        self.tries += 1;
        self.upstream.counters.retried.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(wait).await;
        true
    }

    /// The breaker is open: nothing was sent.
    fn closed(&self, pause: Duration) -> UpstreamFailure {
        let details = json!({"upstream": self.upstream.config.name, "reason": "open", "next_probe_ms": millis(pause)});
        UpstreamFailure::unreachable(Effect::None).with_details(details).with_retry_after_ms(millis(pause).max(1))
    }

    fn unreachable(&self, error: &reqwest::Error, never_made: bool) -> UpstreamFailure {
        let effect = if never_made { Effect::None } else { self.planned.effect() };
        let reason = match (never_made, error.is_timeout()) {
            (true, _) => "connect",
            (false, true) => "timeout",
            (false, false) => "broken",
        };
        self.upstream.note(reason);
        let mut details = json!({"upstream": self.upstream.config.name, "reason": reason});
        let failure = UpstreamFailure::unreachable(effect);
        match self.upstream.breaker.state() {
            BreakerState::Open { next_probe } => {
                details["next_probe_ms"] = millis(next_probe).into();
                failure.with_details(details).with_retry_after_ms(millis(next_probe).max(1))
            }
            BreakerState::Closed | BreakerState::HalfOpen => failure.with_details(details),
        }
    }

    /// Bytes that are no answer of HTTP.
    fn garbage(&self, reason: &'static str) -> UpstreamFailure {
        self.upstream.note(reason);
        let details = json!({"upstream": self.upstream.config.name, "reason": reason});
        UpstreamFailure::undeclared().with_effect(self.planned.effect()).with_details(details)
    }
}

/// Whether what came is no HTTP at all.
fn is_garbage(error: &reqwest::Error) -> bool {
    chain(error).any(|cause| cause.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse))
}

/// Whether a body is not compressed as it says.
fn is_encoding(error: &reqwest::Error) -> bool {
    error.is_decode() && !chain(error).any(|cause| cause.is::<hyper::Error>())
}

fn chain<'a>(error: &'a reqwest::Error) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    let first: &(dyn std::error::Error + 'static) = error;
    std::iter::successors(Some(first), |cause| cause.source())
}

/// A key that nobody else has.
fn new_key() -> String {
    let mut bytes = [0_u8; 16];
    if getrandom::fill(&mut bytes).is_err() {
        bytes = fastrand::u128(..).to_le_bytes();
    }
    redress_core::hex(&bytes)
}
