//! The members of a JSON object, in the order in which they were written and as they were written.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

/// The members of a JSON object, in their order. A name that stands twice is there twice.
#[derive(Debug)]
pub struct ObjectMembers<'a>(pub Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> ObjectMembers<'a> {
    /// The members of the object that `json` is; nothing if it is none.
    ///
    /// ```
    /// use redress_wire::mcp::ObjectMembers;
    ///
    /// let members = ObjectMembers::read(r#"{"b": [1, 2], "a": null}"#).unwrap().0;
    /// assert_eq!((members[0].0.as_ref(), members[0].1.get()), ("b", "[1, 2]"));
    /// assert!(ObjectMembers::read("[1]").is_none());
    /// ```
    pub fn read(json: &'a str) -> Option<ObjectMembers<'a>> {
        serde_json::from_str(json).ok()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for ObjectMembers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ObjectMembers<'a>, D::Error> {
        deserializer.deserialize_map(MembersVisitor).map(ObjectMembers)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        #[derive(Deserialize)]
        struct MemberKey<'a>(#[serde(borrow)] Cow<'a, str>);
        let mut members = Vec::new();
        while let Some((MemberKey(name), value)) = map.next_entry::<MemberKey<'de>, &'de RawValue>()? {
            members.push((name, value));
        }
        Ok(members)
    }
}
