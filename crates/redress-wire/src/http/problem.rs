//! A bad ending as an RFC 9457 problem document.

use std::borrow::Cow;

use redress_contract::Envelope;

use super::{
    challenge::challenge,
    status::{reason, retry_after_seconds, status},
};

/// The media type of a problem document.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// A bad ending, ready to be sent over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProblemDocument {
    /// The status.
    pub status: u16,
    /// The body: the envelope's members, and `type`, `title`, `status` and `detail`.
    pub body: Vec<u8>,
    /// The seconds of `Retry-After`.
    pub retry_after: Option<u64>,
    /// What `WWW-Authenticate` says.
    pub www_authenticate: Option<Cow<'static, str>>,
}

/// The problem document of a bad ending; an envelope that ended well comes back.
///
/// The envelope is not written a second time: what a problem document has beyond it is
/// appended to its own buffer.
pub fn problem(envelope: Envelope) -> Result<ProblemDocument, Envelope> {
    let Some(problem) = envelope.problem() else { return Err(envelope) };
    let status = status(problem);
    let retry_after = retry_after_seconds(problem);
    let www_authenticate = challenge(problem);
    let body = envelope.into_bytes_with(|members| {
        members.docs_url("type");
        members.text("title", reason(members.problem().kind));
        members.error("detail");
        // Three digits, since that is what a status has.
        let digits = [status / 100, status / 10 % 10, status % 10].map(|digit| b'0' + digit as u8);
        members.json("status", &digits);
    });
    Ok(ProblemDocument { status, body, retry_after, www_authenticate })
}
