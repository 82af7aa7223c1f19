//! What a request has to say of itself before it is answered.

use ::http::{
    HeaderMap,
    header::{AUTHORIZATION, HeaderName},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use redress_wire::{
    http::header::LAST_EVENT_ID,
    jsonrpc::Id,
    mcp::{Era, MODERN, ProtocolError, RequestMeta, VERSIONS, header, method},
};
use serde_json::json;

use crate::{
    asked::Asked,
    reply::{Ending, Reply},
    session,
};

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

/// The answer to a request whose id is none.
pub(crate) fn no_id() -> Reply {
    Reply::error(Id::NULL, ProtocolError::InvalidRequest, "an id is a string or a whole number", None)
}

/// The session that a message belongs to, if it says so. In the modern era there are none, and each request stands on
/// its own whatever it names. What tells whose message it is, and of what, stands once: of two, the one that is looked
/// at here need not be the one that another has looked at on the way.
pub(crate) fn session(headers: &HeaderMap) -> Result<Option<&str>, Reply> {
    // What is no token at all is for others to refuse.
    if headers.get_all(&AUTHORIZATION).iter().nth(1).is_some() {
        return Err(mismatch(Id::NULL, "the header authorization stands twice"));
    }
    single(Id::NULL, headers, &RESUMED)?;
    let modern = single(Id::NULL, headers, &VERSION)?.is_some_and(|version| version >= MODERN);
    Ok(single(Id::NULL, headers, &SESSION)?.filter(|_| !modern))
}

/// Which era a request over standard input speaks, or why it cannot be answered.
pub(crate) fn over_lines(id: Id<'_>, asked: &Asked<'_>) -> Result<Era, Reply> {
    let nothing = RequestMeta::default();
    let meta = asked.meta().unwrap_or(&nothing);
    let era = match &meta.protocol_version {
        Some(version) => Era::of(version).ok_or_else(|| unsupported(id, version))?,
        None if matches!(asked, Asked::Discover(_)) => Era::Modern,
        None => Era::Legacy,
    };
    complete(id, era, meta)?;
    Ok(era)
}

/// Which era a request over HTTP speaks, or why it cannot be answered: what its headers say has
/// to be what its body says, because others on the way go by the headers.
pub(crate) fn over_http(id: Id<'_>, headers: &HeaderMap, method: &str, asked: &Asked<'_>) -> Result<Era, Reply> {
    let header = single(id, headers, &VERSION)?;
    if let Asked::Initialize(params) = asked {
        return match header {
            Some(header) if *header != *params.protocol_version => {
                let says = "the header MCP-Protocol-Version is not the version in the parameters";
                Err(malformed(Reply::error(id, ProtocolError::InvalidRequest, says, None)))
            }
            // The handshake may leave the method out, but not say another one.
            Some(header) if header >= MODERN => match single(id, headers, &METHOD)? {
                Some(said) if said != method => {
                    Err(mismatch(id, "the header Mcp-Method is not the method in the body"))
                }
                Some(_) | None => Ok(Era::Legacy),
            },
            Some(_) | None => Ok(Era::Legacy),
        };
    }
    if header.is_some_and(|header| header >= MODERN) {
        routing(id, headers, method, asked)?;
    }
    let nothing = RequestMeta::default();
    let meta = asked.meta().unwrap_or(&nothing);
    let era = match (header, meta.protocol_version.as_deref()) {
        (None, None) if matches!(asked, Asked::Discover(_)) => Era::Modern,
        (None, None) => Era::Legacy,
        (None, Some(_)) => return Err(mismatch(id, "the header MCP-Protocol-Version is missing")),
        (Some(header), Some(body)) if header != body => {
            return Err(mismatch(id, "the header MCP-Protocol-Version is not the version in `_meta`"));
        }
        (Some(header), _) => match Era::of(header) {
            Some(_) if matches!(asked, Asked::Discover(_)) => Era::Modern,
            Some(era) => era,
            None => return Err(unsupported(id, header)),
        },
    };
    complete(id, era, meta)?;
    Ok(era)
}

/// What the modern era wants of a notification over HTTP.
pub(crate) fn notification(headers: &HeaderMap, method: &str) -> Result<(), Reply> {
    let modern = single(Id::NULL, headers, &VERSION)?.is_some_and(|header| header >= MODERN);
    match single(Id::NULL, headers, &METHOD)? {
        Some(said) if modern && said != method => {
            Err(mismatch(Id::NULL, "the header Mcp-Method is not the method in the body"))
        }
        None if modern => Err(mismatch(Id::NULL, "the header Mcp-Method is missing")),
        Some(_) | None => Ok(()),
    }
}

/// The headers by which others on the way lead the request.
fn routing(id: Id<'_>, headers: &HeaderMap, method: &str, asked: &Asked<'_>) -> Result<(), Reply> {
    match single(id, headers, &METHOD)? {
        None => return Err(mismatch(id, "the header Mcp-Method is missing")),
        Some(said) if said != method => {
            return Err(mismatch(id, "the header Mcp-Method is not the method in the body"));
        }
        Some(_) => {}
    }
    let Some(subject) = asked.subject() else { return Ok(()) };
    match single(id, headers, &NAME)? {
        None => Err(mismatch(id, "the header Mcp-Name is missing")),
        Some(said) if said != subject && decoded(said).as_deref() != Some(subject.as_bytes()) => {
            Err(mismatch(id, "the header Mcp-Name is not the name in the body"))
        }
        Some(_) => Ok(()),
    }
}

/// The text of a header value that is written in Base64.
fn decoded(value: &str) -> Option<Vec<u8>> {
    STANDARD.decode(value.strip_prefix(ENCODED.0)?.strip_suffix(ENCODED.1)?).ok()
}

/// Whether a request of the modern era says all that it has to, and any request nothing odd.
fn complete(id: Id<'_>, era: Era, meta: &RequestMeta<'_>) -> Result<(), Reply> {
    let missing = if era == Era::Modern { meta.missing() } else { Vec::new() };
    if !missing.is_empty() {
        let says = format!("`_meta` lacks, or has wrong: {}", missing.join(", "));
        return Err(malformed(Reply::error(id, ProtocolError::InvalidParams, &says, None)));
    }
    if era == Era::Modern && meta.log_level.as_deref().is_some_and(|level| session::level(level).is_none()) {
        return Err(Reply::error(id, ProtocolError::InvalidParams, "there is no such level of notes", None));
    }
    match meta.progress_token.map(|token| token.get().as_bytes()) {
        None => Ok(()),
        Some(token @ [b'"' | b'-' | b'0'..=b'9', ..]) if token.len() <= LONGEST_TOKEN => Ok(()),
        Some(_) => {
            let says = "a progress token is a string or a number of at most 1,024 bytes";
            Err(Reply::error(id, ProtocolError::InvalidParams, says, None))
        }
    }
}

/// The one value of a header. Two could be read differently by two readers.
fn single<'a>(id: Id<'_>, headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Reply> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    match (value.to_str(), values.next()) {
        (Ok(value), None) => Ok(Some(value)),
        (Ok(_) | Err(_), _) => Err(mismatch(id, &format!("the header {name} cannot be read, or stands twice"))),
    }
}

