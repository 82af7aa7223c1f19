//! Which keywords hold schemas. A name below one of them (`properties`, `$defs`) is a name, whatever it is
//! called, and what stands under any other keyword is data: a `$ref` in there is somebody's value.

use serde_json::{Map, Value};

/// What a keyword of JSON Schema (draft 2020-12) holds, as far as schemas go.
///
/// ```
/// use redress_contract::Holds;
///
/// assert_eq!(Holds::by("items"), Holds::Schema);
/// assert_eq!(Holds::by("properties"), Holds::Named);
/// assert_eq!(Holds::by("default"), Holds::Data);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// One schema.
    Schema,
    /// A list of schemas.
    List,
    /// Schemas by name.
    Named,
    /// Anything else.
    Data,
}

impl Holds {
    /// What `keyword` holds.
    pub fn by(keyword: &str) -> Holds {
        match keyword {
            "additionalProperties"
            | "contains"
            | "contentSchema"
            | "else"
            | "if"
            | "items"
            | "not"
            | "propertyNames"
            | "then"
            | "unevaluatedItems"
            | "unevaluatedProperties" => Holds::Schema,
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => Holds::List,
            "$defs" | "definitions" | "dependencies" | "dependentSchemas" | "patternProperties" | "properties" => {
                Holds::Named
            }
            _ => Holds::Data,
        }
    }
}

/// The schemas right below `keywords`.
pub(super) fn below<'s>(
    keywords: &'s Map<String, Value>,
    mut each: impl FnMut(&'s str, Option<SubschemaName<'s>>, &'s Value),
) {
    for (keyword, value) in keywords {
        match (Holds::by(keyword), value) {
            (Holds::Schema, _) => each(keyword, None, value),
            (Holds::List, Value::Array(schemas)) => {
                for (index, schema) in schemas.iter().enumerate() {
                    each(keyword, Some(SubschemaName::Index(index)), schema);
                }
            }
            (Holds::Named, Value::Object(named)) => {
                for (name, schema) in named {
                    each(keyword, Some(SubschemaName::Text(name)), schema);
                }
            }
            (Holds::List | Holds::Named | Holds::Data, _) => {}
        }
    }
}

/// What a schema is called under its keyword.
#[derive(Clone, Copy)]
pub(super) enum SubschemaName<'s> {
    Index(usize),
    Text(&'s str),
}

/// Shows `change` the keywords of every schema in `schema`, itself included. The order is not told.
pub(super) fn each_mut(schema: &mut Value, mut change: impl FnMut(&mut Map<String, Value>)) {
    let mut left = vec![schema];
    while let Some(schema) = left.pop() {
        let Value::Object(keywords) = schema else { continue };
        change(keywords);
        for (keyword, value) in keywords.iter_mut() {
            match (Holds::by(keyword), value) {
                (Holds::Schema, schema) => left.push(schema),
                (Holds::List, Value::Array(schemas)) => left.extend(schemas),
                (Holds::Named, Value::Object(named)) => left.extend(named.values_mut()),
                (Holds::List | Holds::Named | Holds::Data, _) => {}
            }
        }
    }
}
