//! A schema with the document that its references lead into.

use std::collections::{BTreeSet, HashSet};

use redress_contract::{Holds, Schema};
use serde_json::{Map, Value};

use crate::lock::SharedSchemas;

/// A schema as a whole: what its references lead to stands in it, or beside it among what all of a lock share.
#[derive(Debug)]
pub(crate) struct SchemaDocument<'s> {
    pub(crate) schema: &'s Schema,
    pub(crate) shared: &'s SharedSchemas,
}

impl<'s> SchemaDocument<'s> {
    /// What a reference leads to.
    pub(crate) fn referred(&self, reference: &str) -> Option<&'s Value> {
        let own = self.schema.referred(reference);
        own.or_else(|| self.shared.get(reference.strip_prefix("#/$defs/")?))
    }

    /// The schema with everything that it refers to in it.
    pub(crate) fn standalone(&self) -> Value {
        let mut whole = self.schema.as_value().clone();
        let mut missing = BTreeSet::new();
        let mut left = references(self.schema.as_value());
        let mut definitions = Map::new();
        while let Some(reference) = left.pop() {
            let Some(name) = reference.strip_prefix("#/$defs/") else { continue };
            if self.schema.referred(reference).is_some() || !missing.insert(name) {
                continue;
            }
            if let Some(shared) = self.shared.get(name) {
                left.extend(references(shared));
                definitions.insert(name.to_owned(), shared.clone());
            }
        }
        if let (false, Value::Object(keywords)) = (definitions.is_empty(), &mut whole)
            && let Value::Object(own) = keywords.entry("$defs").or_insert_with(|| Value::Object(Map::new()))
        {
            own.extend(definitions);
        }
        whole
    }
}

/// Every reference in a schema.
pub(crate) fn references(schema: &Value) -> Vec<&str> {
    let mut found = Vec::new();
    let mut left = vec![schema];
    while let Some(schema) = left.pop() {
        let Value::Object(keywords) = schema else { continue };
        for (keyword, value) in keywords {
            match (Holds::by(keyword), value) {
                (Holds::Schema, one) => left.push(one),
                (Holds::List, Value::Array(several)) => left.extend(several),
                (Holds::Named, Value::Object(named)) => left.extend(named.values()),
                (Holds::Data, Value::String(text)) if keyword == "$ref" => found.push(text.as_str()),
                (Holds::List | Holds::Named | Holds::Data, _) => {}
            }
        }
    }
    found
}

/// One schema of a document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SchemaAt<'s> {
    pub(crate) document: &'s SchemaDocument<'s>,
    pub(crate) value: &'s Value,
}

impl<'s> SchemaAt<'s> {
    pub(crate) fn root(document: &'s SchemaDocument<'s>) -> SchemaAt<'s> {
        SchemaAt { document, value: document.schema.as_value() }
    }

    /// Another schema of the same document.
    pub(crate) fn with(self, value: &'s Value) -> SchemaAt<'s> {
        SchemaAt { value, ..self }
    }

    /// What a keyword holds.
    pub(crate) fn get(self, keyword: &str) -> Option<&'s Value> {
        self.value.as_object()?.get(keyword)
    }

    /// The schema under a keyword.
    pub(crate) fn below(self, keyword: &str) -> Option<SchemaAt<'s>> {
        Some(self.with(self.get(keyword)?))
    }

    /// The schemas that a keyword lists.
    pub(crate) fn list(self, keyword: &str) -> impl Iterator<Item = SchemaAt<'s>> {
        self.get(keyword).and_then(Value::as_array).into_iter().flatten().map(move |value| self.with(value))
    }

    /// The schemas that a keyword names.
    pub(crate) fn named(self, keyword: &str) -> impl Iterator<Item = (&'s str, SchemaAt<'s>)> {
        let members = self.get(keyword).and_then(Value::as_object).into_iter().flatten();
        members.map(move |(name, value)| (name.as_str(), self.with(value)))
    }

    /// The schema of a member that is named.
    pub(crate) fn property(self, name: &str) -> Option<SchemaAt<'s>> {
        Some(self.with(self.get("properties")?.get(name)?))
    }

    /// The texts that a keyword lists.
    pub(crate) fn texts(self, keyword: &str) -> impl Iterator<Item = &'s str> {
        self.get(keyword).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    /// Whether the keyword holds `false`.
    pub(crate) fn refuses(self, keyword: &str) -> bool {
        self.get(keyword) == Some(&Value::Bool(false))
    }

    /// What the reference leads to; `Err` where it leads nowhere.
    pub(crate) fn referred(self) -> Option<Result<SchemaAt<'s>, ()>> {
        let Value::String(reference) = self.get("$ref")? else { return Some(Err(())) };
        Some(self.document.referred(reference).map(|value| self.with(value)).ok_or(()))
    }

    /// By which it is known again.
    pub(crate) fn address(self) -> usize {
        std::ptr::from_ref(self.value) as usize
    }

    /// The schema and all that hold together with it: what it refers to, and every part of `allOf`.
    pub(crate) fn conjuncts(self) -> Vec<SchemaAt<'s>> {
        let mut found: Vec<SchemaAt<'s>> = Vec::new();
        let mut seen = HashSet::new();
        let mut left = vec![self];
        while let Some(next) = left.pop() {
            if !seen.insert(next.address()) {
                continue;
            }
            found.push(next);
            left.extend(next.list("allOf"));
            left.extend(next.referred().and_then(Result::ok));
        }
        found
    }

    /// Every schema that looks at the same value: its conjuncts, and all that hold under a condition.
    pub(crate) fn in_place(self) -> Vec<SchemaAt<'s>> {
        let mut found: Vec<SchemaAt<'s>> = Vec::new();
        let mut seen = HashSet::new();
        let mut left = vec![self];
        while let Some(next) = left.pop() {
            if !seen.insert(next.address()) {
                continue;
            }
            found.push(next);
            for keyword in ["allOf", "anyOf", "oneOf"] {
                left.extend(next.list(keyword));
            }
            left.extend(["if", "then", "else"].into_iter().filter_map(|keyword| next.below(keyword)));
            left.extend(next.named("dependentSchemas").map(|(_, schema)| schema));
            left.extend(next.referred().and_then(Result::ok));
        }
        found
    }
}
