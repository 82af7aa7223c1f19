//! One value of a document.

use std::collections::HashMap;

use serde::{
    Serialize, Serializer,
    ser::{SerializeMap, SerializeSeq},
};
use serde_json::{Number, Value};

/// Up to how many members an object is looked through one by one.
const FEW: usize = 16;

/// One value of a document, the members of objects in the order in which they were written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Null,
    Bool(bool),
    Number(Number),
    String(Box<str>),
    Array(Vec<Node>),
    Object(Members),
}

/// The members of an object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    entries: Vec<(Box<str>, Node)>,
    /// Where each member is, once there are many.
    index: Option<HashMap<Box<str>, usize>>,
}

impl Node {
    pub(crate) fn get(&self, name: &str) -> Option<&Node> {
        self.as_object()?.get(name)
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Node> {
        self.as_object_mut()?.get_mut(name)
    }

    pub(crate) fn as_object(&self) -> Option<&Members> {
        match self {
            Node::Object(members) => Some(members),
            Node::Null | Node::Bool(_) | Node::Number(_) | Node::String(_) | Node::Array(_) => None,
        }
    }

    pub(crate) fn as_object_mut(&mut self) -> Option<&mut Members> {
        match self {
            Node::Object(members) => Some(members),
            Node::Null | Node::Bool(_) | Node::Number(_) | Node::String(_) | Node::Array(_) => None,
        }
    }

    pub(crate) fn as_array(&self) -> Option<&[Node]> {
        match self {
            Node::Array(items) => Some(items),
            Node::Null | Node::Bool(_) | Node::Number(_) | Node::String(_) | Node::Object(_) => None,
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Node::String(text) => Some(text),
            Node::Null | Node::Bool(_) | Node::Number(_) | Node::Array(_) | Node::Object(_) => None,
        }
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self {
            Node::Bool(yes) => Some(*yes),
            Node::Null | Node::Number(_) | Node::String(_) | Node::Array(_) | Node::Object(_) => None,
        }
    }

    /// The text under `name`.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    /// Whether `name` is there and `true`.
    pub(crate) fn says(&self, name: &str) -> bool {
        self.get(name).and_then(Node::as_bool) == Some(true)
    }

    /// The text under `name`, also where somebody wrote a number or a boolean without quotes.
    pub(crate) fn scalar(&self, name: &str) -> Option<String> {
        match self.get(name)? {
            Node::String(text) => Some(text.to_string()),
            Node::Number(number) => Some(number.to_string()),
            Node::Bool(yes) => Some(yes.to_string()),
            Node::Null | Node::Array(_) | Node::Object(_) => None,
        }
    }

    pub(crate) fn string(text: impl Into<Box<str>>) -> Node {
        Node::String(text.into())
    }

    /// The same value with the members of its objects sorted.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Node::Null => Value::Null,
            Node::Bool(yes) => Value::Bool(*yes),
            Node::Number(number) => Value::Number(number.clone()),
            Node::String(text) => Value::String(text.to_string()),
            Node::Array(items) => Value::Array(items.iter().map(Node::to_value).collect()),
            Node::Object(members) => {
                Value::Object(members.iter().map(|(name, node)| (name.to_owned(), node.to_value())).collect())
            }
        }
    }

    /// What an RFC 6901 pointer leads to.
    pub(crate) fn at(&self, pointer: &str) -> Option<&Node> {
        super::pointer::segments(pointer)?.try_fold(self, |node, segment| match node {
            Node::Object(members) => members.get(&segment),
            Node::Array(items) => super::pointer::index(&segment).and_then(|index| items.get(index)),
            Node::Null | Node::Bool(_) | Node::Number(_) | Node::String(_) => None,
        })
    }

    /// The same, to change it.
    pub(crate) fn at_mut(&mut self, pointer: &str) -> Option<&mut Node> {
        super::pointer::segments(pointer)?.try_fold(self, |node, segment| match node {
            Node::Object(members) => members.get_mut(&segment),
            Node::Array(items) => super::pointer::index(&segment).and_then(|index| items.get_mut(index)),
            Node::Null | Node::Bool(_) | Node::Number(_) | Node::String(_) => None,
        })
    }
}

