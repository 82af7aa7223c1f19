//! Schemas that are refused at registration, and what a shape says about values.

use serde_json::{Value, json};

use super::types::*;
use crate::{InputShape, SchemaError, accept, input_schema};

#[test]
fn a_bad_schema_is_refused_at_registration() {
    let keyword = [
        json!({"type": 5}),
        json!({"type": "strin"}),
        json!({"type": "string", "minLength": -1}),
        json!({"properties": []}),
        json!({"type": "object", "required": "a"}),
        json!({"type": "object", "properties": {"a": {"type": "string", "description": 5}}}),
        json!(5),
    ];
    for schema in keyword {
        let error = InputShape::dynamic(schema.clone()).err();
        assert!(matches!(error, Some(SchemaError::Keyword { .. })), "{schema}: {error:?}");
        let error = InputShape::typed::<Value>(schema.clone()).err();
        assert!(matches!(error, Some(SchemaError::Keyword { .. })), "{schema}: {error:?}");
    }
}

#[test]
fn a_pattern_that_could_stall_a_call_is_refused() {
    for pattern in ["(", "(?=a)b", r"(a)\1"] {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}});
        let error = InputShape::dynamic(schema).err();
        assert!(matches!(error, Some(SchemaError::Pattern { .. })), "{pattern}: {error:?}");
    }
}

#[test]
fn a_reference_that_leads_out_or_nowhere_is_refused() {
    for reference in ["https://example.com/schema.json", "file:///etc/passwd", "#/$defs/absent", "other.json"] {
        let error = InputShape::dynamic(json!({"properties": {"a": {"$ref": reference}}})).err();
        let says = error.map(|error| error.to_string()).unwrap_or_default();
        assert_eq!(says, format!("the reference `{reference}` cannot be resolved within the schema"));
    }
}

#[test]
fn keywords_that_bundling_takes_away_are_checked_before() {
    for schema in [json!({"$anchor": 5}), json!({"$anchor": "a b"}), json!({"properties": {"a": {"$id": "x#y"}}})] {
        let error = InputShape::dynamic(schema.clone()).err();
        assert!(error.is_some(), "{schema}");
    }
}

#[test]
fn a_schema_in_another_dialect_is_refused() {
    let schema = json!({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "integer"}]});
    let error = InputShape::dynamic(schema).err().map(|error| error.to_string());
    assert!(error.is_some_and(|error| error.contains("only draft 2020-12 is understood")));
    assert!(InputShape::dynamic(json!({"$schema": "https://json-schema.org/draft/2020-12/schema"})).is_ok());
}

#[test]
fn names_in_other_scripts_are_checked() {
    for (format, good, bad) in
        [("idn-email", "실례@실례.테스트", "no at sign"), ("idn-hostname", "실례.테스트", "〮실례.테스트")]
    {
        let shape = InputShape::dynamic(json!({"type": "string", "format": format})).unwrap();
        assert!(shape.is_valid(&json!(good)) && !shape.is_valid(&json!(bad)), "{format}");
    }
}

#[test]
fn a_shape_tells_the_first_error_of_a_value() {
    let shape = InputShape::dynamic(input_schema::<Plain>()).unwrap();
    let good = json!({"name": "a", "times": 1, "loud": true});
    assert!(shape.is_valid(&good));
    assert_eq!(shape.first_error(&good), None);
    let bad = json!({"name": "a", "times": -1, "loud": true});
    assert!(!shape.is_valid(&bad));
    assert_eq!(shape.first_error(&bad), Some(("/times".to_owned(), "minimum".to_owned())));
}

#[test]
fn an_operation_declared_as_data_accepts_by_its_schema() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    let shape = InputShape::dynamic(schema).unwrap();
    assert_eq!(accept(br#"{"a": 1, "b": 2}"#, &shape).ok(), Some(json!({"a": 1, "b": 2})));
    assert!(accept(b"", &shape).is_err());
}
