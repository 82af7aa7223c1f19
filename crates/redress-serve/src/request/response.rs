//! Outcomes as HTTP answers.

use std::borrow::Cow;

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};
use bytes::Bytes;
use redress_contract::{Breach, Envelope, RequestId};
use redress_wire::http::{self, OPERATION_JSON, PROBLEM_JSON, ProblemDocument, RateLimitFields};

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(crate) const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
pub(crate) const OPERATION: HeaderValue = HeaderValue::from_static(OPERATION_JSON);
const PROBLEM: HeaderValue = HeaderValue::from_static(PROBLEM_JSON);
static RATE_LIMIT: header::HeaderName = header::HeaderName::from_static(http::header::RATE_LIMIT);
static RATE_LIMIT_POLICY: header::HeaderName = header::HeaderName::from_static(http::header::RATE_LIMIT_POLICY);
static OUTPUT_BREACH: header::HeaderName = header::HeaderName::from_static(http::header::OUTPUT_BREACH);
static REQUEST_ID: header::HeaderName = header::HeaderName::from_static(http::header::REQUEST_ID);

/// The output alone, or a problem document.
pub(crate) fn plain(mut envelope: Envelope) -> Response {
    let reservation = envelope.take_reservation();
    let fields = http::rate_limit(envelope.allowances());
    let breach = envelope.output_breach().cloned();
    match envelope.into_output() {
        Ok((buffer, start, meta)) => {
            let output = held(buffer, reservation).slice(start..);
            let answer = with_breach(body(StatusCode::OK, JSON, output), breach.as_ref());
            with_id(with_rate_limit(answer, fields), request_id(&meta.request_id))
        }
        Err(envelope) => problem(envelope, None),
    }
}

/// A problem document; for a path that has other methods, with their names.
pub(crate) fn problem(envelope: Envelope, allow: Option<&'static str>) -> Response {
    let id = request_id(&envelope.meta().request_id);
    let fields = http::rate_limit(envelope.allowances());
    let ProblemDocument { status, body, retry_after, www_authenticate } = match http::problem(envelope) {
        Ok(document) => document,
        Err(envelope) => return self::envelope(envelope),
    };
    let mut response = self::body(status_of(status), PROBLEM, Bytes::from(body));
    let headers = response.headers_mut();
    if let Some(seconds) = retry_after {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if let Some(challenge) = www_authenticate {
        insert_challenge(headers, challenge);
    }
    if status == 405 {
        headers.insert(header::ALLOW, HeaderValue::from_static(allow.unwrap_or("POST")));
    }
    with_id(with_rate_limit(response, fields), id)
}

/// The whole envelope, under the status of its ending.
pub(crate) fn envelope(mut envelope: Envelope) -> Response {
    let id = request_id(&envelope.meta().request_id);
    let reservation = envelope.take_reservation();
    let fields = http::rate_limit(envelope.allowances());
    let Some(problem) = envelope.problem() else {
        let answer = body(StatusCode::OK, JSON, held(envelope.into_bytes(), reservation));
        return with_id(with_rate_limit(answer, fields), id);
    };
    let status = http::status(problem);
    let retry_after = http::retry_after_seconds(problem);
    let challenge = http::challenge(problem);
    let mut response = body(status_of(status), JSON, Bytes::from(envelope.into_bytes()));
    let headers = response.headers_mut();
    if let Some(seconds) = retry_after {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if let Some(challenge) = challenge {
        insert_challenge(headers, challenge);
    }
    if status == 405 {
        headers.insert(header::ALLOW, HeaderValue::from_static("POST"));
    }
    with_id(with_rate_limit(response, fields), id)
}

/// Bytes that hold `reservation` for as long as any of them are in memory, whoever has them by then.
pub(crate) fn held<B, T>(bytes: B, reservation: Option<T>) -> Bytes
where
    B: Into<Bytes> + AsRef<[u8]> + Send + 'static,
    T: Send + 'static,
{
    match reservation {
        None => bytes.into(),
        Some(reservation) => Bytes::from_owner(HeldBytes { bytes, _reservation: reservation }),
    }
}

struct HeldBytes<B, T> {
    bytes: B,
    _reservation: T,
}

impl<B: AsRef<[u8]>, T> AsRef<[u8]> for HeldBytes<B, T> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

/// An answer of these bytes.
pub(crate) fn body(status: StatusCode, media: HeaderValue, bytes: Bytes) -> Response {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, media);
    response
}

/// Forbids browsers to take an answer for something else than it says it is, such as a script.
pub(crate) fn forbid_sniffing(response: &mut Response) {
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

pub(crate) fn request_id(id: &RequestId) -> Option<HeaderValue> {
    HeaderValue::from_maybe_shared(Bytes::from(String::from(id))).ok()
}

pub(crate) fn with_id(mut response: Response, id: Option<HeaderValue>) -> Response {
    if let Some(id) = id {
        response.headers_mut().insert(REQUEST_ID.clone(), id);
    }
    response
}

/// The same answer, marked where its output breaks the schema that it is promised by.
fn with_breach(mut response: Response, breach: Option<&Breach>) -> Response {
    if let Some(value) = breach.and_then(|breach| HeaderValue::from_str(&http::output_breach(breach)).ok()) {
        response.headers_mut().insert(OUTPUT_BREACH.clone(), value);
    }
    response
}

/// The same answer, with what is left of the caller's allowances where the call was taken from some.
fn with_rate_limit(mut response: Response, fields: Option<RateLimitFields>) -> Response {
    let Some(RateLimitFields { policy, limit }) = fields else { return response };
    for (name, value) in [(&RATE_LIMIT_POLICY, policy), (&RATE_LIMIT, limit)] {
        if let Ok(value) = HeaderValue::from_maybe_shared(Bytes::from(value)) {
            response.headers_mut().insert(name.clone(), value);
        }
    }
    response
}

fn insert_challenge(headers: &mut HeaderMap, challenge: Cow<'static, str>) {
    let value = match challenge {
        Cow::Borrowed(fixed) => Ok(HeaderValue::from_static(fixed)),
        Cow::Owned(made) => HeaderValue::from_maybe_shared(Bytes::from(made)),
    };
    if let Ok(value) = value {
        headers.insert(header::WWW_AUTHENTICATE, value);
    }
}

fn status_of(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
