//! What a message says, read in one pass and with nothing copied.

use std::{borrow::Cow, fmt, marker::PhantomData, time::Duration};

use redress_contract::EngineCode;
use redress_wire::http::header;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::value::RawValue;

/// Ids that begin like this are the server's own.
pub(super) const OWN: &str = "srv-";
/// The longest id, in bytes.
const LONGEST_ID: usize = 128;

/// What a message says.
#[derive(Debug)]
pub(super) enum WsMessage<'a> {
    Requested(Requested<'a>),
    Responded { id: Cow<'a, str>, output: &'a RawValue },
    Completed { id: Cow<'a, str> },
    Aborted { id: Cow<'a, str> },
    Failed { id: Cow<'a, str>, payload: &'a RawValue },
}

/// A call that the other side asks for.
#[derive(Debug)]
pub(super) struct Requested<'a> {
    pub(super) id: Cow<'a, str>,
    pub(super) operation: Cow<'a, str>,
    /// The input as JSON; empty if there is none.
    pub(super) input: &'a str,
    pub(super) deadline: Option<Duration>,
    pub(super) idempotency_key: Option<Cow<'a, str>>,
    pub(super) last_event_id: Option<Cow<'a, str>>,
    pub(super) request_id: Option<Cow<'a, str>>,
    pub(super) auth_token: Option<Cow<'a, str>>,
    /// The trace that the call belongs to. One that cannot be read is as if absent, as its standard asks.
    pub(super) traceparent: Option<Cow<'a, str>>,
    pub(super) tracestate: Option<Cow<'a, str>>,
}

/// Why a message says nothing, and to which id that can be told.
#[derive(Debug)]
pub(super) struct Malformed<'a> {
    pub(super) code: EngineCode,
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) fault: MessageFault,
}

/// Where a message goes wrong, in words that hold nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MessageFault {
    pub(super) pointer: &'static str,
    pub(super) expected: &'static str,
}

#[derive(Deserialize)]
struct WholeMessage<'a> {
    #[serde(rename = "type", borrow, default, deserialize_with = "present")]
    sort: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    payload: Option<Object<Payload<'a>>>,
}

/// Every member that a payload may have, of whichever type it is.
#[derive(Default, Deserialize)]
struct Payload<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    operation: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "operationId", deserialize_with = "present")]
    operation_id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    deadline_ms: Option<&'a RawValue>,
    #[serde(borrow, default)]
    idempotency_key: Option<&'a RawValue>,
    #[serde(borrow, default)]
    last_event_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    request_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    auth_token: Option<&'a RawValue>,
    #[serde(borrow, default)]
    traceparent: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tracestate: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    output: Option<&'a RawValue>,
}

/// Reads a message that nests at most `depth` deep.
pub(super) fn read(text: &str, depth: usize) -> Result<WsMessage<'_>, Malformed<'_>> {
    if nests_deeper(text, depth) {
        let fault = MessageFault { pointer: "", expected: "JSON that nests less deeply" };
        return Err(Malformed { code: EngineCode::InvalidRequest, id: None, fault });
    }
    let Object(whole) = serde_json::from_str::<Object<WholeMessage<'_>>>(text).map_err(|_| unreadable(text))?;
    let id = whole.id.and_then(read_id);
    let invalid = |pointer, expected| Malformed {
        code: EngineCode::InvalidRequest,
        id: id.clone(),
        fault: MessageFault { pointer, expected },
    };
    let known = || id.clone().ok_or_else(|| invalid("/id", "a string of 1 to 128 bytes"));
    let sort = whole.sort.and_then(string);
    let payload = whole.payload.map(|Object(payload)| payload);
    match sort.as_deref() {
        Some("call.requested") => {
            let payload = payload.ok_or_else(|| invalid("/payload", "an object"))?;
            let id = known()?;
            if id.starts_with(OWN) {
                return Err(invalid("/id", "an id that does not begin with `srv-`"));
            }
            requested(id, &payload).map_err(|MessageFault { pointer, expected }| invalid(pointer, expected))
        }
        Some("call.responded") => {
            let output = payload.and_then(|payload| payload.output);
            let output = output.ok_or_else(|| invalid("/payload/output", "the output of the call"))?;
            Ok(WsMessage::Responded { id: known()?, output })
        }
        Some("call.completed") => Ok(WsMessage::Completed { id: known()? }),
        Some("call.aborted") => Ok(WsMessage::Aborted { id: known()? }),
        Some("call.error") => {
            // A failure of the other side is rare, and wanted whole; it may be read twice.
            let payload = whole_payload(text).ok_or_else(|| invalid("/payload", "an object"))?;
            Ok(WsMessage::Failed { id: known()?, payload })
        }
        Some(_) | None => {
            Err(invalid("/type", "one of call.requested, call.responded, call.completed, call.aborted, call.error"))
        }
    }
}

