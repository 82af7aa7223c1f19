//! The one way in which a lock is written, and its hash.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::Lock;

/// The version of the document.
pub(super) const VERSION: u64 = 1;
/// The member that says so.
pub(super) const VERSION_MEMBER: &str = "redress_lock";

impl Lock {
    /// The hash of everything in the lock, such as `sha256:9f86d0…`: two contracts have the same if they are the same.
    pub fn hash(&self) -> String {
        hash_of(&self.content())
    }

    /// The lock as it is kept in a file.
    pub fn to_json(&self) -> String {
        let content = self.content();
        let mut whole = json!({VERSION_MEMBER: VERSION, "hash": hash_of(&content)});
        if let (Value::Object(whole), Value::Object(content)) = (&mut whole, content) {
            whole.extend(content);
        }
        let mut text = serde_json::to_string_pretty(&sorted(whole, true)).unwrap_or_default();
        text.push('\n');
        text
    }

    /// The same lock with everything in order, as it is when it has been read.
    pub(super) fn canonical(self) -> Lock {
        // A declaration that breaks the grammar of names is not read again; a registry refuses it.
        serde_json::from_value(self.content()).unwrap_or(self)
    }

    fn content(&self) -> Value {
        // Declarations are made of texts, numbers and maps by text: all of it is JSON.
        sorted(serde_json::to_value(self).unwrap_or_default(), true)
    }
}

fn hash_of(content: &Value) -> String {
    let digest = Sha256::digest(content.to_string());
    let mut hex = String::from("sha256:");
    for byte in digest {
        hex.push_str(&format!("{byte:02x}"));
    }
    hex
}

/// The value with the members of objects in order and, where declarations are spoken of, lists of names that are sets.
fn sorted(value: Value, is_declared: bool) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<(String, Value)> = members.into_iter().collect();
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            let sorted_members = members.into_iter().map(|(name, value)| {
                let is_declared = is_declared && !DATA.contains(&name.as_str());
                let value = sorted(value, is_declared);
                let is_set = is_declared && SETS.contains(&name.as_str());
                (name, if is_set { sorted_set(value) } else { value })
            });
            Value::Object(sorted_members.collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(|item| sorted(item, is_declared)).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

/// Members that hold somebody's values, in which every list has its order.
const DATA: [&str; 6] = ["const", "enum", "default", "example", "examples", "is"];
/// Members whose lists have no order.
const SETS: [&str; 7] = ["required", "tags", "aliases", "all", "any", "calls", "authority"];

/// The list in order, if it is one of texts.
fn sorted_set(value: Value) -> Value {
    match value {
        Value::Array(mut items) => {
            if items.iter().all(Value::is_string) {
                items.sort_by(|one, other| one.as_str().cmp(&other.as_str()));
            }
            Value::Array(items)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => value,
    }
}
