//! What a body asks for, read in one pass and with nothing copied.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

/// What a body asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RpcMessage<'a> {
    /// One request.
    Single(Member<'a>),
    /// Several, at least one.
    Batch(Vec<Member<'a>>),
}

/// One request, or what stands in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Member<'a> {
    /// A request or a notification.
    Call(RpcCall<'a>),
    /// Not a request; to be answered as invalid, under this id.
    Invalid(Id<'a>),
}

/// A request or a notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcCall<'a> {
    /// What the answer is known by; a notification has none, and gets no answer.
    pub id: Option<Id<'a>>,
    /// The operation.
    pub method: Cow<'a, str>,
    /// The input as JSON; empty if there is none.
    pub params: &'a [u8],
}

/// What an answer is known by: a string, a number or null, as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id<'a>(&'a str);

/// Why a body as a whole cannot be answered member by member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It is not JSON.
    #[error("the message is not JSON")]
    NotJson,
    /// It is an empty batch.
    #[error("the batch is empty")]
    EmptyBatch,
    /// It is a batch of more requests than are taken at once.
    #[error("the batch has more than {limit} members")]
    BatchTooLarge {
        /// How many are.
        limit: usize,
    },
}

impl<'a> Id<'a> {
    /// The longest id that is answered, in bytes of JSON.
    pub const MAX: usize = 1024;
    /// The id of an answer to what has none that can be read.
    pub const NULL: Id<'static> = Id("null");

    /// The id as JSON.
    pub fn as_json(self) -> &'a str {
        self.0
    }

    /// Reads an id that is written as JSON.
    ///
    /// ```
    /// use redress_wire::jsonrpc::Id;
    ///
    /// assert_eq!(Id::read("7").map(Id::as_json), Some("7"));
    /// assert!(Id::read("[]").is_none());
    /// ```
    pub fn read(raw: &'a str) -> Option<Id<'a>> {
        let sound = match raw.bytes().next()? {
            b'"' => string(raw).is_some(),
            b'-' | b'0'..=b'9' => true,
            _ => raw == "null",
        };
        (sound && raw.len() <= Id::MAX).then_some(Id(raw))
    }
}

/// Reads a body, with at most `limit` members in a batch.
///
/// ```
/// use redress_wire::jsonrpc::{Member, RpcMessage, read};
///
/// let body = br#"{"jsonrpc":"2.0","id":7,"method":"files.read","params":{"path":"a.md"}}"#;
/// let Ok(RpcMessage::Single(Member::Call(call))) = read(body, 50) else { panic!() };
/// assert_eq!((call.method.as_ref(), call.params), ("files.read", br#"{"path":"a.md"}"#.as_slice()));
/// ```
pub fn read(body: &[u8], limit: usize) -> Result<RpcMessage<'_>, Unreadable> {
    let text = std::str::from_utf8(body).map_err(|_| Unreadable::NotJson)?;
    let message = match quickly(text, limit) {
        Ok(message) => message,
        Err(_) => carefully(text)?,
    };
    match message {
        RpcMessage::Batch(members) if members.is_empty() => Err(Unreadable::EmptyBatch),
        RpcMessage::Batch(members) if members.len() > limit => Err(Unreadable::BatchTooLarge { limit }),
        message @ (RpcMessage::Single(_) | RpcMessage::Batch(_)) => Ok(message),
    }
}

fn quickly(text: &str, limit: usize) -> Result<RpcMessage<'_>, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let message = reader.deserialize_any(Scalars(AtTop { limit }, || RpcMessage::Single(Member::Invalid(Id::NULL))))?;
    reader.end()?;
    Ok(message)
}

/// Reads what serde cannot hold as values (a number beyond every type, half a surrogate
/// pair in a name) and is JSON all the same: there the trouble stays with its member.
fn carefully(text: &str) -> Result<RpcMessage<'_>, Unreadable> {
    let whole: &RawValue = serde_json::from_str(text).map_err(|_| Unreadable::NotJson)?;
    let Ok(members) = serde_json::from_str::<Vec<&RawValue>>(whole.get()) else {
        return Ok(RpcMessage::Single(Member::Invalid(Id::NULL)));
    };
    let members = members.into_iter().map(|raw| serde_json::from_str(raw.get()).unwrap_or(Member::Invalid(Id::NULL)));
    Ok(RpcMessage::Batch(members.collect()))
}

/// The text of a JSON string; nothing if it is none, or holds half a surrogate pair.
fn string(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') { serde_json::from_str(raw).ok().map(Cow::Owned) } else { Some(Cow::Borrowed(inner)) }
}

struct AtTop {
    limit: usize,
}

impl<'de> Visitor<'de> for AtTop {
    type Value = RpcMessage<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RpcMessage<'de>, A::Error> {
        read_members(map).map(RpcMessage::Single)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<RpcMessage<'de>, A::Error> {
        let mut members = Vec::new();
        // One more than the limit tells that there are too many; what follows is only read
        // to know whether it is JSON.
        while members.len() <= self.limit {
            match seq.next_element()? {
                Some(member) => members.push(member),
                None => return Ok(RpcMessage::Batch(members)),
            }
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(RpcMessage::Batch(members))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Member<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Member<'a>, D::Error> {
        struct InBatch;
        impl<'de> Visitor<'de> for InBatch {
            type Value = Member<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a request")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Member<'de>, A::Error> {
                read_members(map)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Member<'de>, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Member::Invalid(Id::NULL))
            }
        }
        deserializer.deserialize_any(Scalars(InBatch, || Member::Invalid(Id::NULL)))
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum KnownMember {
    Jsonrpc,
    Id,
    Method,
    Params,
    #[serde(other)]
    Other,
}

fn read_members<'de, A: MapAccess<'de>>(mut map: A) -> Result<Member<'de>, A::Error> {
    let (mut version, mut id, mut method, mut params) = (None, None, None, None);
    let mut twice = false;
    let mut id_twice = false;
    while let Some(known) = map.next_key::<KnownMember>()? {
        let slot = match known {
            KnownMember::Jsonrpc => &mut version,
            KnownMember::Method => &mut method,
            KnownMember::Params => &mut params,
            KnownMember::Id => {
                id_twice |= id.is_some();
                &mut id
            }
            KnownMember::Other => {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
        };
        twice |= slot.is_some();
        *slot = Some(map.next_value::<&'de RawValue>()?.get());
    }
    let read_id = if id_twice { Some(None) } else { id.map(Id::read) };
    let answered_as = read_id.flatten().unwrap_or(Id::NULL);
    let versioned = version.and_then(string).is_some_and(|version| version == "2.0");
    match (method.and_then(string), read_id) {
        (Some(method), None | Some(Some(_))) if versioned && !twice => Ok(Member::Call(RpcCall {
            id: read_id.flatten(),
            method,
            params: params.map(str::as_bytes).unwrap_or_default(),
        })),
        (Some(_) | None, _) => Ok(Member::Invalid(answered_as)),
    }
}

/// A visitor for objects and arrays that takes every scalar as what its function makes.
struct Scalars<V, F>(V, F);

macro_rules! scalars {
    ($($method:ident: $scalar:ty),*) => {
        $(fn $method<E>(self, _: $scalar) -> Result<V::Value, E> {
            Ok(self.1())
        })*
    };
}

impl<'de, V: Visitor<'de>, F: FnOnce() -> V::Value> Visitor<'de> for Scalars<V, F> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    scalars!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);

    fn visit_unit<E>(self) -> Result<V::Value, E> {
        Ok(self.1())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(map)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(seq)
    }
}
