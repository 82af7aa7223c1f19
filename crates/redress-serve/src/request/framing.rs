//! What a message has to be before anything in it is believed: to one host, and in a coding that is
//! read.
//!
//! Where a proxy and this server could read the same bytes as two different messages, request
//! smuggling begins; where they could take them for two different hosts, so does routing to the wrong
//! one. Such messages are refused, whoever is right.

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderValue, Version, header},
};
use redress_contract::EngineCode;
use redress_core::Refusal;
use serde_json::json;

/// Refuses a message whose host or coding can be read in two ways, or which has no host. The host that is named before
/// the path, as HTTP/2 and proxies do, is the one of `Host` from here on.
pub(crate) fn check<B>(request: &mut Request<B>) -> Result<(), Refusal> {
    check_said(request)?;
    let nameless = !request.headers().contains_key(header::HOST) && request.version() >= Version::HTTP_11;
    if nameless { Err(wrong_host("the host that is called")) } else { Ok(()) }
}

/// Refuses a message whose host or coding can be read in two ways. This is what is left to see of a message that
/// somebody else's server has read, which may also have been made in the same process, and then names no host.
pub(crate) fn check_said<B>(request: &mut Request<B>) -> Result<(), Refusal> {
    let (version, headers) = (request.version(), request.headers());
    let mut hosts = headers.get_all(header::HOST).iter();
    let (host, other) = (hosts.next(), hosts.next());
    let target = request.uri().authority();
    if other.is_some()
        || !host.is_none_or(is_host)
        || !target.is_none_or(|target| is_host_name(target.as_str().as_bytes()))
    {
        return Err(wrong_host("one host, and a port where it has one"));
    }
    if let (Some(host), Some(target)) = (host, target)
        && !host.as_bytes().eq_ignore_ascii_case(target.as_str().as_bytes())
    {
        return Err(wrong_host("the host that the request line names"));
    }
    check_coding(headers)?;
    if let (None, Some(target)) = (host, target)
        && version != Version::HTTP_11
        && let Ok(host) = HeaderValue::from_str(target.as_str())
    {
        request.headers_mut().insert(header::HOST, host);
    }
    Ok(())
}

fn is_host(host: &HeaderValue) -> bool {
    is_host_name(host.as_bytes())
}

/// Whether these are characters of a host and a port. What stands before an `@` is neither.
fn is_host_name(host: &[u8]) -> bool {
    host.iter().all(|byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':' | b'[' | b']' | b'%' | b'~')
    })
}

/// No coding but chunks is read, so that what is left of any other would be taken for the body.
fn check_coding(headers: &HeaderMap) -> Result<(), Refusal> {
    let Some(coding) = headers.get(header::TRANSFER_ENCODING) else { return Ok(()) };
    if headers.contains_key(header::CONTENT_LENGTH) {
        return Err(Refusal::new(EngineCode::InvalidRequest)
            .with_details(&json!({"header": "Content-Length", "expected": "absent beside Transfer-Encoding"}))
            .with_hint("Say how long the body is in one way: by its chunks, or by its length."));
    }
    let alone = headers.get_all(header::TRANSFER_ENCODING).iter().nth(1).is_none();
    if alone && coding.as_bytes().eq_ignore_ascii_case(b"chunked") {
        return Ok(());
    }
    Err(Refusal::new(EngineCode::InvalidRequest)
        .with_http(501)
        .with_details(&json!({"header": "Transfer-Encoding", "expected": "chunked"}))
        .with_hint("Send the body in chunks, or with its length, and in no other coding."))
}

fn wrong_host(expected: &str) -> Refusal {
    Refusal::new(EngineCode::InvalidRequest)
        .with_details(&json!({"header": "Host", "expected": expected}))
        .with_hint("Send one header `Host`, with the host and the port that are called.")
}
