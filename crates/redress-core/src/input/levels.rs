//! A schema cut at its references, so that an error can be looked for level by level.
//!
//! A validator that lists errors goes into every branch of a union, and in a schema that refers to itself it
//! does so again at every level of the document: a few hundred bytes of nested input would keep it busy
//! for years. Whether a value is *valid* is cheap to ask. So each `$ref` is replaced by that question; who
//! explains a refusal follows the references of the branch that was meant, and no others.

use std::collections::HashMap;
use std::sync::Arc;

use jsonschema::{Keyword, ValidationError, Validator, ValidatorMap};
use serde_json::Value;

use super::text::options;

/// The keyword that stands for a reference in a level. An error of it has the reference as its message.
pub(super) const CUT: &str = "x-redress-ref";

/// The levels of a schema, by the reference that leads to them; `#` is the whole.
#[derive(Debug)]
pub(super) struct Levels {
    levels: HashMap<String, Level>,
}

/// One level: a schema without references, and its validator.
#[derive(Debug)]
pub(super) struct Level {
    pub(super) schema: Value,
    pub(super) validator: Validator,
}

impl Levels {
    /// Cuts a schema. `None` if it has references that are no pointers into it.
    pub(super) fn of(schema: &Value) -> Option<Self> {
        const WHOLE: &str = "#";
        let mut references = Vec::new();
        let mut root = schema.clone();
        cut(&mut root, &mut references)?;
        if references.is_empty() {
            let validator = options().build(&root).ok()?;
            let level = Level { schema: root, validator };
            return Some(Self { levels: HashMap::from([(WHOLE.to_owned(), level)]) });
        }
        let wholes = Arc::new(options().build_map(schema).ok()?);
        let mut levels = HashMap::new();
        references.push(WHOLE.to_owned());
        while let Some(reference) = references.pop() {
            if levels.contains_key(&reference) {
                continue;
            }
            wholes.get(&reference)?;
            let mut level = schema.pointer(reference.strip_prefix('#')?)?.clone();
            cut(&mut level, &mut references)?;
            let validator = build(&level, &wholes)?;
            levels.insert(reference, Level { schema: level, validator });
        }
        Some(Self { levels })
    }

    /// The level that `reference` leads to.
    pub(super) fn get(&self, reference: &str) -> Option<&Level> {
        self.levels.get(reference)
    }
}

fn build(level: &Value, wholes: &Arc<ValidatorMap>) -> Option<Validator> {
    let wholes = Arc::clone(wholes);
    options()
        .with_keyword(CUT, move |_, value, _| {
            let reference = value.as_str().unwrap_or_default().to_owned();
            Ok(Box::new(Reference { reference, wholes: Arc::clone(&wholes) }))
        })
        .build(level)
        .ok()
}

/// Replaces references by [`CUT`] and lists them; `None` for a way of referring that is not followed.
fn cut(schema: &mut Value, references: &mut Vec<String>) -> Option<()> {
    match schema {
        Value::Object(keywords) => {
            const NAMED: [&str; 4] = ["$id", "$anchor", "$dynamicRef", "$dynamicAnchor"];
            if NAMED.iter().any(|keyword| keywords.get(*keyword).is_some_and(Value::is_string)) {
                return None;
            }
            if let Some(Value::String(reference)) = keywords.get("$ref") {
                let reference = reference.clone();
                references.push(reference.clone());
                keywords.remove("$ref");
                keywords.insert(CUT.to_owned(), Value::String(reference));
            }
            for definitions in ["$defs", "definitions"] {
                keywords.remove(definitions);
            }
            for (keyword, below) in keywords.iter_mut() {
                if !matches!(keyword.as_str(), "default" | "examples" | "enum" | "const") {
                    cut(below, references)?;
                }
            }
        }
        Value::Array(schemas) => {
            for schema in schemas {
                cut(schema, references)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    Some(())
}

/// Asks whether a value fits the whole schema behind a reference.
struct Reference {
    reference: String,
    wholes: Arc<ValidatorMap>,
}

impl<'i> Keyword<'i> for Reference {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.is_valid(instance) { Ok(()) } else { Err(ValidationError::custom(self.reference.clone())) }
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        self.wholes.get(&self.reference).is_some_and(|whole| whole.is_valid(instance))
    }
}
