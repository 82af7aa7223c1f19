//! The schemas of a document: in one form, cut to a budget, or whole.

mod cut;
mod full;
mod join;
mod measure;
mod normal;
mod pattern;

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeSet, HashMap},
    rc::Rc,
};

use serde_json::Value;

pub(super) use cut::Measure;
pub(super) use full::{Whole, object};
pub(super) use measure::shortened;

use super::source::Source;
use crate::{
    Warning,
    document::{Node, pointer},
};

/// How many warnings are kept; how many more there were is told.
const MAX_WARNINGS: usize = 500;
/// How many values may be normalised. Documents whose references lead to parts of parts could make more than they hold.
const MAX_VALUES: usize = 16_000_000;

/// Which way a value goes: what is only read is not sent, and what is only written does not come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Direction {
    /// To the service.
    Request,
    /// From the service.
    Response,
}

impl Direction {
    /// The keyword of members that do not go this way.
    const fn absent(self) -> &'static str {
        match self {
            Direction::Request => "readOnly",
            Direction::Response => "writeOnly",
        }
    }
}

/// The schemas of a document, each normalised once.
pub(super) struct Schemas<'d> {
    pub(super) source: &'d Source,
    normal: RefCell<HashMap<String, Rc<Value>>>,
    patterns: RefCell<pattern::Patterns>,
    warnings: RefCell<BTreeSet<Warning>>,
    dropped: Cell<usize>,
    left: Cell<usize>,
    cuts: RefCell<cut::Cuts>,
}

impl<'d> Schemas<'d> {
    pub(super) fn new(source: &'d Source) -> Schemas<'d> {
        Schemas {
            source,
            normal: RefCell::default(),
            patterns: RefCell::default(),
            warnings: RefCell::default(),
            dropped: Cell::new(0),
            left: Cell::new(MAX_VALUES),
            cuts: RefCell::default(),
        }
    }

    /// The schema that stands at `place`.
    pub(super) fn read(&self, node: &Node, place: &str) -> Value {
        self.normal(node, place)
    }

    /// The schema that a pointer leads to.
    pub(super) fn at(&self, target: &str) -> Rc<Value> {
        if let Some(known) = self.normal.borrow().get(target) {
            return Rc::clone(known);
        }
        let open = || Rc::new(Value::Bool(true));
        let Ok(found) = self.source.locate(target) else { return open() };
        let size = values(found.node);
        let Some(left) = self.left.get().checked_sub(size) else {
            self.warn(target, "too-large", "there are more schemas than are read; anything is admitted here");
            return open();
        };
        self.left.set(left);
        let made = Rc::new(self.normal(found.node, &found.pointer));
        self.normal.borrow_mut().insert(target.to_owned(), Rc::clone(&made));
        made
    }

    /// The schema itself, or what it refers to in the end, where nothing that counts stands beside the reference.
    pub(super) fn resolved(&self, schema: &Value) -> Rc<Value> {
        let mut schema = Rc::new(schema.clone());
        for _ in 0..16 {
            let Some(target) = schema.get("$ref").and_then(Value::as_str) else { break };
            let next = self.at(target);
            schema = next;
        }
        schema
    }

    fn portable(&self, pattern: &str) -> Option<String> {
        self.patterns.borrow_mut().portable(pattern)
    }

    /// Keeps what is odd.
    pub(super) fn warn(&self, place: &str, rule: &str, message: &str) {
        let mut warnings = self.warnings.borrow_mut();
        if warnings.len() >= MAX_WARNINGS {
            self.dropped.set(self.dropped.get() + 1);
            return;
        }
        warnings.insert(Warning { pointer: place.to_owned(), rule: rule.to_owned(), message: message.to_owned() });
    }

    /// What is odd, in the order of the places.
    pub(super) fn into_warnings(self) -> Vec<Warning> {
        let mut warnings: Vec<Warning> = self.warnings.into_inner().into_iter().collect();
        if self.dropped.get() > 0 {
            warnings.push(Warning {
                pointer: String::new(),
                rule: "more-warnings".to_owned(),
                message: format!("there are {} warnings more than are kept", self.dropped.get()),
            });
        }
        warnings
    }
}

/// How many values a tree has.
fn values(node: &Node) -> usize {
    match node {
        Node::Array(items) => 1 + items.iter().map(values).sum::<usize>(),
        Node::Object(members) => 1 + members.iter().map(|(_, inner)| values(inner)).sum::<usize>(),
        Node::Null | Node::Bool(_) | Node::Number(_) | Node::String(_) => 1,
    }
}

/// The last word of a place, as the name of what stands there.
pub(super) fn name_of(place: &str) -> String {
    let name: String = pointer::last(place)
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() || "._-".contains(letter) { letter } else { '_' })
        .collect();
    if name.is_empty() { "schema".to_owned() } else { name }
}

/// Whether a schema is of bytes, which JSON cannot hold.
pub(super) fn is_binary(schema: &Value) -> bool {
    let text = |keyword| schema.get(keyword).and_then(Value::as_str);
    text("format") == Some("binary")
        || (text("contentMediaType")
            .is_some_and(|media| media == "application/octet-stream" || media.starts_with("image/"))
            && text("contentEncoding").is_none())
}

/// The types that a schema admits; none where it does not say.
pub(super) fn types_of(schema: &Value) -> Option<Vec<&str>> {
    match schema.get("type")? {
        Value::String(one) => Some(vec![one]),
        Value::Array(several) => Some(several.iter().filter_map(Value::as_str).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}
