//! What a refused caller is told, issue by issue.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::types::*;
use crate::{Explanation, InputShape, decode, explain, input_schema, pointer_of};

pub(super) fn explained<T: DeserializeOwned + JsonSchema>(text: &str) -> Explanation {
    let shape = InputShape::typed::<T>(input_schema::<T>()).unwrap();
    let bytes = text.as_bytes();
    assert!(decode::<T>(bytes, &shape).is_err(), "accepted: {text}");
    let accepts = |bytes: &[u8]| decode::<T>(bytes, &shape).is_ok();
    explain(bytes, &shape, &accepts, &pointer_of::<T>, &|| false)
}

/// The issues of a schema that no type stands for.
fn dynamic(schema: Value, input: &Value) -> Vec<String> {
    let shape = InputShape::dynamic(schema).unwrap();
    let bytes = input.to_string();
    let explanation =
        explain(bytes.as_bytes(), &shape, &|bytes| crate::accept(bytes, &shape).is_ok(), &|_| None, &|| false);
    lines(&explanation)
}

fn lines(explanation: &Explanation) -> Vec<String> {
    let line = |issue: &crate::InputIssue| {
        let near = issue.near.as_deref().map(|near| format!(" ({near}?)"));
        let near = near.unwrap_or_default();
        format!("{} {}: {}{near}", issue.pointer, issue.rule, issue.expected)
    };
    explanation.issues.iter().map(line).collect()
}

#[track_caller]
fn assert_told<T: DeserializeOwned + JsonSchema>(input: Value, expected: &[&str]) {
    assert_eq!(lines(&explained::<T>(&input.to_string())), expected);
}

#[test]
fn a_wrong_type_is_told_the_right_one() {
    let input = json!({"name": 5, "times": "x", "loud": null});
    assert_told::<Plain>(input, &["/loud type: true or false", "/name type: a string", "/times type: an integer"]);
    assert_told::<Optional>(json!({"a": []}), &["/a type: null or a string"]);
    assert_told::<Plain>(json!([]), &[" type: an object"]);
}

#[test]
fn a_missing_field_is_named_with_what_it_holds() {
    assert_told::<Renamed>(
        json!({}),
        &[
            "/firstName required: this field, which is required: a string",
            "/type required: this field, which is required: one of \"asc\", \"desc\"",
        ],
    );
}

#[test]
fn an_unknown_field_is_told_the_known_ones_and_the_nearest() {
    let input = json!({"name": "a", "times": 1, "loud": true, "Loud ": 1, "zebra": 2});
    let known = "no field of this name; known fields are `loud`, `name`, `times`";
    assert_told::<Plain>(
        input,
        &[&format!("/Loud  additionalProperties: {known} (loud?)"), &format!("/zebra additionalProperties: {known}")],
    );
}

