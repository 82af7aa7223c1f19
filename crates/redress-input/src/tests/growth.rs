//! What an explanation costs grows no faster than the input and the schema do, whatever their shape.
//!
//! Steps and bytes are counted, not time. The cases are those in which the list of errors of a validator
//! grows faster than the document: many unknown fields, unions over many wrong parts, schemas that refer to
//! themselves, long chains of references.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::explain::explain_counted;
use crate::{Explanation, InputShape, accept, decode, input_schema, pointer_of};

/// An operation's input and a document that it refuses.
struct Refused {
    shape: InputShape,
    schema: usize,
    document: String,
    accepts: fn(&[u8], &InputShape) -> bool,
    pointer: fn(&[u8]) -> Option<String>,
}

impl Refused {
    fn explain(&self) -> (Explanation, u64) {
        let accepts = |bytes: &[u8]| (self.accepts)(bytes, &self.shape);
        explain_counted(self.document.as_bytes(), &self.shape, &accepts, &self.pointer, &|| false)
    }

    fn size(&self) -> usize {
        self.document.len() + self.schema
    }
}

fn dynamic(schema: Value, document: impl ToString) -> Refused {
    let (size, document) = (schema.to_string().len(), document.to_string());
    let shape = InputShape::dynamic(schema).unwrap();
    let accepts = |bytes: &[u8], shape: &InputShape| accept(bytes, shape).is_ok();
    Refused { shape, schema: size, document, accepts, pointer: |_| None }
}

fn typed<T: DeserializeOwned + JsonSchema>(document: impl ToString) -> Refused {
    let shape = InputShape::typed::<T>(input_schema::<T>()).unwrap();
    let accepts = |bytes: &[u8], shape: &InputShape| decode::<T>(bytes, shape).is_ok();
    Refused { shape, schema: 0, document: document.to_string(), accepts, pointer: pointer_of::<T> }
}

type Case = (&'static str, usize, fn(usize) -> Refused);

/// An object with a member for each of `0..n`.
fn object(n: usize, value: impl Fn(usize) -> Value) -> Value {
    Value::Object((0..n).map(|n| (format!("{n:x}"), value(n))).collect::<Map<_, _>>())
}

fn list(n: usize, item: impl Fn(usize) -> Value) -> Value {
    (0..n).map(item).collect()
}

/// `open` and `close` around `inner`, `n` times.
fn nested(n: usize, open: &str, inner: &str, close: &str) -> String {
    format!("{}{inner}{}", open.repeat(n), close.repeat(n))
}

fn closed(properties: Value) -> Value {
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

/// Closed objects with a tag and five required fields.
fn tagged(n: usize, is_closed: bool) -> Value {
    let branch = |n: usize| {
        json!({
            "type": "object",
            "properties": {"kind": {"const": format!("kind{n}")}, "a": true, "b": true, "c": true, "d": true, "e": true},
            "required": ["kind", "a", "b", "c", "d", "e"],
            "additionalProperties": !is_closed
        })
    };
    json!({"oneOf": list(n, branch)})
}

fn with_kind(n: usize, kind: &str) -> Value {
    let mut document = object(n, |_| json!(1));
    document["kind"] = json!(kind);
    document
}

/// A schema that refers to itself in every one of `n` branches.
fn recursive(keyword: &str, n: usize) -> Value {
    let branch =
        |n: usize| json!({"type": "object", "properties": {"in": {"$ref": "#"}, format!("of{n}"): {"type": "null"}}});
    let mut branches = vec![json!({"type": "integer"})];
    branches.extend((0..n).map(branch));
    json!({keyword: branches})
}

/// The same with a name for each branch.
fn recursive_by_name(n: usize) -> Value {
    let branch =
        |n: usize| json!({"type": "object", "properties": {"kind": {"const": n}, "in": {"$ref": "#/$defs/any"}}});
    let mut definitions: Map<String, Value> = (0..n).map(|n| (format!("d{n}"), branch(n))).collect();
    let references = list(n, |n| json!({"$ref": format!("#/$defs/d{n}")}));
    definitions.insert("any".to_owned(), json!({"oneOf": references}));
    json!({"$ref": "#/$defs/any", "$defs": definitions})
}

#[derive(Debug, Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Row {
    name: String,
    count: u8,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Table {
    rows: Option<Vec<Row>>,
    map: Option<BTreeMap<String, u8>>,
    row: Option<Row>,
    one_or_many: Option<OneOrMany>,
    #[schemars(regex(pattern = r"^\d+$"))]
    digits: Option<String>,
    picked: Option<Picked>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)]
enum OneOrMany {
    One(Row),
    Many(Vec<Row>),
    Counts(Vec<u8>),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind")]
#[allow(dead_code)]
enum Picked {
    Rows { rows: Vec<Row> },
    Counts { counts: Vec<u8> },
}

#[derive(Debug, Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Branch {
    value: u8,
    kids: Vec<Branch>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "type")]
