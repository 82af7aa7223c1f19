//! Reading a schema into nodes.

use std::collections::HashMap;

use redress_contract::Schema;
use serde_json::{Map, Value, json};

use super::{
    Choice, Condition, Contains, Further, ItemRules, LazyValidator, MemberRules, NodeId, NumberBounds, SchemaNode,
    SchemaRule, SizeBound, Tree, TypeSet, WordedLimit,
};
use crate::wording;

/// Options that are texts are looked up rather than compared one by one when there are more than this.
const FEW: usize = 16;

impl Tree {
    /// Reads a schema, whose references are plain.
    pub(crate) fn of(schema: &Schema) -> Self {
        let mut reader = TreeReader { whole: schema, nodes: Vec::new(), ids: HashMap::new(), left: Vec::new() };
        reader.node(schema.as_value());
        while let Some((id, schema)) = reader.left.pop() {
            let rules = reader.rules(schema);
            if let Some(node) = reader.nodes.get_mut(id) {
                node.rules = rules;
            }
        }
        let mut tree = Self { nodes: reader.nodes };
        tree.shorten();
        tree.tag();
        tree
    }

    /// Notes the tags of each node.
    fn tag(&mut self) {
        const ENOUGH: usize = 2;
        for id in 0..self.nodes.len() {
            let Some(members) = self.members(id) else { continue };
            let is_tag = |(_, node): &&(Box<str>, NodeId)| self.choice(*node).is_some();
            let tags = members.all_known().iter().filter(is_tag).take(ENOUGH).cloned().collect();
            if let Some(node) = self.nodes.get_mut(id) {
                node.tags = tags;
            }
        }
    }

    /// Makes each reference lead to a node that says something, past those that only refer to another.
    fn shorten(&mut self) {
        let mut ends: Vec<Option<NodeId>> = vec![None; self.nodes.len()];
        for start in 0..self.nodes.len() {
            let mut chain = Vec::new();
            let mut node = start;
            let end = loop {
                if let Some(Some(end)) = ends.get(node) {
                    break *end;
                }
                let [SchemaRule::Reference(next)] = self.rules(node) else { break node };
                // A chain longer than the schema goes in a circle.
                if chain.len() > self.nodes.len() {
                    break node;
                }
                chain.push(node);
                node = *next;
            };
            for node in chain {
                if let Some(known) = ends.get_mut(node) {
                    *known = Some(end);
                }
            }
        }
        let mut targets = Vec::new();
        for (id, node) in self.nodes.iter_mut().enumerate() {
            node.rules.retain_mut(|rule| {
                let SchemaRule::Reference(target) = rule else { return true };
                *target = ends.get(*target).copied().flatten().unwrap_or(*target);
                targets.push(*target);
                *target != id
            });
        }
        for target in targets {
            if let Some(node) = self.nodes.get_mut(target) {
                node.is_target = true;
            }
        }
    }
}

fn address(schema: &Value) -> usize {
    std::ptr::from_ref(schema).addr()
}

struct TreeReader<'s> {
    whole: &'s Schema,
    nodes: Vec<SchemaNode>,
    ids: HashMap<usize, NodeId>,
    left: Vec<(NodeId, &'s Value)>,
}

impl<'s> TreeReader<'s> {
    /// The node of a subschema, which is read later if it was not yet.
    fn node(&mut self, schema: &'s Value) -> NodeId {
        let next = self.nodes.len();
        let id = *self.ids.entry(address(schema)).or_insert(next);
        if id == next {
            self.nodes.push(SchemaNode::default());
            self.left.push((id, schema));
        }
        id
    }

    fn list(&mut self, schemas: &'s Value) -> Vec<NodeId> {
        schemas.as_array().into_iter().flatten().map(|schema| self.node(schema)).collect()
    }