fn mismatch(id: Id<'_>, says: &str) -> Reply {
    Reply::error(id, ProtocolError::HeaderMismatch, says, None)
}

fn malformed(mut reply: Reply) -> Reply {
    reply.ending = Ending::Malformed;
    reply
}

fn unsupported(id: Id<'_>, version: &str) -> Reply {
    // What was sent comes back, as the protocol asks, but no more of it than a version has.
    let requested: String = version.chars().take(32).collect();
    let data = json!({"supported": VERSIONS, "requested": requested}).to_string();
    Reply::error(id, ProtocolError::UnsupportedVersion, "the protocol version is not served", Some(data.as_bytes()))
}

/// The answer to parameters that a method does not take.
pub(crate) fn unreadable(id: Id<'_>, asked: &str) -> Reply {
    let says = match asked {
        method::TOOLS_CALL => "the parameters need `name`, and may have `arguments` and `_meta`",
        method::PROMPTS_GET => "the parameters need `name`, and may have `arguments` and `_meta`",
        method::RESOURCES_READ | method::RESOURCES_SUBSCRIBE | method::RESOURCES_UNSUBSCRIBE => {
            "the parameters need `uri`"
        }
        method::COMPLETE => "the parameters need `ref` and `argument`",
        method::SET_LEVEL => "the parameters need `level`",
        method::LISTEN => "the parameters need `notifications`",
        method::INITIALIZE => "the parameters need `protocolVersion`, `capabilities` and `clientInfo`",
        _ => "the parameters are not what the method takes",
    };
    Reply::error(id, ProtocolError::InvalidParams, says, None)
}
