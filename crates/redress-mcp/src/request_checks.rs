//! What a request has to say of itself before it is answered.

use std::borrow::Cow;

use ::http::{
    HeaderMap,
    header::{AUTHORIZATION, HeaderName},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use redress_wire::{
    http::header::LAST_EVENT_ID,
    jsonrpc::Id,
    mcp::{Era, MODERN, RequestMeta, header},
};

use crate::{refusal::Unfit, request::McpRequest, session};

pub(crate) static SESSION: HeaderName = HeaderName::from_static(header::SESSION_ID);
pub(crate) static RESUMED: HeaderName = HeaderName::from_static(LAST_EVENT_ID);
static VERSION: HeaderName = HeaderName::from_static(header::PROTOCOL_VERSION);
static METHOD: HeaderName = HeaderName::from_static(header::METHOD);
static NAME: HeaderName = HeaderName::from_static(header::NAME);

/// How a header value says that it is written in Base64, because its text does not fit into a header.
const ENCODED: (&str, &str) = ("=?base64?", "?=");

/// How long a progress token may be: every notification repeats it.
const LONGEST_TOKEN: usize = 1024;

/// Whether an id is one that the protocol has: a string, or a whole number.
pub(crate) fn is_id(id: Id<'_>) -> bool {
    let json = id.as_json();
    json.starts_with('"') || json.parse::<i64>().is_ok()
}

/// The session that a message belongs to, if it says so. In the modern era there are none, and each request stands on
/// its own whatever it names. What tells whose message it is, and of what, stands once: of two, the one that is looked
/// at here need not be the one that another has looked at on the way.
pub(crate) fn session(headers: &HeaderMap) -> Result<Option<&str>, Unfit> {
    // What is no token at all is for others to refuse.
    if headers.get_all(&AUTHORIZATION).iter().nth(1).is_some() {
        return Err(mismatch(&AUTHORIZATION, "the header authorization stands twice"));
    }
    single(headers, &RESUMED)?;
    let modern = single(headers, &VERSION)?.is_some_and(|version| version >= MODERN);
    Ok(single(headers, &SESSION)?.filter(|_| !modern))
}

/// Which era a request over standard input speaks, or why it cannot be answered.
pub(crate) fn over_lines(asked: &McpRequest<'_>) -> Result<Era, Unfit> {
    let nothing = RequestMeta::default();
    let meta = asked.meta().unwrap_or(&nothing);
    let era = match &meta.protocol_version {
        Some(version) => Era::of(version).ok_or_else(|| Unfit::version(version))?,
        None if matches!(asked, McpRequest::Discover(_)) => Era::Modern,
        None => Era::Legacy,
    };
    complete(era, meta)?;
    Ok(era)
}

/// Which era a request over HTTP speaks, or why it cannot be answered: what its headers say has
/// to be what its body says, because others on the way go by the headers.
pub(crate) fn over_http(headers: &HeaderMap, method: &str, asked: &McpRequest<'_>) -> Result<Era, Unfit> {
    let header = single(headers, &VERSION)?;
    if let McpRequest::Initialize(params) = asked {
        return match header {
            Some(header) if *header != *params.protocol_version => Err(Unfit::OtherVersion),
            // The handshake may leave the method out, but not say another one.
            Some(header) if header >= MODERN => match single(headers, &METHOD)? {
                Some(said) if said != method => {
                    Err(mismatch(&METHOD, "the header Mcp-Method is not the method in the body"))
                }
                Some(_) | None => Ok(Era::Legacy),
            },
            Some(_) | None => Ok(Era::Legacy),
        };
    }
    if header.is_some_and(|header| header >= MODERN) {
        routing(headers, method, asked)?;
    }
    let nothing = RequestMeta::default();
    let meta = asked.meta().unwrap_or(&nothing);
    let era = match (header, meta.protocol_version.as_deref()) {
        (None, None) if matches!(asked, McpRequest::Discover(_)) => Era::Modern,
        (None, None) => Era::Legacy,
        (None, Some(_)) => return Err(mismatch(&VERSION, "the header MCP-Protocol-Version is missing")),
        (Some(header), Some(body)) if header != body => {
            return Err(mismatch(&VERSION, "the header MCP-Protocol-Version is not the version in `_meta`"));
        }
        (Some(header), _) => match Era::of(header) {
            Some(_) if matches!(asked, McpRequest::Discover(_)) => Era::Modern,
            Some(era) => era,
            None => return Err(Unfit::version(header)),
        },
    };
    complete(era, meta)?;
    Ok(era)
}

/// What the modern era wants of a notification over HTTP.
pub(crate) fn notification(headers: &HeaderMap, method: &str) -> Result<(), Unfit> {
    let modern = single(headers, &VERSION)?.is_some_and(|header| header >= MODERN);
    match single(headers, &METHOD)? {
        Some(said) if modern && said != method => {
            Err(mismatch(&METHOD, "the header Mcp-Method is not the method in the body"))
        }
        None if modern => Err(mismatch(&METHOD, "the header Mcp-Method is missing")),
        Some(_) | None => Ok(()),
    }
}

/// The headers by which others on the way lead the request.
fn routing(headers: &HeaderMap, method: &str, asked: &McpRequest<'_>) -> Result<(), Unfit> {
    match single(headers, &METHOD)? {
        None => return Err(mismatch(&METHOD, "the header Mcp-Method is missing")),
        Some(said) if said != method => {
            return Err(mismatch(&METHOD, "the header Mcp-Method is not the method in the body"));
        }
        Some(_) => {}
    }
    let Some(subject) = asked.subject() else { return Ok(()) };
    match single(headers, &NAME)? {
        None => Err(mismatch(&NAME, "the header Mcp-Name is missing")),
        Some(said) if said != subject && decoded(said).as_deref() != Some(subject.as_bytes()) => {
            Err(mismatch(&NAME, "the header Mcp-Name is not the name in the body"))
        }
        Some(_) => Ok(()),
    }
}

/// The text of a header value that is written in Base64.
fn decoded(value: &str) -> Option<Vec<u8>> {
    STANDARD.decode(value.strip_prefix(ENCODED.0)?.strip_suffix(ENCODED.1)?).ok()
}

/// Whether a request of the modern era says all that it has to, and any request nothing odd.
fn complete(era: Era, meta: &RequestMeta<'_>) -> Result<(), Unfit> {
    let missing = if era == Era::Modern { meta.missing() } else { Vec::new() };
    if !missing.is_empty() {
        return Err(Unfit::Meta(missing.join(", ")));
    }
    if era == Era::Modern && meta.log_level.as_deref().is_some_and(|level| session::level(level).is_none()) {
        return Err(Unfit::LogLevel);
    }
    match meta.progress_token.map(|token| token.get().as_bytes()) {
        None => Ok(()),
        Some(token @ [b'"' | b'-' | b'0'..=b'9', ..]) if token.len() <= LONGEST_TOKEN => Ok(()),
        Some(_) => Err(Unfit::ProgressToken),
    }
}

/// The one value of a header. Two could be read differently by two readers.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Unfit> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    match (value.to_str(), values.next()) {
        (Ok(value), None) => Ok(Some(value)),
        (Ok(_) | Err(_), _) => Err(mismatch(name, format!("the header {name} cannot be read, or stands twice"))),
    }
}

fn mismatch(header: &HeaderName, says: impl Into<Cow<'static, str>>) -> Unfit {
    Unfit::Header(header.clone(), says.into())
}
