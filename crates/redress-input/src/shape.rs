//! The shape of an input: its schema, and how much of it the type checks by itself.

use std::sync::OnceLock;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use redress_contract::{BundleError, Schema};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::budget::StepBudget;
use super::guide::Guide;
use super::instance_path::pointer_to;
use super::node::DecodeNode;
use super::probe::prove;
use super::string_rules::build;
use super::tree::Tree;
use super::violation::problems;

/// A schema made ready for calls, once, at registration.
#[derive(Debug)]
pub struct InputShape {
    /// With plain references only.
    schema: Schema,
    check: InputCheck,
    /// Whether the type lets a field pass that stands twice.
    takes_twice: bool,
    // A validator costs as much to build as a hundred calls, and a typed operation
    // whose callers make no mistakes never needs one.
    validator: OnceLock<Option<Validator>>,
    tree: OnceLock<Tree>,
}

/// What has to be done besides decoding the type.
#[derive(Debug)]
pub(super) enum InputCheck {
    /// Nothing: the type, decoded strictly, accepts what the schema accepts.
    Plain,
    /// The rules that the type does not know are checked while it is decoded.
    Guided(Guide),
    /// The schema says what cannot be followed while decoding, so the validator decides.
    Validated,
}

/// Why a schema cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// A keyword has a value that it cannot have.
    #[error("the schema is not valid at `{pointer}`")]
    Keyword {
        /// Where in the schema.
        pointer: String,
    },
    /// A pattern is no regular expression, or needs look-around or back-references.
    #[error("a pattern of the schema is not a regular expression of linear time (`{pointer}`)")]
    Pattern {
        /// Where in the schema.
        pointer: String,
    },
    /// A `$ref` leads nowhere, or out of the schema.
    #[error("a reference of the schema cannot be resolved within it")]
    Reference,
    /// It could not be shown elsewhere with the same meaning.
    #[error(transparent)]
    Bundle(#[from] BundleError),
}

impl SchemaError {
    pub(super) fn of(error: &ValidationError<'_>) -> Self {
        let pointer = error.instance_path().as_str().to_owned();
        if matches!(error.kind(), ValidationErrorKind::Referencing(_)) {
            Self::Reference
        } else if pointer.ends_with("/pattern") || pointer.contains("/patternProperties") {
            Self::Pattern { pointer }
        } else {
            Self::Keyword { pointer }
        }
    }
}

/// The schema with plain references only, which is how it is shown and how it is held against values. What is
/// wrong with the keywords that this takes away is told of the schema as it is written.
fn bundled(schema: Value) -> Result<Schema, SchemaError> {
    let written = Schema::new(schema);
    let bundled = written.bundled()?;
    if bundled != written {
        build(written.as_value())?;
    }
    Ok(bundled)
}

impl InputShape {
    /// The shape of an input that is decoded to `T`.
    pub fn typed<T: DeserializeOwned>(schema: Value) -> Result<Self, SchemaError> {
        let schema = bundled(schema)?;
        let Some(node) = DecodeNode::read(schema.as_value())? else { return Self::validated(schema) };
        let takes_twice = node.takes_any_name();
        let check = match prove::<T>(&node) {
            Some(proof) => Guide::of(node, &proof).map_or(InputCheck::Plain, InputCheck::Guided),
            None => InputCheck::Validated,
        };
        Ok(Self { schema, check, takes_twice, validator: OnceLock::new(), tree: OnceLock::new() })
    }

    /// The shape of a value that no Rust type stands for: an operation declared as data, or anything
    /// that is only ever validated.
    pub fn dynamic(schema: Value) -> Result<Self, SchemaError> {
        let schema = bundled(schema)?;
        if DecodeNode::read(schema.as_value())?.is_none() {
            return Self::validated(schema);
        }
        let (check, takes_twice) = (InputCheck::Validated, true);
        Ok(Self { schema, check, takes_twice, validator: OnceLock::new(), tree: OnceLock::new() })
    }

    /// A schema that is not understood here is compiled at once, so that its mistakes show at
    /// registration.
    fn validated(schema: Schema) -> Result<Self, SchemaError> {
        let validator = build(schema.as_value())?;
        Ok(Self {
            schema,
            check: InputCheck::Validated,
            takes_twice: true,
            validator: OnceLock::from(Some(validator)),
            tree: OnceLock::new(),
        })
    }

    /// Whether the schema accepts `value`.
    pub fn is_valid(&self, value: &Value) -> bool {
        self.validator().is_some_and(|validator| validator.is_valid(value))
    }

    /// The place of the first value that the schema refuses, and the keyword that refused it.
    pub fn first_error(&self, value: &Value) -> Option<(String, String)> {
        if self.is_valid(value) {
            return None;
        }
        const STEPS: u64 = 1_000_000;
        const MAX_LENGTH: usize = 4096;
        let budget = StepBudget::new(STEPS, &|| false);
        let first = problems(self.tree(), value, &budget, 1).into_iter().next();
        Some(first.map_or_else(Default::default, |problem| {
            let place = pointer_to(&problem.at, problem.name(), MAX_LENGTH);
            (place.unwrap_or_default(), problem.rule.to_owned())
        }))
    }

    pub(super) fn check(&self) -> &InputCheck {
        &self.check
    }

    /// Whether the type lets a field pass that stands twice.
    pub(super) fn takes_twice(&self) -> bool {
        self.takes_twice
    }

    /// The validator. `None` means a schema that was read at registration and yet does not compile; all
    /// who ask treat that as a refusal.
    pub(super) fn validator(&self) -> Option<&Validator> {
        self.validator.get_or_init(|| build(self.schema.as_value()).ok()).as_ref()
    }

    /// The schema as it is walked to explain a refusal.
    pub(super) fn tree(&self) -> &Tree {
        self.tree.get_or_init(|| Tree::of(&self.schema))
    }
}