#[test]
fn a_field_unknown_to_a_flattened_object_is_told_the_fields_of_all_parts() {
    let told = lines(&explained::<FlattenedEnum>(r#"{"b": 1, "t": "A", "zebra": 1}"#));
    assert_eq!(told, ["/zebra unevaluatedProperties: no field of this name; known fields are `b`, `t`, `a`, `x`"]);
}

#[test]
fn a_wrong_choice_is_told_the_choices_and_the_nearest() {
    assert_told::<Order>(json!("ascending"), &[" enum: one of \"asc\", \"desc\" (asc?)"]);
    assert_told::<Documented>(json!("a"), &[" enum: one of \"A\", \"B\" (A?)"]);
}

#[test]
fn a_broken_rule_is_told_its_limit() {
    let input = json!({"a": 0, "b": "a", "c": "x", "d": [], "e": "z", "f": 2, "g": 3, "h": "no"});
    assert_told::<Ruled>(
        input,
        &[
            "/a minimum: at least 1",
            "/b minLength: at least 2 characters",
            "/c pattern: text that matches `^\\d+$`",
            "/d minItems: at least 1 item",
            "/e enum: one of \"x\", \"y\"",
            "/f maximum: at most 1.5",
            "/g multipleOf: a multiple of 5",
            "/h format: text in the format `email`",
        ],
    );
}

#[test]
fn every_other_rule_has_words() {
    let told = |schema: Value, input: Value| dynamic(schema, &input).join("; ");
    assert_eq!(told(json!({"exclusiveMinimum": 1}), json!(1)), " exclusiveMinimum: more than 1");
    assert_eq!(told(json!({"exclusiveMaximum": 1}), json!(1)), " exclusiveMaximum: less than 1");
    assert_eq!(told(json!({"maxLength": 1}), json!("ab")), " maxLength: at most 1 character");
    assert_eq!(told(json!({"maxItems": 0}), json!([1])), " maxItems: at most 0 items");
    assert_eq!(told(json!({"uniqueItems": true}), json!([1, 1])), " uniqueItems: items that all differ");
    assert_eq!(told(json!({"minProperties": 1}), json!({})), " minProperties: at least 1 field");
    assert_eq!(told(json!({"maxProperties": 0}), json!({"a": 1})), " maxProperties: at most 0 fields");
    assert_eq!(told(json!({"const": 1}), json!(2)), " const: exactly 1");
    assert_eq!(told(json!({"not": {"type": "string"}}), json!("a")), " not: a value that the schema does not exclude");
    assert_eq!(
        told(json!({"contains": {"type": "string"}}), json!([1])),
        " contains: an item of the kind that the schema asks for"
    );
    assert_eq!(
        told(json!({"oneOf": [{"minimum": 1}, {"maximum": 5}]}), json!(3)),
        " oneOf: a value that fits only one of the alternatives"
    );
    assert_eq!(told(json!({"prefixItems": [true], "items": false}), json!([1, 2])), "/1 falseSchema: no value here");
    assert_eq!(
        told(json!({"propertyNames": {"maxLength": 1}}), json!({"ab": 1})),
        " propertyNames: field names that the schema allows"
    );
}

#[test]
fn a_union_is_explained_by_the_branch_that_was_meant() {
    assert_told::<Internal>(json!({"t": "C", "x": "one"}), &["/x type: an integer"]);
    assert_told::<Internal>(json!({"t": "D"}), &["/t enum: one of \"A\", \"B\", \"C\""]);
    assert_told::<Untagged>(json!(5), &[" type: an object or a string"]);
    assert_told::<Adjacent>(json!({"t": "B", "c": {"a": 300}}), &["/c/a maximum: at most 255"]);
    assert_told::<Tree>(
        json!({"v": 1, "kids": [{"v": 1, "kids": [{"v": 1, "kid": []}]}]}),
        &[
            "/kids/0/kids/0/kid additionalProperties: no field of this name; known fields are `kids`, `next`, `v` (kids?)",
            "/kids/0/kids/0/kids required: this field, which is required: an array",
        ],
    );
}

/// A type that is stricter than its schema.
#[derive(Debug, Deserialize, JsonSchema)]
struct Picky {
    #[serde(deserialize_with = "even")]
    #[allow(dead_code)]
    a: Vec<u8>,
}

fn even<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<u8>, D::Error> {
    let items = Vec::<u8>::deserialize(input)?;
    if items.iter().all(|item| item % 2 == 0) { Ok(items) } else { Err(serde::de::Error::custom("marker: odd")) }
}

#[test]
fn a_type_stricter_than_its_schema_still_says_where() {
    let told = explained::<Picky>(r#"{"a": [1]}"#);
    assert_eq!(lines(&told), ["/a decode: a value this field's type accepts"]);
    let told = explained::<Plain>(r#"{"name": "a", "name": "b", "times": 1, "loud": true}"#);
    assert_eq!(lines(&told), ["/name duplicate: each field once"]);
}

#[test]
fn a_text_that_is_no_json_is_told_so() {
    assert_eq!(lines(&explained::<Plain>("{")), [" json: a JSON document"]);
}

#[test]
fn an_absent_near_is_absent_from_the_json() {
    let told = explained::<String>("5");
    let json = serde_json::to_value(&told).unwrap();
    let issues = json!([{"pointer": "", "rule": "type", "expected": "a string"}]);
    assert_eq!(json["issues"], issues);
    assert_told::<Order>(json!(5), &[" enum: one of \"asc\", \"desc\""]);
}

#[test]
fn the_refused_value_is_never_told() {
    const SECRET: &str = "s3cr3t-marker";
    let inputs = [
        json!({"a": SECRET, "b": SECRET, "c": SECRET, "d": SECRET, "e": SECRET, "f": SECRET, "g": SECRET, "h": SECRET}),
        json!({"a": {"x": SECRET}, "b": [SECRET], "d": [SECRET, SECRET, SECRET]}),
        json!([SECRET]),
        json!(SECRET),
    ];
    let schemas = [
        input_schema::<Ruled>(),
        input_schema::<Internal>(),
        input_schema::<External>(),
        input_schema::<Untagged>(),
        input_schema::<Order>(),
        input_schema::<Plain>(),
        input_schema::<Tree>(),
        json!({"not": {}}),
        json!(false),
        json!({"contains": false, "propertyNames": false, "type": "null"}),
    ];
    for schema in schemas {
        let shape = InputShape::dynamic(schema).unwrap();
        for input in &inputs {
            let bytes = input.to_string();
            let told = explain(bytes.as_bytes(), &shape, &|_| false, &|_| None, &|| false);
            let text = serde_json::to_string(&told.issues).unwrap();
            assert!(!text.contains("s3cr3t"), "{text}");
        }
    }
}

#[test]
fn issues_are_few_and_short() {
    let unknown: serde_json::Map<String, Value> =
        (0..1000).map(|n| (format!("{n}-{}", "x".repeat(500)), json!(1))).collect();
    let told = explained::<Plain>(&Value::Object(unknown).to_string());
    assert!(told.issues.len() <= 30);
    let size: usize = told.issues.iter().map(|issue| serde_json::to_vec(issue).unwrap().len()).sum();
    assert!(size <= 4096, "{size}");
    for issue in &told.issues {
        assert!(issue.pointer.chars().count() <= 65, "{}", issue.pointer);
        assert!(issue.expected.chars().count() <= 200);
    }
    let many = json!(vec!["x"; 1000]);
    assert!(explained::<Vec<u8>>(&many.to_string()).issues.len() <= 30);
}

#[test]
fn a_union_of_named_types_is_explained_by_the_type_that_was_meant() {
    let schema = json!({
        "$defs": {
            "cat": {"type": "object", "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}}},
            "dog": {"type": "object", "properties": {"kind": {"const": "dog"}, "tricks": {"$ref": "#/$defs/names"}}},
            "names": {"type": "array", "items": {"type": "string"}}
        },
        "oneOf": [{"$ref": "#/$defs/cat"}, {"$ref": "#/$defs/dog"}]
    });
    let input = json!({"kind": "dog", "tricks": ["sit", 5]});
    assert_eq!(dynamic(schema.clone(), &input), ["/tricks/1 type: a string"]);
    let input = json!({"kind": "dgo"});
    assert_eq!(dynamic(schema, &input), ["/kind enum: one of \"cat\", \"dog\" (dog?)"]);
}

#[test]
fn references_of_every_kind_within_the_schema_are_followed() {
    let by = |reference: &str| {
        let schema = json!({
            "$id": "https://x.test/order.json",
            "$defs": {
                "an a": {"$anchor": "a", "type": "integer"},
                "b": {"$id": "parts/b.json", "$defs": {"c": {"type": "integer"}}, "$ref": "#/$defs/c"}
            },
            "properties": {"x": {"$ref": reference}}
        });
        dynamic(schema, &json!({"x": "y"})).join("; ")
    };
    for reference in [
        "#a",
        "#/$defs/an%20a",
        "order.json#a",
        "https://x.test/order.json#/$defs/an%20a",
        "parts/b.json",
        "/parts/b.json#/$defs/c",
    ] {
        assert_eq!(by(reference), "/x type: an integer", "{reference}");
    }
    let tree = json!({"$dynamicAnchor": "t", "properties": {"in": {"$dynamicRef": "#t"}}, "type": ["object", "null"]});
    assert_eq!(dynamic(tree, &json!({"in": {"in": 5}})), ["/in/in type: null or an object"]);
}

#[test]
fn a_reference_that_depends_on_the_way_to_it_is_followed() {
    let schema = json!({
        "$id": "https://x.test/list",
        "$ref": "base",
        "$defs": {
            "strings": {"$dynamicAnchor": "item", "type": "string"},
            "base": {
                "$id": "base",
                "items": {"$dynamicRef": "#item"},
                "$defs": {"any": {"$dynamicAnchor": "item"}}
            }
        }
    });
    assert_eq!(dynamic(schema, &json!([5])), ["/0 type: a string"]);
}

#[test]
fn a_member_may_have_the_name_of_a_keyword() {
    let schema = json!({
        "properties": {
            "$defs": {"type": "string"},
            "definitions": {"type": "string"},
            "enum": {"$ref": "#/$defs/n"},
            "default": {"$ref": "#/$defs/n"},
            "x-redress-ref": {"type": "string"}
        },
        "additionalProperties": false,
        "$defs": {"n": {"type": "integer"}},
        "x-redress-ref": "#/$defs/n"
    });
    let input = json!({"$defs": 5, "definitions": 5, "enum": "a", "default": "a", "x-redress-ref": "b"});
    assert_eq!(
        dynamic(schema, &input),
        ["/$defs type: a string", "/definitions type: a string", "/default type: an integer", "/enum type: an integer"]
    );
}

#[test]
fn a_value_that_should_be_a_schema_is_refused_without_details() {
    let schema = json!({"$ref": "https://json-schema.org/draft/2020-12/schema"});
    assert_eq!(dynamic(schema, &json!({"type": 5})), [" schema: a value that fits the schema"]);
}

#[test]
fn an_object_that_takes_no_fields_names_the_one_it_got() {
    let schema = json!({"type": "object", "additionalProperties": false});
    let expected = "/a additionalProperties: no field of this name; no fields are known";
    assert_eq!(dynamic(schema, &json!({"a": 1})), [expected]);
}

#[test]
fn an_explanation_that_nobody_waits_for_ends_with_what_it_has() {
    let shape = InputShape::dynamic(json!({"items": {"type": "integer"}})).unwrap();
    let told = |stop: &dyn Fn() -> bool| {
        let items: Vec<Value> = (0..5000).map(|n| if n % 1000 == 5 { json!("x") } else { json!(n) }).collect();
        let bytes = Value::Array(items).to_string();
        lines(&explain(bytes.as_bytes(), &shape, &|_| false, &|_| None, stop))
    };
    assert_eq!(told(&|| true), [" schema: a value that fits the schema"]);
    let asked = std::cell::Cell::new(0);
    let some = told(&|| asked.replace(asked.get() + 1) > 4);
    let all = told(&|| false);
    assert_eq!(all.len(), 5);
    assert!(!some.is_empty() && some.len() < all.len() && all.starts_with(&some), "{some:?}");
}
