//! A schema made ready for explaining: its subschemas as nodes, its references as edges between them.
//!
//! It is built once for a schema, when an input is refused for the first time, in one pass over it. A
//! subschema is one node however many references lead to it.
//!
//! Absent on purpose: keywords that cannot refuse anything, and the metaschemas of the standard; what stands
//! there is left to the validator, which does not say why it refuses.

use std::collections::HashSet;
use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::Value;

use super::bounds::NumberBounds;
use super::string_rules::options;

mod read;

/// A schema as nodes; the first is the root.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<SchemaNode>,
}

/// The place of a node in its tree.
pub(super) type NodeId = usize;

/// One subschema.
#[derive(Debug, Default)]
pub(super) struct SchemaNode {
    /// What it asks for, in the order in which a validator names what is broken.
    pub(super) rules: Vec<SchemaRule>,
    /// Whether a reference leads here, so that a value may be held against this node more than once.
    pub(super) is_target: bool,
    /// Members that may only have certain values, such as the tag of a union's branch: they tell at a glance
    /// that a value does not fit.
    tags: Vec<(Box<str>, NodeId)>,
}

/// One thing that a schema asks for.
#[derive(Debug)]
pub(super) enum SchemaRule {
    /// Nothing fits.
    Never,
    Types(TypeSet),
    Choice(Choice),
    Number(WordedLimit<NumberBounds>),
    /// A least or greatest number of characters, items or fields.
    Size(WordedLimit<SizeBound>),
    Required(Vec<Box<str>>),
    DependentRequired(Vec<(Box<str>, Vec<Box<str>>)>),
    /// What is left to the validator: patterns, formats, multiples, items that all differ.
    Judged(WordedLimit<LazyValidator>),
    Members(MemberRules),
    PropertyNames(NodeId),
    Items(ItemRules),
    Contains(Contains),
    DependentSchemas(Vec<(Box<str>, NodeId)>),
    AllOf(Vec<NodeId>),
    AnyOf(Vec<NodeId>),
    OneOf(Vec<NodeId>),
    Not(NodeId),
    If(Condition),
    UnevaluatedProperties(NodeId),
    UnevaluatedItems(NodeId),
    Reference(NodeId),
    /// A reference to a metaschema of the standard.
    Unfollowed,
}

impl SchemaRule {
    /// The schemas that describe the same value together with this one.
    pub(super) fn parts(&self) -> &[NodeId] {
        if let Self::AllOf(nodes) | Self::AnyOf(nodes) | Self::OneOf(nodes) = self {
            nodes
        } else if let Self::Reference(target) = self {
            std::slice::from_ref(target)
        } else {
            &[]
        }
    }
}

/// A rule that is told in words.
#[derive(Debug)]
pub(super) struct WordedLimit<T> {
    pub(super) keyword: &'static str,
    pub(super) expected: Box<str>,
    pub(super) limit: T,
}

/// The types a value may have.
#[derive(Debug)]
pub(super) struct TypeSet {
    /// In the order of the schema.
    pub(super) listed: Vec<&'static str>,
}

impl TypeSet {
    /// In the order in which a validator names them.
    pub(super) fn sorted(&self) -> Vec<&'static str> {
        let mut names = self.listed.clone();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Whether `value` is of one of them.
    pub(super) fn admit(&self, value: &Value) -> bool {
        self.listed.iter().any(|name| match value {
            Value::Null => *name == "null",
            Value::Bool(_) => *name == "boolean",
            Value::Number(number) => {
                let is_integer = || !number.is_f64() || number.as_f64().is_some_and(|real| real.fract() == 0.0);
                *name == "number" || (*name == "integer" && is_integer())
            }
            Value::String(_) => *name == "string",
            Value::Array(_) => *name == "array",
            Value::Object(_) => *name == "object",
        })
    }
}

/// The values that `enum` or `const` allows.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) keyword: &'static str,
    pub(super) options: Vec<Value>,
    /// The options that are texts, where there are many.
    pub(super) texts: HashSet<Box<str>>,
}

/// The end of a range of sizes.
#[derive(Clone, Copy, Debug)]
pub(super) enum SizeBound {
    MinLength(u64),
    MaxLength(u64),
    MinItems(u64),
    MaxItems(u64),
    MinProperties(u64),
    MaxProperties(u64),
}

