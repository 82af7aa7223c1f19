//! What the validator found, in the terms that an explanation and a fix both work with.

use std::collections::{HashSet, VecDeque};

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde_json::Value;

use super::levels::{Level, Levels};
use super::near::{Near, nearest};
use super::place::{below, schema_at};
use super::shape::Shape;
use super::{place, wording};

mod union;

/// One thing wrong with a document.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Problem {
    /// The value that breaks the rule; for a field that is unknown or missing, the object around it.
    pub(super) at: String,
    /// The schema keyword.
    pub(super) rule: String,
    pub(super) cause: Cause,
}

/// What the rule wanted.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cause {
    /// There is no field of this name.
    Unknown { name: String, known: Vec<String> },
    /// There has to be a field of this name.
    Missing { name: String, expected: String },
    /// A value of one of these types.
    Type { names: Vec<&'static str> },
    /// One of these values.
    Choice { options: Vec<Value> },
    /// Anything else, in words.
    Rule { expected: String },
    /// What the schema behind this reference wants; a stand-in that is followed before anybody sees it.
    Behind { reference: String },
}

impl Problem {
    /// The place to show: of the field itself where it is unknown or missing.
    pub(super) fn place(&self) -> String {
        match &self.cause {
            Cause::Unknown { name, .. } | Cause::Missing { name, .. } => below(&self.at, name),
            Cause::Type { .. } | Cause::Choice { .. } | Cause::Rule { .. } | Cause::Behind { .. } => self.at.clone(),
        }
    }

    /// What was wanted, in words.
    pub(super) fn expected(&self) -> String {
        wording::cut(match &self.cause {
            Cause::Unknown { known, .. } => wording::unknown_field(known),
            Cause::Missing { expected, .. } | Cause::Rule { expected } => expected.clone(),
            Cause::Type { names } => wording::types(names.iter().copied()),
            Cause::Choice { options } => wording::choice(options),
            Cause::Behind { .. } => "a value that fits the schema".to_owned(),
        })
    }

    /// The known name or value nearest to what `document` has here.
    pub(super) fn near(&self, document: &Value) -> Option<Near<'_>> {
        match &self.cause {
            Cause::Unknown { name, known } => nearest(name, known.iter().map(String::as_str)),
            Cause::Choice { options } => {
                let sent = document.pointer(&self.at)?.as_str()?;
                nearest(sent, options.iter().filter_map(Value::as_str))
            }
            Cause::Missing { .. } | Cause::Type { .. } | Cause::Rule { .. } | Cause::Behind { .. } => None,
        }
    }
}

/// The problems of a document that its schema refuses, in the order of the schema and not many more than
/// `most`.
pub(super) fn problems(document: &Value, shape: &Shape, most: usize) -> Vec<Problem> {
    let Some(levels) = shape.levels() else {
        return if shape.is_valid(document) { Vec::new() } else { vec![unfollowed(String::new(), "$ref")] };
    };
    let search = Search { document, levels };
    let mut found = search.all(most);
    // Where a choice is wanted, the type of the choices goes without saying.
    let chosen: Vec<String> = found
        .iter()
        .filter(|problem| matches!(problem.cause, Cause::Choice { .. }))
        .map(|problem| problem.at.clone())
        .collect();
    found.retain(|problem| !matches!(problem.cause, Cause::Type { .. }) || !chosen.contains(&problem.at));
    found
}

fn unfollowed(at: String, rule: &str) -> Problem {
    let expected = "a value that fits the schema".to_owned();
    Problem { at, rule: rule.to_owned(), cause: Cause::Rule { expected } }
}

/// A search for problems, level by level.
struct Search<'a> {
    document: &'a Value,
    levels: &'a Levels,
}

