//! WebSocket messages, one a line: every request ends exactly once.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, IgnoredAny, MapAccess, Visitor},
};
use serde_json::Value;

use super::frames::message;
use crate::{
    service,
    socket::{self, Frame},
};

/// What was asked for under one id.
#[derive(Debug, Default)]
struct Asked {
    requests: usize,
    aborts: usize,
    ends: usize,
}

pub(super) fn target(data: &[u8]) {
    let lines: Vec<&[u8]> = data.split(|byte| *byte == b'\n').take(64).collect();
    let bytes: Vec<u8> = lines.iter().flat_map(|line| socket::text(line)).collect();
    service::talk(async |service| {
        let frames = socket::exchange(&service.router, &bytes).await;
        let mut asked: BTreeMap<String, Asked> = BTreeMap::new();
        // What a reader of values takes for a request; the server may find fault with it, and has to say so.
        let mut unclear = false;
        for line in &lines {
            match serde_json::from_slice::<Value>(line) {
                // It may have two ids, and is refused under neither.
                Ok(value) if value.is_object() && serde_json::from_slice::<Once>(line).is_err() => unclear = true,
                Ok(value) => {
                    let Some(id) = value["id"].as_str().filter(|id| (1..=128).contains(&id.len())) else { continue };
                    let of_id = asked.entry(id.to_owned()).or_default();
                    match value["type"].as_str() {
                        Some("call.requested") if !id.starts_with("srv-") => of_id.requests += 1,
                        Some("call.aborted") => of_id.aborts += 1,
                        _ => {}
                    }
                }
                Err(_) => unclear = true,
            }
        }
        let mut seen: BTreeMap<String, u64> = BTreeMap::new();
        let mut closed = None;
        for frame in &frames {
            let payload = match frame {
                Frame::Message(payload) => payload,
                Frame::Close(code) => {
                    closed = *code;
                    continue;
                }
                Frame::Control => continue,
            };
            let value = message(&service.registry, payload);
            let Some(id) = value["id"].as_str() else { continue };
            let known = asked.contains_key(id);
            assert!(known || unclear, "nobody asked under {id}: {value}");
            match value["payload"].get("seq").and_then(Value::as_u64) {
                Some(seq) => {
                    let before = seen.insert(id.to_owned(), seq);
                    assert!(before.is_none_or(|before| seq == before + 1 || seq == 1), "{seq} after {before:?}");
                }
                None => asked.entry(id.to_owned()).or_default().ends += 1,
            }
        }
        // Who is closed on is owed nothing more.
        if closed.is_some_and(|code| code != 1000) || lines.iter().any(|line| line.len() > 100_000) {
            return;
        }
        for (id, of_id) in asked {
            // A message may be refused under the id of a call that goes on, so there may be more ends than requests.
            assert!(of_id.ends >= of_id.requests, "{id} was asked for and has no end: {of_id:?}");
        }
    });
}

/// An object that has each of its members once.
struct Once;

impl<'de> Deserialize<'de> for Once {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Once, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Once;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Once, A::Error> {
                let mut seen = Vec::new();
                while let Some((name, IgnoredAny)) = map.next_entry::<String, IgnoredAny>()? {
                    if seen.contains(&name) {
                        return Err(A::Error::custom("a member is there twice"));
                    }
                    seen.push(name);
                }
                Ok(Once)
            }
        }
        deserializer.deserialize_map(Members)
    }
}