/// A rule that is left to the validator, which is built when it is first asked.
#[derive(Debug)]
pub(super) struct LazyValidator {
    schema: Value,
    validator: OnceLock<Option<Validator>>,
}

impl LazyValidator {
    fn new(schema: Value) -> Self {
        Self { schema, validator: OnceLock::new() }
    }

    /// Whether the rule is about values like this one.
    pub(super) fn is_about(&self, value: &Value) -> bool {
        let says = |keyword: &str| self.schema.get(keyword).is_some();
        match value {
            Value::String(_) => says("pattern") || says("format"),
            Value::Number(_) => says("multipleOf"),
            Value::Array(_) => says("uniqueItems"),
            Value::Null | Value::Bool(_) | Value::Object(_) => false,
        }
    }

    /// Whether the validator accepts `value`.
    pub(super) fn admit(&self, value: &Value) -> bool {
        let validator = self.validator.get_or_init(|| options().build(&self.schema).ok());
        validator.as_ref().is_none_or(|validator| validator.is_valid(value))
    }
}

/// What is asked of the members of an object.
#[derive(Debug, Default)]
pub(super) struct MemberRules {
    /// By name, sorted.
    known: Vec<(Box<str>, NodeId)>,
    pub(super) patterns: Vec<(LazyValidator, NodeId)>,
    pub(super) further: Further,
    /// Whether something is said about further members, be it that all are welcome.
    pub(super) looks_at_all: bool,
}

impl MemberRules {
    /// The schema of the member called `name`, and its place among the known ones.
    pub(super) fn known(&self, name: &str) -> Option<NodeId> {
        let found = self.known.binary_search_by(|(known, _)| known.as_ref().cmp(name)).ok()?;
        self.known.get(found).map(|(_, node)| *node)
    }

    /// The members with a schema of their own.
    pub(super) fn all_known(&self) -> &[(Box<str>, NodeId)] {
        &self.known
    }
}

/// What is asked of the members that are neither known by name nor by pattern.
#[derive(Debug, Default, Clone, Copy)]
pub(super) enum Further {
    #[default]
    Free,
    None,
    Schema(NodeId),
}

#[derive(Debug, Default)]
pub(super) struct ItemRules {
    pub(super) prefix: Vec<NodeId>,
    pub(super) rest: Option<NodeId>,
}

#[derive(Debug)]
pub(super) struct Contains {
    pub(super) item: NodeId,
    pub(super) min: u64,
    pub(super) max: Option<u64>,
}

#[derive(Debug)]
pub(super) struct Condition {
    pub(super) asks: NodeId,
    pub(super) then: Option<NodeId>,
    pub(super) otherwise: Option<NodeId>,
}

impl Tree {
    /// The node of the whole schema.
    pub(super) const ROOT: NodeId = 0;

    /// The rules of a node.
    pub(super) fn rules(&self, node: NodeId) -> &[SchemaRule] {
        self.nodes.get(node).map_or(&[], |node| &node.rules)
    }

    /// Whether a reference leads to `node`.
    pub(super) fn is_target(&self, node: NodeId) -> bool {
        self.nodes.get(node).is_some_and(|node| node.is_target)
    }

    /// The first members of a node that may only have certain values.
    pub(super) fn tags(&self, node: NodeId) -> &[(Box<str>, NodeId)] {
        self.nodes.get(node).map_or(&[], |node| &node.tags)
    }

    /// The rules about members of a node.
    pub(super) fn members(&self, node: NodeId) -> Option<&MemberRules> {
        self.rules(node)
            .iter()
            .find_map(|rule| if let SchemaRule::Members(members) = rule { Some(members) } else { None })
    }

    /// The values to choose from that a node lists: those of `enum` where it has a `const` too.
    pub(super) fn choice(&self, node: NodeId) -> Option<&Choice> {
        self.rules(node)
            .iter()
            .rev()
            .find_map(|rule| if let SchemaRule::Choice(choice) = rule { Some(choice) } else { None })
    }

    /// The types that a node names.
    pub(super) fn types(&self, node: NodeId) -> Option<&TypeSet> {
        self.rules(node).iter().find_map(|rule| if let SchemaRule::Types(types) = rule { Some(types) } else { None })
    }

    /// Whether `node` is `false`.
    pub(super) fn is_never(&self, node: NodeId) -> bool {
        matches!(self.rules(node), [SchemaRule::Never])
    }
}