#[allow(dead_code)]
enum Tagged {
    Not { arg: Box<Tagged> },
    Neg { arg: Box<Tagged> },
    Leaf { value: u8 },
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)]
enum Untagged {
    Not { not: Box<Untagged> },
    Neg { neg: Box<Untagged> },
    Leaf(u8),
}

/// What grows, how small it begins, and the input at a given size.
const CASES: &[Case] = &[
    ("unknown members", 1000, |n| dynamic(closed(json!({"a": true})), object(n, |_| json!(1)))),
    ("unknown members, 200 known", 1000, |n| {
        dynamic(
            closed(object(200, |_| json!({"type": "string"}))),
            Value::Object((0..n).map(|n| (format!("u{n}"), json!(1))).collect()),
        )
    }),
    ("unknown members, as many known", 250, |n| {
        dynamic(
            closed(object(n, |_| json!({"type": "string"}))),
            Value::Object((0..n).map(|n| (format!("u{n}"), json!(1))).collect()),
        )
    }),
    ("unknown members by unevaluatedProperties", 1000, |n| {
        dynamic(json!({"properties": {"a": true}, "unevaluatedProperties": false}), object(n, |_| json!(1)))
    }),
    ("unknown members by patternProperties", 1000, |n| {
        dynamic(json!({"patternProperties": {"^x": true}, "additionalProperties": false}), object(n, |_| json!(1)))
    }),
    ("wrong items", 1000, |n| dynamic(json!({"items": {"type": "integer"}}), list(n, |_| json!("x")))),
    ("the last item wrong", 1000, |n| {
        dynamic(json!({"items": {"type": "integer"}}), list(n, |m| if m + 1 == n { json!("x") } else { json!(1) }))
    }),
    ("items that are numbers in texts", 1000, |n| {
        dynamic(json!({"items": {"type": "integer"}}), list(n, |n| json!(n.to_string())))
    }),
    ("wrong items by reference", 1000, |n| {
        dynamic(json!({"items": {"$ref": "#/$defs/i"}, "$defs": {"i": {"type": "integer"}}}), list(n, |_| json!("x")))
    }),
    ("the last item wrong by reference", 1000, |n| {
        let schema = json!({"items": {"$ref": "#/$defs/i"}, "$defs": {"i": {"type": "integer"}}});
        dynamic(schema, list(n, |m| if m + 1 == n { json!("x") } else { json!(1) }))
    }),
    ("wrong items by anyOf", 1000, |n| {
        dynamic(json!({"items": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}), list(n, |_| json!("x")))
    }),
    ("anyOf over one array of wrong items", 1000, |n| {
        let schema = json!({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]});
        dynamic(schema, list(n, |_| json!("x")))
    }),
    ("anyOf over one object of unknown members", 1000, |n| {
        dynamic(json!({"anyOf": [closed(json!({"a": true})), {"type": "null"}]}), object(n, |_| json!(1)))
    }),
    ("objects with one unknown member each", 1000, |n| {
        dynamic(json!({"items": closed(json!({"a": true}))}), list(n, |_| json!({"b": 1})))
    }),
    ("an enum under anyOf", 1000, |n| {
        let items = json!({"type": "array", "items": {"enum": ["a", "b"]}});
        dynamic(json!({"anyOf": [items, {"type": "null"}]}), list(n, |_| json!("c")))
    }),
    ("propertyNames under anyOf", 1000, |n| {
        let schema = json!({"anyOf": [{"type": "object", "propertyNames": {"maxLength": 1}}, {"type": "null"}]});
        dynamic(schema, object(n, |_| json!(1)))
    }),
    ("required under anyOf", 250, |n| {
        let names = list(n, |n| json!(format!("r{n}")));
        dynamic(json!({"anyOf": [{"type": "object", "required": names}, {"type": "null"}]}), json!({}))
    }),
    ("twenty closed tagged objects, the tag misspelt", 1000, |n| dynamic(tagged(20, true), with_kind(n, "kimd3"))),
    ("twenty open tagged objects, the tag misspelt", 1000, |n| dynamic(tagged(20, false), with_kind(n, "kimd3"))),
    ("tagged objects, the tag misspelt", 250, |n| dynamic(tagged(n, true), with_kind(1, "kimd3"))),
    ("tagged objects, the tag right", 250, |n| dynamic(tagged(n, true), with_kind(1, "kind3"))),
    ("anyOf of many numbers", 250, |n| {
        dynamic(json!({"anyOf": list(n, |n| json!({"type": "integer", "minimum": n + 1}))}), json!(0))
    }),
    ("oneOf of many constants", 250, |n| {
        dynamic(json!({"oneOf": list(n, |n| json!({"const": format!("constant-{n}")}))}), json!("constamt-7"))
    }),
    ("a long enum", 1000, |n| dynamic(json!({"enum": list(n, |n| json!(format!("option-{n}")))}), json!("optiom-7"))),
    ("an enum for every item", 1000, |n| {
        let schema = json!({"items": {"enum": list(100, |n| json!(format!("option-{n}")))}});
        dynamic(schema, list(n, |_| json!("optiom-7")))
    }),
    ("a long enum for every item", 250, |n| {
        let schema = json!({"items": {"enum": list(n, |n| json!(format!("option-{n}")))}});
        dynamic(schema, list(n, |_| json!("something else")))
    }),
    ("a member twice", 1000, |n| {
        let object = object(n, |_| json!(1)).to_string();
        dynamic(json!({"type": "object"}), object.replacen('{', "{\"0\":1,", 1))
    }),
    ("required members", 250, |n| dynamic(json!({"required": list(n, |n| json!(format!("r{n}")))}), json!({}))),
    ("required members that are described", 250, |n| {
        let names: Vec<String> = (0..n).map(|n| format!("r{n}")).collect();
        let properties: Map<String, Value> =
            names.iter().map(|name| (name.clone(), json!({"type": "string"}))).collect();
        dynamic(json!({"type": "object", "properties": properties, "required": names}), json!({}))
    }),
    ("members wrong by pattern", 1000, |n| {
        dynamic(json!({"patternProperties": {".": {"type": "string"}}}), object(n, |_| json!(1)))
    }),
    ("a long text against a pattern", 50_000, |n| dynamic(json!({"pattern": "^a*$"}), json!("b".repeat(n)))),
    ("a long text in a format", 50_000, |n| dynamic(json!({"format": "date-time"}), json!("b".repeat(n)))),
    ("a long text for an object", 50_000, |n| dynamic(json!({"type": "object"}), json!("b".repeat(n)))),
    ("a long text for an enum", 50_000, |n| dynamic(json!({"enum": ["a", "b"]}), json!("b".repeat(n)))),
    ("a long name", 50_000, |n| dynamic(closed(json!({"a": true})), json!({"b".repeat(n): 1}))),
    ("items that differ but for two", 1000, |n| {
        dynamic(json!({"uniqueItems": true}), list(n, |m| json!(if m + 1 == n { 0 } else { m })))
    }),
    ("names", 1000, |n| dynamic(json!({"propertyNames": {"maxLength": 2, "minLength": 2}}), object(n, |_| json!(1)))),
    ("no item of a kind", 1000, |n| dynamic(json!({"contains": {"type": "string"}}), list(n, |_| json!(1)))),
    ("unevaluated items", 1000, |n| {
        dynamic(
            json!({"prefixItems": [true], "contains": {"type": "string"}, "unevaluatedItems": false}),
            list(n, |_| json!(1)),
        )
    }),
    ("members that ask for others", 250, |n| {
        dynamic(json!({"dependentRequired": object(n, |_| json!(["other"]))}), object(n, |_| json!(1)))
    }),
    ("members that ask for schemas", 250, |n| {
        dynamic(json!({"dependentSchemas": object(n, |_| json!({"required": ["other"]}))}), object(n, |_| json!(1)))
    }),
    ("allOf", 250, |n| dynamic(json!({"allOf": list(n, |n| json!({"minimum": n + 1}))}), json!(0))),
    ("items that are excluded", 1000, |n| {
        dynamic(json!({"items": {"not": {"type": "string"}}}), list(n, |_| json!("x")))
    }),
    ("references to many definitions", 250, |n| {
        let properties = object(n, |n| json!({"$ref": format!("#/$defs/{n:x}")}));
        dynamic(
            json!({"properties": properties, "$defs": object(n, |_| json!({"type": "string"}))}),
            object(n, |_| json!(1)),
        )
    }),
    ("a chain of references", 100, |n| {
        let link = |m: usize| {
            if m + 1 == n { json!({"type": "string"}) } else { json!({"$ref": format!("#/$defs/{:x}", m + 1)}) }
        };
        dynamic(json!({"$ref": "#/$defs/0", "$defs": object(n, link)}), json!(1))
    }),
    ("depth", 30, |n| {
        let document = nested(n, "{\"in\":", "\"x\"", "}");
        dynamic(json!({"type": ["object", "integer"], "properties": {"in": {"$ref": "#"}}}), document)
    }),
    ("depth of arrays by anyOf", 30, |n| {
        let schema = json!({"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#"}}]});
        dynamic(schema, nested(n, "[", "\"x\"", "]"))
    }),
    ("depth, two branches that both recurse", 30, |n| {
        dynamic(recursive("anyOf", 2), nested(n, "{\"in\":", "\"x\"", "}"))
    }),
    ("depth, three branches of oneOf that both recurse", 30, |n| {
        dynamic(recursive("oneOf", 3), nested(n, "{\"of0\":1,\"in\":", "\"x\"", "}"))
    }),
    ("depth, twenty-four named branches", 30, |n| {
        dynamic(recursive_by_name(24), nested(n, "{\"kind\":3,\"in\":", "{\"kind\":24}", "}"))
    }),
    ("depth, with unevaluatedProperties", 30, |n| {
        let mut schema = recursive("anyOf", 2);
        schema["unevaluatedProperties"] = json!(false);
        dynamic(schema, nested(n, "{\"in\":", "\"x\"", "}"))
    }),
    ("depth, with not", 30, |n| {
        let schema = json!({"type": ["object", "string"], "properties": {"in": {"$ref": "#"}}, "not": {"const": "x"}});
        dynamic(schema, nested(n, "{\"in\":", "\"x\"", "}"))
    }),
    ("typed: unknown members", 1000, |n| typed::<Row>(object(n, |_| json!(1)))),
    ("typed: wrong items", 1000, |n| typed::<Vec<u8>>(list(n, |_| json!("x")))),
    ("typed: the last item wrong", 1000, |n| {
        typed::<Vec<u8>>(list(n, |m| if m + 1 == n { json!("x") } else { json!(1) }))
    }),
    ("typed: rows with an unknown member each", 1000, |n| {
        typed::<Table>(json!({"rows": list(n, |_| json!({"name": "a", "count": 1, "x": 1}))}))
    }),
    ("typed: rows that miss a member", 1000, |n| typed::<Table>(json!({"rows": list(n, |_| json!({"name": "a"}))}))),
    ("typed: a map of wrong values", 1000, |n| typed::<Table>(json!({"map": object(n, |_| json!("x"))}))),
    ("typed: a pattern", 50_000, |n| typed::<Table>(json!({"digits": "x".repeat(n)}))),
    ("typed: one or many, wrong items", 1000, |n| {
        typed::<Table>(json!({"one_or_many": list(n, |_| json!({"name": 1, "count": "x"}))}))
    }),
    ("typed: an optional struct, unknown members", 1000, |n| typed::<Table>(json!({"row": object(n, |_| json!(1))}))),
    ("typed: a tagged enum, wrong items", 1000, |n| {
        typed::<Table>(json!({"picked": {"kind": "Counts", "counts": list(n, |_| json!("x"))}}))
    }),
    ("typed: a wide tree of wrong leaves", 1000, |n| {
        typed::<Branch>(json!({"value": 1, "kids": list(n, |_| json!({"value": "x", "kids": []}))}))
    }),
    ("typed: a deep tree, its leaf wrong", 15, |n| {
        typed::<Branch>(nested(n, "{\"value\":1,\"kids\":[", "{\"value\":\"x\",\"kids\":[]}", "]}"))
    }),
    ("typed: a deep tagged enum, its leaf wrong", 30, |n| {
        typed::<Tagged>(nested(n, "{\"type\":\"Neg\",\"arg\":", "{\"type\":\"Leaf\",\"value\":\"x\"}", "}"))
    }),
    ("typed: a deep untagged enum, its leaf wrong", 30, |n| typed::<Untagged>(nested(n, "{\"neg\":", "\"x\"", "}"))),
];

