//! Operations whose inputs have every shape that a refusal has been known to be slow about.

use redress::{Access, Operation, Registry, contract};
use serde_json::{Map, Value, json};

/// The schemas, each of an operation `grow.<name>` that gives back what it takes.
fn schemas() -> Vec<(&'static str, Value)> {
    let known = |count: usize| -> Map<String, Value> {
        (0..count).map(|at| (format!("known_field_{at}"), json!({"type": "integer"}))).collect()
    };
    let tagged: Vec<Value> = (0..20)
        .map(|at| {
            json!({
                "type": "object",
                "properties": {"kind": {"const": format!("kind-{at}")}, "a": {}, "b": {}, "c": {}, "d": {}, "e": {}},
                "required": ["kind", "a", "b", "c", "d", "e"],
                "additionalProperties": false,
            })
        })
        .collect();
    let branch = |at: usize| {
        json!({
            "type": "object",
            "properties": {format!("t{at}"): {}, "next": {"$ref": "#/$defs/node"}},
            "required": ["next"],
        })
    };
    let recursive = |all: &str, count: usize| {
        json!({
            "type": "object",
            "properties": {"v": {"$ref": "#/$defs/node"}},
            "$defs": {"node": {all: (0..count).map(branch).chain([json!({"type": "integer"})]).collect::<Vec<_>>()}},
        })
    };
    let member = |schema: Value| json!({"type": "object", "properties": {"v": schema}, "additionalProperties": false});
    let referred = |schema: Value| {
        json!({"type": "object", "properties": {"v": {"type": "array", "items": {"$ref": "#/$defs/item"}}},
               "$defs": {"item": schema}})
    };
    let deep = json!({
        "type": "object",
        "properties": {"v": {"$ref": "#/$defs/node"}},
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}},
                           "additionalProperties": false}},
    });
    let not = json!({
        "type": "object",
        "properties": {"v": {"$ref": "#/$defs/node"}},
        "$defs": {"node": {"not": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}},
                                    "required": ["next"]}}},
    });
    vec![
        ("echo", json!({"type": "object"})),
        (
            "flat",
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
                        "additionalProperties": false}),
        ),
        ("closed", json!({"type": "object", "properties": known(3), "additionalProperties": false})),
        ("closed200", json!({"type": "object", "properties": known(200), "additionalProperties": false})),
        ("unevaluated", json!({"type": "object", "properties": known(3), "unevaluatedProperties": false})),
        ("integers", member(json!({"type": "array", "items": {"type": "integer"}}))),
        ("bounded", member(json!({"type": "array", "maxItems": 3, "items": {"type": "integer"}}))),
        ("references", referred(json!({"type": "integer"}))),
        ("objects", referred(json!({"type": "object", "properties": known(3), "additionalProperties": false}))),
        ("unions", member(json!({"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "boolean"}]}}))),
        (
            "union_of_array",
            member(json!({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]})),
        ),
        (
            "union_of_object",
            member(json!({"anyOf": [
            {"type": "object", "properties": known(3), "additionalProperties": false}, {"type": "null"}]})),
        ),
        ("tagged", member(json!({"oneOf": tagged}))),
        ("names", member(json!({"type": "object", "propertyNames": {"maxLength": 1}}))),
        (
            "names_in_union",
            member(json!({"anyOf": [{"type": "object", "propertyNames": {"maxLength": 1}},
                                                    {"type": "null"}]})),
        ),
        ("patterns", member(json!({"type": "object", "patternProperties": {"^k": {"type": "string"}}}))),
        (
            "dependent",
            member(json!({"type": "object", "dependentRequired": {"k0": ["z"]},
                                     "additionalProperties": {"type": "string"}})),
        ),
        ("any_of_recursion", recursive("anyOf", 3)),
        ("one_of_recursion", recursive("oneOf", 24)),
        ("deep", deep),
        ("not", not),
        ("unique", member(json!({"type": "array", "uniqueItems": true}))),
        ("contains", member(json!({"type": "array", "contains": {"type": "string"}, "minContains": 2}))),
        ("word", member(json!({"enum": ["alpha", "beta", "gamma", "delta"]}))),
        ("matching", member(json!({"type": "string", "pattern": "^(a|b)*c$"}))),
        ("mail", member(json!({"type": "string", "format": "email"}))),
        ("link", member(json!({"type": "string", "format": "uri"}))),
        ("moment", member(json!({"type": "string", "format": "date-time"}))),
        ("short", member(json!({"type": "string", "maxLength": 4}))),
        ("number", member(json!({"type": "number", "multipleOf": 0.01}))),
    ]
}

/// A registry of all of them, the typed ones of the other targets, and those that tell what is served.
pub(super) fn registry() -> Registry {
    let builder = schemas().into_iter().fold(Registry::builder(), |builder, (name, schema)| {
        let declared = contract::OperationDeclaration::query(&format!("grow.{name}"))
            .with_summary("Takes what it takes.")
            .with_access(Access::anyone())
            .with_input(schema);
        builder.add(Operation::dynamic(declared).with_handler(|_, input| async move { Ok(input) }))
    });
    crate::operations::typed(builder).build().expect("the declarations are sound")
}