impl Search<'_> {
    fn all(&self, most: usize) -> Vec<Problem> {
        // Far more than the depth of any document, so that only a very broken one is cut short.
        const STEPS: usize = 512;
        // References from one schema to the next at the same place, as in a union of named types.
        const DEEPER: usize = 4;
        let mut found: Vec<Problem> = Vec::new();
        let mut seen = HashSet::new();
        let mut next = VecDeque::from([("#".to_owned(), String::new())]);
        while let Some((reference, at)) = next.pop_front() {
            if found.len() > most || seen.len() > STEPS {
                break;
            }
            if !seen.insert((reference.clone(), at.clone())) {
                continue;
            }
            for problem in self.level(&reference, &at, DEEPER, most) {
                match problem.cause {
                    Cause::Behind { reference } => next.push_back((reference, problem.at)),
                    Cause::Unknown { .. }
                    | Cause::Missing { .. }
                    | Cause::Type { .. }
                    | Cause::Choice { .. }
                    | Cause::Rule { .. } => {
                        if !found.contains(&problem) {
                            found.push(problem);
                        }
                    }
                }
            }
        }
        found
    }

    /// The problems that one level has with the value at `at`.
    fn level(&self, reference: &str, at: &str, deeper: usize, most: usize) -> Vec<Problem> {
        let (Some(level), Some(value)) = (self.levels.get(reference), self.document.pointer(at)) else {
            return vec![unfollowed(at.to_owned(), "$ref")];
        };
        let mut found = Vec::new();
        for error in level.validator.iter_errors(value) {
            found.extend(self.behind(&error, level, at, deeper));
            if found.len() > most {
                break;
            }
        }
        found
    }

    /// The problems behind an error: several for an object with several unknown fields, and for a union
    /// those of the branch that was most likely meant.
    fn behind(&self, error: &ValidationError<'_>, level: &Level, around: &str, deeper: usize) -> Vec<Problem> {
        let schema = &level.schema;
        let at = format!("{around}{}", error.instance_path().as_str());
        let one = |cause| vec![Problem { at: at.clone(), rule: error.kind().keyword().to_owned(), cause }];
        match error.kind() {
            Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
                let keyword = error.schema_path().as_str();
                let known = schema_at(schema, place::around(keyword)).map_or_else(Vec::new, fields);
                let unknown = |name: &String| {
                    let known = known.clone();
                    let name = name.clone();
                    one(Cause::Unknown { name, known })
                };
                unexpected.iter().flat_map(unknown).collect()
            }
            Kind::Required { property } => {
                let name = property.as_str().unwrap_or_default().to_owned();
                let object = schema_at(schema, place::around(error.schema_path().as_str()));
                let field = object.and_then(|object| object.get("properties")?.get(&name));
                let expected = wording::missing_field(field);
                one(Cause::Missing { name, expected })
            }
            Kind::Custom { message, .. } => one(Cause::Behind { reference: message.clone() }),
            Kind::Type { kind } => one(Cause::Type { names: names(kind) }),
            Kind::Enum { options } => one(Cause::Choice { options: options.as_array().cloned().unwrap_or_default() }),
            Kind::Constant { expected_value } => one(Cause::Choice { options: vec![Value::clone(expected_value)] }),
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
                self.meant(context, level, around, &at, deeper).unwrap_or_else(|| {
                    one(Cause::Rule { expected: "a value that fits one of the alternatives".to_owned() })
                })
            }
            Kind::AdditionalItems { .. }
            | Kind::BacktrackLimitExceeded { .. }
            | Kind::RegexEngineFailure { .. }
            | Kind::Contains
            | Kind::ContentEncoding { .. }
            | Kind::ContentMediaType { .. }
            | Kind::ExclusiveMaximum { .. }
            | Kind::ExclusiveMinimum { .. }
            | Kind::FalseSchema
            | Kind::Format { .. }
            | Kind::FromUtf8 { .. }
            | Kind::MaxItems { .. }
            | Kind::Maximum { .. }
            | Kind::MaxLength { .. }
            | Kind::MaxProperties { .. }
            | Kind::MinItems { .. }
            | Kind::Minimum { .. }
            | Kind::MinLength { .. }
            | Kind::MinProperties { .. }
            | Kind::MultipleOf { .. }
            | Kind::Not { .. }
            | Kind::OneOfMultipleValid { .. }
            | Kind::Pattern { .. }
            | Kind::PropertyNames { .. }
            | Kind::UnevaluatedItems { .. }
            | Kind::UniqueItems
            | Kind::Referencing(_) => one(Cause::Rule { expected: rule(error.kind()) }),
        }
    }
}

fn names(kind: &TypeKind) -> Vec<&'static str> {
    match kind {
        TypeKind::Single(name) => vec![name.as_str()],
        TypeKind::Multiple(names) => names.iter().map(|name| name.as_str()).collect(),
    }
}

/// The names of the fields an object may have, wherever its schema puts them.
fn fields(object: &Value) -> Vec<String> {
    let mut names = Vec::new();
    gather(object, &mut names);
    names
}

fn gather(object: &Value, names: &mut Vec<String>) {
    if let Some(Value::Object(properties)) = object.get("properties") {
        for name in properties.keys() {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
    }
    for parts in ["allOf", "anyOf", "oneOf"] {
        for part in object.get(parts).and_then(Value::as_array).into_iter().flatten() {
            gather(part, names);
        }
    }
}

fn rule(kind: &Kind) -> String {
    match kind {
        Kind::Minimum { limit } => format!("at least {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("more than {limit}"),
        Kind::Maximum { limit } => format!("at most {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
        Kind::MinLength { limit } => {
            format!("at least {}", wording::counted(*limit, "character"))
        }
        Kind::MaxLength { limit } => format!("at most {}", wording::counted(*limit, "character")),
        Kind::MinItems { limit } => format!("at least {}", wording::counted(*limit, "item")),
        Kind::MaxItems { limit } => format!("at most {}", wording::counted(*limit, "item")),
        Kind::AdditionalItems { limit } => {
            format!("at most {}", wording::counted(*limit as u64, "item"))
        }
        Kind::MinProperties { limit } => format!("at least {}", wording::counted(*limit, "field")),
        Kind::MaxProperties { limit } => format!("at most {}", wording::counted(*limit, "field")),
        Kind::Pattern { pattern } => format!("text that matches `{pattern}`"),
        Kind::Format { format } => format!("text in the format `{format}`"),
        Kind::UniqueItems => "items that all differ".to_owned(),
        Kind::Contains => "an item of the kind that the schema asks for".to_owned(),
        Kind::FalseSchema => "no value here".to_owned(),
        Kind::UnevaluatedItems { .. } => "no further items".to_owned(),
        Kind::PropertyNames { .. } => "field names that the schema allows".to_owned(),
        Kind::OneOfMultipleValid { .. } => "a value that fits only one of the alternatives".to_owned(),
        Kind::Not { .. } => "a value that the schema does not exclude".to_owned(),
        Kind::ContentEncoding { content_encoding } => {
            format!("text encoded as `{content_encoding}`")
        }
        Kind::ContentMediaType { content_media_type } => {
            format!("text that holds `{content_media_type}`")
        }
        Kind::FromUtf8 { .. }
        | Kind::BacktrackLimitExceeded { .. }
        | Kind::RegexEngineFailure { .. }
        | Kind::Custom { .. }
        | Kind::Referencing(_)
        | Kind::AdditionalProperties { .. }
        | Kind::UnevaluatedProperties { .. }
        | Kind::AnyOf { .. }
        | Kind::OneOfNotValid { .. }
        | Kind::Constant { .. }
        | Kind::Enum { .. }
        | Kind::Required { .. }
        | Kind::Type { .. } => "a value that keeps this rule".to_owned(),
    }
}