    fn named(&mut self, schemas: &'s Value) -> Vec<(Box<str>, NodeId)> {
        let mut named: Vec<_> = schemas
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, schema)| (name.as_str().into(), self.node(schema)))
            .collect();
        named.sort_unstable();
        named
    }

    /// The rules of a schema, in the order in which the validator checks them.
    fn rules(&mut self, schema: &'s Value) -> Vec<SchemaRule> {
        let keywords = match schema {
            Value::Object(keywords) => keywords,
            Value::Bool(false) => return vec![SchemaRule::Never],
            Value::Null | Value::Bool(true) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Vec::new();
            }
        };
        let mut rules = Vec::new();
        own(keywords, &mut rules);
        self.parts(keywords, &mut rules);
        // Behind the members: a name that is not known, near to one that is missing, says more than that it is missing.
        if let Some(required) = keywords.get("required") {
            rules.push(SchemaRule::Required(names(required)));
        }
        self.branches(keywords, &mut rules);
        if let Some(reference) = keywords.get("$ref").and_then(Value::as_str) {
            let target = self.whole.referred(reference);
            rules.push(target.map_or(SchemaRule::Unfollowed, |target| SchemaRule::Reference(self.node(target))));
        }
        rules
    }

    /// The rules about members and items.
    fn parts(&mut self, keywords: &'s Map<String, Value>, rules: &mut Vec<SchemaRule>) {
        let further = keywords.get("additionalProperties");
        let properties = keywords.get("properties");
        let patterns = keywords.get("patternProperties");
        if further.is_some() || properties.is_some() || patterns.is_some() {
            rules.push(SchemaRule::Members(MemberRules {
                known: properties.map_or_else(Vec::new, |named| self.named(named)),
                patterns: patterns.and_then(Value::as_object).map_or_else(Vec::new, |patterns| {
                    let judge = |pattern: &String| LazyValidator::new(json!({ "pattern": pattern }));
                    patterns.iter().map(|(pattern, schema)| (judge(pattern), self.node(schema))).collect()
                }),
                looks_at_all: further.is_some(),
                further: match further {
                    None | Some(Value::Bool(true)) => Further::Free,
                    Some(Value::Bool(false)) => Further::None,
                    Some(schema) => Further::Schema(self.node(schema)),
                },
            }));
        }
        if let Some(names) = keywords.get("propertyNames") {
            rules.push(SchemaRule::PropertyNames(self.node(names)));
        }
        let prefix = keywords.get("prefixItems").map_or_else(Vec::new, |items| self.list(items));
        let rest = keywords.get("items").filter(|items| !items.is_array()).map(|items| self.node(items));
        if !prefix.is_empty() || rest.is_some() {
            rules.push(SchemaRule::Items(ItemRules { prefix, rest }));
        }
        if let Some(item) = keywords.get("contains") {
            rules.push(SchemaRule::Contains(Contains {
                item: self.node(item),
                min: size(keywords, "minContains").unwrap_or(1),
                max: size(keywords, "maxContains"),
            }));
        }
        let mut dependents = keywords.get("dependentSchemas").map_or_else(Vec::new, |named| self.named(named));
        for (name, schema) in keywords.get("dependencies").and_then(Value::as_object).into_iter().flatten() {
            if !schema.is_array() {
                dependents.push((name.as_str().into(), self.node(schema)));
            }
        }
        if !dependents.is_empty() {
            rules.push(SchemaRule::DependentSchemas(dependents));
        }
    }

    /// The rules that hold other schemas against the same value.
    fn branches(&mut self, keywords: &'s Map<String, Value>, rules: &mut Vec<SchemaRule>) {
        rules.extend(keywords.get("allOf").map(|schemas| SchemaRule::AllOf(self.list(schemas))));
        rules.extend(keywords.get("anyOf").map(|schemas| SchemaRule::AnyOf(self.list(schemas))));
        rules.extend(keywords.get("oneOf").map(|schemas| SchemaRule::OneOf(self.list(schemas))));
        if let Some(schema) = keywords.get("not") {
            rules.push(SchemaRule::Not(self.node(schema)));
        }
        if let Some(asks) = keywords.get("if") {
            let asks = self.node(asks);
            let then = keywords.get("then").map(|schema| self.node(schema));
            let otherwise = keywords.get("else").map(|schema| self.node(schema));
            rules.push(SchemaRule::If(Condition { asks, then, otherwise }));
        }
        if let Some(schema) = keywords.get("unevaluatedProperties") {
            rules.push(SchemaRule::UnevaluatedProperties(self.node(schema)));
        }
        if let Some(schema) = keywords.get("unevaluatedItems") {
            rules.push(SchemaRule::UnevaluatedItems(self.node(schema)));
        }
    }
}