impl From<&Value> for Node {
    fn from(value: &Value) -> Node {
        match value {
            Value::Null => Node::Null,
            Value::Bool(yes) => Node::Bool(*yes),
            Value::Number(number) => Node::Number(number.clone()),
            Value::String(text) => Node::string(text.as_str()),
            Value::Array(items) => Node::Array(items.iter().map(Node::from).collect()),
            Value::Object(members) => Node::Object(
                members.iter().map(|(name, value)| (Box::from(name.as_str()), Node::from(value))).collect(),
            ),
        }
    }
}

impl Members {
    pub(crate) fn new() -> Members {
        Members::default()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn place(&self, name: &str) -> Option<usize> {
        match &self.index {
            Some(index) => index.get(name).copied(),
            None => self.entries.iter().position(|(known, _)| **known == *name),
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Node> {
        self.entries.get(self.place(name)?).map(|(_, node)| node)
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Node> {
        let place = self.place(name)?;
        self.entries.get_mut(place).map(|(_, node)| node)
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.place(name).is_some()
    }

    /// Puts `node` under `name`, in the place of what was there, which is given back.
    pub(crate) fn insert(&mut self, name: impl Into<Box<str>>, node: Node) -> Option<Node> {
        let name = name.into();
        if let Some((_, known)) = self.place(&name).and_then(|place| self.entries.get_mut(place)) {
            return Some(std::mem::replace(known, node));
        }
        let place = self.entries.len();
        match &mut self.index {
            Some(index) => {
                index.insert(name.clone(), place);
            }
            None if place >= FEW => {
                let known = self.entries.iter().enumerate().map(|(place, (name, _))| (name.clone(), place));
                self.index = Some(known.chain([(name.clone(), place)]).collect());
            }
            None => {}
        }
        self.entries.push((name, node));
        None
    }

    /// Takes `name` away; what comes after it moves up.
    pub(crate) fn remove(&mut self, name: &str) -> Option<Node> {
        let place = self.place(name)?;
        let (_, node) = self.entries.remove(place);
        let entries = std::mem::take(&mut self.entries);
        self.index = None;
        for (name, node) in entries {
            self.insert(name, node);
        }
        Some(node)
    }

    /// Keeps the members that `keep` says yes to.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&str, &Node) -> bool) {
        let entries = std::mem::take(self).entries;
        for (name, node) in entries {
            if keep(&name, &node) {
                self.insert(name, node);
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.entries.iter().map(|(name, node)| (&**name, node))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut Node)> {
        self.entries.iter_mut().map(|(name, node)| (&**name, node))
    }
}

/// The order is not part of what an object is.
impl PartialEq for Members {
    fn eq(&self, other: &Members) -> bool {
        self.len() == other.len() && self.iter().all(|(name, node)| other.get(name) == Some(node))
    }
}

impl FromIterator<(Box<str>, Node)> for Members {
    fn from_iter<I: IntoIterator<Item = (Box<str>, Node)>>(entries: I) -> Members {
        let mut members = Members::new();
        for (name, node) in entries {
            members.insert(name, node);
        }
        members
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Node::Null => serializer.serialize_unit(),
            Node::Bool(yes) => serializer.serialize_bool(*yes),
            Node::Number(number) => number.serialize(serializer),
            Node::String(text) => serializer.serialize_str(text),
            Node::Array(items) => {
                let mut seq = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| seq.serialize_element(item))?;
                seq.end()
            }
            Node::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                members.iter().try_for_each(|(name, node)| map.serialize_entry(name, node))?;
                map.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_are_found_whether_few_or_many() {
        let mut members = Members::new();
        for number in (0..100).rev() {
            assert!(members.insert(format!("m{number}"), Node::Bool(number % 2 == 0)).is_none());
        }
        assert_eq!(members.insert("m50", Node::Null), Some(Node::Bool(true)));
        assert_eq!(members.remove("m99"), Some(Node::Bool(false)));
        assert_eq!((members.get("m50"), members.get("m98")), (Some(&Node::Null), Some(&Node::Bool(true))));
        assert!(!members.contains("m99") && members.contains("m0"));
        let names: Vec<&str> = members.iter().map(|(name, _)| name).collect();
        assert_eq!((names.len(), names.first(), names.last()), (99, Some(&"m98"), Some(&"m0")));
        members.retain(|name, _| name.len() == 2);
        assert_eq!((members.len(), members.get("m9")), (10, Some(&Node::Bool(false))));
    }
}