#[test]
fn steps_grow_no_faster_than_the_input_and_its_schema() {
    // What does not grow, and what the first of several is dearer than the next.
    const SLACK: u64 = 400;
    for (case, n, refused) in CASES {
        let taken = [*n, 2 * n, 4 * n].map(|n| {
            let (told, steps) = refused(n).explain();
            assert!(!told.issues.is_empty(), "{case}");
            assert_ne!(told.issues[0].rule, "schema", "{case}: the budget ended at {steps} for {n}");
            steps
        });
        for pair in taken.windows(2) {
            assert!(pair[1] <= 2 * pair[0] + pair[0] / 8 + SLACK, "{case}: {taken:?}");
        }
    }
}

#[test]
fn memory_is_a_multiple_of_the_input_and_its_schema() {
    // The document itself takes some 40 bytes for each byte of `[1,1,…]`, as a vector doubles.
    const PER_BYTE: u64 = 100;
    const SLACK: u64 = 64 * 1024;
    for (case, n, refused) in CASES {
        let refused = refused(4 * n);
        // The first refusal builds what the others use.
        refused.explain();
        let taken = allocation_counter::measure(|| {
            refused.explain();
        });
        let allowed = SLACK + PER_BYTE * refused.size() as u64;
        assert!(taken.bytes_max <= allowed, "{case}: {} bytes for {}", taken.bytes_max, refused.size());
    }
}

#[test]
fn what_the_first_refusal_builds_grows_no_faster_than_the_schema() {
    // At most 128 levels of a document, each of which knows the way to it.
    const SLACK: u64 = 512 * 1024;
    for (case, n, refused) in CASES {
        let taken = [*n, 2 * n, 4 * n].map(|n| {
            let taken = allocation_counter::measure(|| {
                refused(n).explain();
            });
            taken.bytes_total
        });
        for pair in taken.windows(2) {
            // A vector or table that doubles just past a size counts for up to twice as much.
            assert!(pair[1] <= 3 * pair[0] + SLACK, "{case}: {taken:?}");
        }
    }
}