/// The rules that a value keeps or breaks by itself.
fn own(keywords: &Map<String, Value>, rules: &mut Vec<SchemaRule>) {
    if let Some(types) = types(keywords.get("type")) {
        rules.push(SchemaRule::Types(types));
    }
    if let Some(only) = keywords.get("const") {
        rules.push(choice("const", std::slice::from_ref(only)));
    }
    if let Some(Value::Array(options)) = keywords.get("enum") {
        rules.push(choice("enum", options));
    }
    let numbers = [
        ("minimum", "at least"),
        ("maximum", "at most"),
        ("exclusiveMinimum", "more than"),
        ("exclusiveMaximum", "less than"),
    ];
    for (keyword, words) in numbers {
        if let Some(bound) = keywords.get(keyword)
            && let Some(limit) = NumberBounds::read(&Map::from_iter([(keyword.to_owned(), bound.clone())]), false)
        {
            rules.push(SchemaRule::Number(WordedLimit { keyword, expected: format!("{words} {bound}").into(), limit }));
        }
    }
    judged(keywords, "multipleOf", |step| format!("a multiple of {step}"), rules);
    let mut sized = |keyword: &'static str, noun: &str, limit: fn(u64) -> SizeBound| {
        let words = if keyword.starts_with("min") { "at least" } else { "at most" };
        if let Some(count) = size(keywords, keyword) {
            let expected = format!("{words} {}", wording::counted(count, noun)).into();
            rules.push(SchemaRule::Size(WordedLimit { keyword, expected, limit: limit(count) }));
        }
    };
    sized("minLength", "character", SizeBound::MinLength);
    sized("maxLength", "character", SizeBound::MaxLength);
    sized("minItems", "item", SizeBound::MinItems);
    sized("maxItems", "item", SizeBound::MaxItems);
    sized("minProperties", "field", SizeBound::MinProperties);
    sized("maxProperties", "field", SizeBound::MaxProperties);
    let mut dependents = Vec::new();
    for keyword in ["dependentRequired", "dependencies"] {
        for (name, required) in keywords.get(keyword).and_then(Value::as_object).into_iter().flatten() {
            if required.is_array() {
                dependents.push((name.as_str().into(), names(required)));
            }
        }
    }
    if !dependents.is_empty() {
        rules.push(SchemaRule::DependentRequired(dependents));
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    judged(keywords, "pattern", |pattern| format!("text that matches `{}`", text(pattern)), rules);
    judged(keywords, "format", |format| format!("text in the format `{}`", text(format)), rules);
    if keywords.get("uniqueItems") == Some(&Value::Bool(true)) {
        judged(keywords, "uniqueItems", |_| "items that all differ".to_owned(), rules);
    }
}

/// Leaves `keyword` to the validator.
fn judged(
    keywords: &Map<String, Value>,
    keyword: &'static str,
    words: impl Fn(&Value) -> String,
    rules: &mut Vec<SchemaRule>,
) {
    if let Some(value) = keywords.get(keyword) {
        let limit = LazyValidator::new(json!({ keyword: value }));
        rules.push(SchemaRule::Judged(WordedLimit { keyword, expected: words(value).into(), limit }));
    }
}

fn types(said: Option<&Value>) -> Option<TypeSet> {
    const NAMES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];
    let said = said?;
    let said = said.as_array().map_or(std::slice::from_ref(said), Vec::as_slice);
    let known = |name: &Value| NAMES.iter().copied().find(|known| name == known);
    Some(TypeSet { listed: said.iter().filter_map(known).collect() })
}

fn choice(keyword: &'static str, options: &[Value]) -> SchemaRule {
    let texts = if options.len() > FEW {
        options.iter().filter_map(Value::as_str).map(Box::from).collect()
    } else {
        std::collections::HashSet::new()
    };
    SchemaRule::Choice(Choice { keyword, options: options.to_vec(), texts })
}

fn names(said: &Value) -> Vec<Box<str>> {
    said.as_array().into_iter().flatten().filter_map(Value::as_str).map(Box::from).collect()
}

/// A size; it may be written as `2.0`.
fn size(keywords: &Map<String, Value>, keyword: &str) -> Option<u64> {
    let said = keywords.get(keyword)?;
    said.as_u64().or_else(|| said.as_f64().filter(|real| *real >= 0.0 && real.fract() == 0.0).map(|real| real as u64))
}
