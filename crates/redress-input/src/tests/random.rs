//! Schemas and documents that nobody thought of.

use serde_json::{Map, Value, json};

use crate::budget::StepBudget;
use crate::explain::explain_counted;
use crate::{InputShape, accept, walk};

/// The references there may be anywhere below a step into the document.
const ALL: &[&str] = &["#", "#/$defs/x", "#/$defs/y", "#/$defs/z%20z", "#named"];
/// Those from the outermost level: one that leads back to where it stands means nothing.
const DEFINITIONS: &[&str] = &["#/$defs/x", "#/$defs/y", "#/$defs/z%20z", "#named"];

/// A generator of numbers (xorshift), the same in every run, and of what they choose.
struct Numbers {
    state: u64,
    references: &'static [&'static str],
}

impl Numbers {
    fn new(state: u64) -> Self {
        Self { state, references: &[] }
    }

    fn below(&mut self, end: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) as usize % end
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    fn name(&mut self) -> String {
        self.pick(&["a", "b", "c", "ab", "$defs", "enum"]).to_owned()
    }

    fn document(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 6 } else { 11 }) {
            0 => json!(null),
            1 => json!(self.below(2) == 0),
            2 => json!(self.below(4)),
            3 => json!(self.pick(&[0.5, 1.0, 2.5])),
            4 | 5 => json!(self.name()),
            6 | 7 => (0..self.below(4)).map(|_| self.document(depth - 1)).collect(),
            _ => Value::Object((0..self.below(4)).map(|_| (self.name(), self.document(depth - 1))).collect()),
        }
    }

    fn schema(&mut self, depth: usize) -> Value {
        if self.below(12) == 0 {
            return json!(self.below(3) > 0);
        }
        let mut schema = Map::new();
        for _ in 0..1 + self.below(3) {
            let (keyword, value) = if depth == 0 || self.below(2) == 0 { self.own() } else { self.parts(depth - 1) };
            schema.insert(keyword.to_owned(), value);
        }
        Value::Object(schema)
    }

    /// A keyword without schemas in it.
    fn own(&mut self) -> (&'static str, Value) {
        match self.below(18) {
            0..=3 => ("type", json!(self.pick(&["null", "boolean", "integer", "number", "string", "array", "object"]))),
            4 => ("type", json!(["string", self.pick(&["null", "integer", "object"])])),
            5 => ("enum", (0..1 + self.below(3)).map(|_| self.document(1)).collect()),
            6 => ("const", self.document(1)),
            7 => ("minimum", json!(self.below(3))),
            8 => ("exclusiveMaximum", json!(self.below(3))),
            9 => ("multipleOf", json!(1 + self.below(2))),
            10 => ("minLength", json!(self.below(3))),
            11 => ("maxItems", json!(self.below(3))),
            12 => ("minProperties", json!(self.below(3))),
            13 => ("required", json!([self.name()])),
            14 => ("pattern", json!(self.pick(&["^a", "b$"]))),
            15 => ("uniqueItems", json!(true)),
            16 => ("dependentRequired", json!({self.name(): [self.name()]})),
            _ if self.references.is_empty() => ("maxProperties", json!(self.below(3))),
            _ => ("$ref", json!(self.pick(self.references))),
        }
    }

    /// A keyword with schemas in it.
    fn parts(&mut self, depth: usize) -> (&'static str, Value) {
        let keyword = self.pick(&[
            "properties",
            "properties",
            "properties",
            "patternProperties",
            "additionalProperties",
            "propertyNames",
            "items",
            "prefixItems",
            "contains",
            "dependentSchemas",
            "allOf",
            "anyOf",
            "oneOf",
            "not",
            "if",
            "then",
            "else",
            "unevaluatedProperties",
            "unevaluatedItems",
        ]);
        let outer = self.references;
        if !matches!(keyword, "dependentSchemas" | "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else") {
            self.references = ALL;
        }
        let value = match keyword {
            "properties" | "dependentSchemas" => {
                Value::Object((0..1 + self.below(3)).map(|_| (self.name(), self.schema(depth))).collect())
            }
            "patternProperties" => json!({self.pick(&["^a", "b$"]): self.schema(depth)}),
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => (0..1 + self.below(3)).map(|_| self.schema(depth)).collect(),
            "unevaluatedProperties" | "unevaluatedItems" | "additionalProperties" if self.below(2) == 0 => json!(false),
            _ => self.schema(depth),
        };
        self.references = outer;
        (keyword, value)
    }

    fn root(&mut self) -> Value {
        self.references = DEFINITIONS;
        let mut schema = self.schema(3);
        self.references = &[];
        if let Value::Object(keywords) = &mut schema {
            let mut named = self.schema(2);
            if let Value::Object(named) = &mut named {
                named.insert("$anchor".to_owned(), json!("named"));
            } else {
                named = json!({"$anchor": "named"});
            }
            let definitions = json!({"x": self.schema(2), "y": self.schema(2), "z z": self.schema(1), "n": named});
            keywords.insert("$defs".to_owned(), definitions);
        }
        schema
    }
}

#[test]
fn an_explanation_agrees_with_the_verdict_and_keeps_within_its_budget() {
    let mut numbers = Numbers::new(0x9e37_79b9_7f4a_7c15);
    let (mut refused, mut located) = (0, 0);
    for _ in 0..3_000 {
        let schema = numbers.root();
        let Ok(shape) = InputShape::dynamic(schema.clone()) else { continue };
        for _ in 0..6 {
            let document = numbers.document(3);
            let budget = StepBudget::new(100_000, &|| false);
            let verdict = walk::verdict(shape.tree(), &document, &budget);
            let valid = shape.is_valid(&document);
            assert_eq!(verdict, Some(valid), "{document} by {schema:#}");
            if valid {
                continue;
            }
            refused += 1;
            let bytes = document.to_string();
            let accepts = |bytes: &[u8]| accept(bytes, &shape).is_ok();
            let (told, steps) = explain_counted(bytes.as_bytes(), &shape, &accepts, &|_| None, &|| false);
            assert!((1..=30).contains(&told.issues.len()), "{document} by {schema:#}");
            assert!(steps <= 600_000, "{steps}: {document} by {schema:#}");
            for issue in &told.issues {
                // Of a field that is missing or unknown there is at least the object.
                let around = issue.pointer.rsplit_once('/').map_or("", |(around, _)| around);
                assert!(document.pointer(around).is_some(), "{}: {document} by {schema:#}", issue.pointer);
            }
            located += usize::from(told.issues[0].rule != "schema");
        }
    }
    assert!(refused > 5_000, "{refused}");
    assert!(located * 100 >= refused * 99, "{located} of {refused}");
}

#[test]
fn an_explanation_cut_short_tells_the_beginning_of_the_whole_one() {
    let mut numbers = Numbers::new(0x2545_f491_4f6c_dd1d);
    for _ in 0..1_000 {
        let schema = numbers.root();
        let Ok(shape) = InputShape::dynamic(schema.clone()) else { continue };
        let document = numbers.document(3);
        if shape.is_valid(&document) {
            continue;
        }
        let budget = StepBudget::new(100_000, &|| false);
        let whole = walk::problems(shape.tree(), &document, &budget, 30);
        for steps in [1, 3, 10, 30, 100, 300] {
            let budget = StepBudget::new(steps, &|| false);
            let some = walk::problems(shape.tree(), &document, &budget, 30);
            assert!(whole.starts_with(&some), "{some:?} and {whole:?}: {document} by {schema:#}");
        }
    }
}