/// The id of a message that is not read further; nothing if it has none that can be read.
pub(super) fn id_of(text: &str) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct OnlyId<'a> {
        #[serde(borrow, default)]
        id: Option<&'a RawValue>,
    }
    let Object(OnlyId { id }) = serde_json::from_str(text).ok()?;
    id.and_then(read_id)
}

fn requested<'a>(id: Cow<'a, str>, payload: &Payload<'a>) -> Result<WsMessage<'a>, MessageFault> {
    let operation = match (payload.operation, payload.operation_id) {
        (Some(raw), None) | (None, Some(raw)) => string(raw).filter(|name| !name.is_empty()),
        (Some(_), Some(_)) | (None, None) => None,
    };
    let operation = operation.ok_or(MessageFault {
        pointer: "/payload/operation",
        expected: "the name of one operation, as `operation` or as `operationId`",
    })?;
    let deadline = match payload.deadline_ms {
        None => None,
        Some(raw) => {
            let deadline = serde_json::from_str(raw.get()).ok().and_then(header::deadline);
            Some(deadline.ok_or(MessageFault { pointer: "/payload/deadline_ms", expected: header::A_DEADLINE })?)
        }
    };
    let text = |member: Option<&'a RawValue>, pointer| match member {
        None => Ok(None),
        Some(raw) => string(raw).map(Some).ok_or(MessageFault { pointer, expected: "a string" }),
    };
    let key = text(payload.idempotency_key, "/payload/idempotency_key")?;
    if !key.as_deref().is_none_or(header::is_idempotency_key) {
        return Err(MessageFault { pointer: "/payload/idempotency_key", expected: header::A_KEY });
    }
    Ok(WsMessage::Requested(Requested {
        id,
        operation,
        input: payload.input.map(RawValue::get).unwrap_or_default(),
        deadline,
        idempotency_key: key,
        last_event_id: text(payload.last_event_id, "/payload/last_event_id")?,
        request_id: text(payload.request_id, "/payload/request_id")?,
        auth_token: text(payload.auth_token, "/payload/auth_token")?,
        traceparent: payload.traceparent.and_then(string),
        tracestate: payload.tracestate.and_then(string),
    }))
}

/// Why serde did not take a message: it is no JSON, or no object with each member once.
fn unreadable(text: &str) -> Malformed<'_> {
    let (code, expected) = match serde_json::from_str::<&RawValue>(text) {
        Err(_) => (EngineCode::ParseError, "JSON"),
        Ok(_) => (EngineCode::InvalidRequest, "an object with `type`, `id` and an object `payload`, each once"),
    };
    Malformed { code, id: id_of(text), fault: MessageFault { pointer: "", expected } }
}

fn whole_payload(text: &str) -> Option<&RawValue> {
    #[derive(Deserialize)]
    struct OnlyPayload<'a> {
        #[serde(borrow)]
        payload: &'a RawValue,
    }
    let Object(OnlyPayload { payload }) = serde_json::from_str(text).ok()?;
    payload.get().starts_with('{').then_some(payload)
}

fn read_id(raw: &RawValue) -> Option<Cow<'_, str>> {
    string(raw).filter(|id| !id.is_empty() && id.len() <= LONGEST_ID)
}

/// The text of a JSON string; nothing if it is none, or holds half a surrogate pair.
fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') { serde_json::from_str(raw.get()).ok().map(Cow::Owned) } else { Some(Cow::Borrowed(inner)) }
}

/// Whether `text` opens more than `depth` objects and arrays inside each other. Raw values are
/// read without recursion, so nothing else would stop a message that is all brackets.
fn nests_deeper(text: &str, depth: usize) -> bool {
    let (mut level, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                level += 1;
                if level > depth {
                    return true;
                }
            }
            b'}' | b']' if !in_string => level = level.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// A member as it was written, `null` included, where serde would take `null` for its absence.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// What is written as an object. Derived code alone would take an array too.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object<T>, D::Error> {
        struct UniqueMembers<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for UniqueMembers<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }
        deserializer.deserialize_map(UniqueMembers(PhantomData))
    }
}
