//! Schemas: what strict readers compile, and what is admitted.

use std::collections::BTreeSet;

use redress_contract::{OperationDeclaration, Schema};
use serde_json::{Value, json};

use crate::documents::{Kept, all, one, read, with_paths};

/// Every schema of an operation.
fn schemas(operation: &OperationDeclaration) -> impl Iterator<Item = &Schema> {
    [operation.input(), operation.output()]
        .into_iter()
        .chain(operation.failures().iter().map(|failure| failure.details()))
}

#[test]
fn every_listed_schema_is_one_that_strict_readers_compile() {
    let unicode = regress::Flags { unicode: true, ..regress::Flags::default() };
    let mut seen = BTreeSet::new();
    for Kept { name, import, .. } in all() {
        for imported in &import.operations {
            for schema in schemas(&imported.operation) {
                let text = schema.as_value().to_string();
                if !seen.insert(text.clone()) {
                    continue;
                }
                let place = format!("{name} {}", imported.operation.name());
                jsonschema::draft202012::meta::validate(schema.as_value())
                    .unwrap_or_else(|error| panic!("{place}: {error}"));
                for words in schema.parts() {
                    for word in words.keys() {
                        assert!(
                            !["$ref", "$id", "$anchor", "example", "nullable", "discriminator", "xml", "oneOf"]
                                .contains(&word.as_str()),
                            "{place} {word}"
                        );
                        assert!(!word.starts_with("x-"), "{place} {word}");
                    }
                    if let Some(pattern) = words.get("pattern").and_then(Value::as_str) {
                        assert!(regress::Regex::with_flags(pattern, unicode).is_ok(), "{place} {pattern}");
                    }
                    assert_ne!(words.get("enum"), Some(&json!([])), "{place}");
                }
            }
        }
    }
    assert!(seen.len() > 2_000);
}

#[test]
fn what_the_whole_schema_admits_the_cut_one_admits() {
    // The documents' own examples are values that were not made for this.
    let mut looked = 0;
    for name in ["box.json", "github-rest-2022-10.yaml", "openai.yaml", "adyen-management-v3.json"] {
        let Kept { import, plain: root, .. } = one(name);
        for imported in &import.operations {
            let responses = root.pointer(&imported.pointer).and_then(|node| node.get("responses")?.as_object());
            for (status, response) in responses.into_iter().flatten().filter(|(status, _)| status.starts_with('2')) {
                let response = crate::documents::followed(root, response);
                let Some(media) = response.pointer("/content/application~1json") else { continue };
                let named = media.get("examples").and_then(Value::as_object).into_iter().flatten();
                let named = named.filter_map(|(_, example)| crate::documents::followed(root, example).get("value"));
                for value in media.get("example").into_iter().chain(named).take(2) {
                    let whole = import.full_output(imported);
                    let Ok(whole) = jsonschema::draft202012::new(whole.as_value()) else { panic!("{name} {status}") };
                    if whole.is_valid(value) {
                        let cut = jsonschema::draft202012::new(imported.operation.output().as_value()).unwrap();
                        assert!(cut.is_valid(value), "{name} {} {value}", imported.operation.name());
                        looked += 1;
                    }
                }
            }
        }
    }
    assert!(looked > 300, "{looked}");
}

/// The schema that a value of the body `{value: …}` has after it was read.
fn of_member(schema: &str) -> Value {
    let import = with_paths(&format!(
        "/a:\n  post:\n    requestBody: {{content: {{application/json: {{schema: {{type: object, properties: {{value: {schema}}}}}}}}}}}\n    responses: {{}}"
    ));
    import.operations[0].operation.input().property("value").cloned().unwrap_or_default()
}

#[test]
fn every_generation_is_said_in_one_form() {
    for (given, made) in [
        ("{type: string, nullable: true}", json!({"type": ["string", "null"]})),
        ("{type: string, enum: [a], nullable: true}", json!({"type": ["string", "null"], "enum": ["a", null]})),
        ("{type: integer, minimum: 1, exclusiveMinimum: true}", json!({"type": "integer", "exclusiveMinimum": 1})),
        ("{type: integer, minimum: 1, exclusiveMinimum: false}", json!({"type": "integer", "minimum": 1})),
        ("{type: integer, minimum: 5, maximum: 1}", json!({"type": "integer"})),
        ("{type: string, format: int64, example: 7, x-go-name: A, xml: {name: a}}", json!({"type": "string"})),
        ("{type: string, format: uuid}", json!({"type": "string", "format": "uuid"})),
        ("{type: String}", json!({"type": "string"})),
        ("{type: [string, 'null']}", json!({"type": ["string", "null"]})),
        ("{type: any}", json!({})),
        ("{type: string, enum: []}", json!({"type": "string"})),
        (
            "{type: array, items: [{type: string}, {type: integer}]}",
            json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}),
        ),
        ("{type: string, required: true}", json!({"type": "string"})),
        ("{type: string, pattern: '(?i)^a$'}", json!({"type": "string", "pattern": "^[aA]$"})),
        ("{type: string, pattern: '['}", json!({"type": "string"})),
        ("{oneOf: [{type: string}, {type: integer}]}", json!({"anyOf": [{"type": "string"}, {"type": "integer"}]})),
        ("{oneOf: [{type: string}, {}]}", json!({})),
        (
            "{allOf: [{type: object, properties: {a: {type: string}}}, {required: [a]}]}",
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
        ),
        ("{type: string, maxLength: -1, minLength: 1.0}", json!({"type": "string", "minLength": 1})),
        ("{type: string, const: a, nullable: true}", json!({"type": ["string", "null"], "enum": ["a", null]})),
    ] {
        assert_eq!(of_member(given), made, "{given}");
    }
}

#[test]
fn what_is_only_read_is_not_asked_for_and_what_is_only_written_does_not_come_back() {
    let import = read(
        r##"{"openapi": "3.0.0", "info": {"title": "a", "version": "1"}, "paths": {"/a": {"put": {
        "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/T"}}}},
        "responses": {"200": {"description": "", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/T"}}}}}
    }}}, "components": {"schemas": {"T": {"type": "object", "required": ["id", "secret"], "properties": {
        "id": {"type": "string", "readOnly": true}, "secret": {"type": "string", "writeOnly": true}}}}}}"##,
    );
    let operation = &import.operations[0].operation;
    assert_eq!(operation.input().properties().collect::<Vec<_>>(), ["secret"]);
    assert!(operation.input().requires("secret"));
    assert_eq!(operation.output().properties().collect::<Vec<_>>(), ["id"]);
    assert_eq!(operation.output().required().collect::<Vec<_>>(), ["id"]);
}

#[test]
fn a_recursive_schema_ends_open() {
    let import = read(
        r##"{"openapi": "3.1.0", "info": {"title": "a", "version": "1"}, "paths": {"/a": {"get": {
        "responses": {"200": {"description": "", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/T"}}}}}
    }}}, "components": {"schemas": {"T": {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/T"}}}}}}"##,
    );
    let operation = &import.operations[0];
    let mut schema = operation.operation.output().as_value();
    let mut depth = 0;
    while let Some(next) = schema.pointer("/properties/next") {
        schema = next;
        depth += 1;
    }
    assert_eq!((depth, schema), (8, &json!({"type": "object"})));
    let whole = import.full_output(operation);
    assert_eq!(whole.as_value()["$ref"], "#/$defs/T");
}
