//! The patches that mend a refused input, and the cases that are left alone.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::explaining::explained;
use super::types::*;

#[derive(Debug, Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Search {
    query: String,
    page_size: Option<u8>,
    exact: Option<bool>,
    score: Option<f64>,
    order: Option<Order>,
    tags: Option<Vec<String>>,
    range: Option<Range>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Range {
    from: u8,
    upto: u8,
}

#[track_caller]
fn assert_fix<T: DeserializeOwned + JsonSchema>(input: Value, expected: Value) {
    let fix = explained::<T>(&input.to_string()).fix;
    assert_eq!(fix.map(Value::Array), Some(expected), "{input}");
}

#[track_caller]
fn assert_left_alone<T: DeserializeOwned + JsonSchema>(input: Value) {
    assert_eq!(explained::<T>(&input.to_string()).fix, None, "{input}");
}

#[test]
fn a_number_or_boolean_in_a_string_is_taken_out() {
    assert_fix::<Search>(
        json!({"query": "a", "page_size": "5"}),
        json!([{"op": "replace", "path": "/page_size", "value": 5}]),
    );
    assert_fix::<Search>(
        json!({"query": "a", "exact": "true"}),
        json!([{"op": "replace", "path": "/exact", "value": true}]),
    );
    assert_fix::<Search>(
        json!({"query": "a", "score": "0.5"}),
        json!([{"op": "replace", "path": "/score", "value": 0.5}]),
    );
}

#[test]
fn a_number_is_put_into_a_string() {
    assert_fix::<Search>(json!({"query": 5}), json!([{"op": "replace", "path": "/query", "value": "5"}]));
}

#[test]
fn a_number_keeps_its_digits_or_is_left_alone() {
    for (input, is_fixed) in [
        (r#"{"query": 12345678901234567890}"#, true),
        (r#"{"query": 12345678901234567890123}"#, false),
        (r#"{"query": 1e2}"#, false),
        (r#"{"query": "a", "score": "12345678901234567890123"}"#, false),
        (r#"{"query": "a", "score": "0.1000000000000000055"}"#, false),
        (r#"{"query": "a", "score": "0.1"}"#, true),
    ] {
        assert_eq!(explained::<Search>(input).fix.is_some(), is_fixed, "{input}");
    }
}

#[test]
fn a_number_inside_of_what_is_moved_about_keeps_its_digits_or_is_left_alone() {
    #[derive(Debug, Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Measured {
        values: Vec<f64>,
        at: Option<Range>,
    }
    for (input, is_fixed) in [
        (r#"{"values": 0.5}"#, true),
        (r#"{"values": 5}"#, true),
        (r#"{"values": 12345678901234567890123}"#, false),
        (r#"{"values": 0.1000000000000000055}"#, false),
        (r#"{"values": "[0.5, 2]"}"#, true),
        (r#"{"values": "[12345678901234567890123]"}"#, false),
        (r#"{"values": [0.1000000000000000055], "At": {"from": 1, "upto": 2}}"#, true),
    ] {
        assert_eq!(explained::<Measured>(input).fix.is_some(), is_fixed, "{input}");
    }
}

#[test]
fn of_what_stands_twice_none_is_chosen() {
    for input in [
        r#"{"query": "a", "zzz": 1, "Page_size": 5, "Page_size": 6}"#,
        r#"{"query": "a", "pageSize": 5, "pageSize": 6}"#,
        r#"{"query": "a", "range": "{\"from\": 1, \"from\": 2, \"upto\": 3}"}"#,
    ] {
        assert_eq!(explained::<Search>(input).fix, None, "{input}");
    }
}

#[test]
fn a_field_is_not_moved_past_the_nearest_name() {
    #[derive(Debug, Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Names {
        name: Option<String>,
        names: Option<String>,
        definitions: Option<String>,
        definition: Option<String>,
        size: Option<u8>,
    }
    assert_left_alone::<Names>(json!({"name": "a", "Name": "b"}));
    assert_left_alone::<Names>(json!({"name": "a", "name ": "b"}));
    assert_fix::<Names>(
        json!({"definitions": "x", "size": "5"}),
        json!([{"op": "replace", "path": "/size", "value": 5}]),
    );
    assert_fix::<Names>(json!({"Names": "a"}), json!([{"op": "move", "from": "/Names", "path": "/names"}]));
}

#[test]
fn a_choice_that_is_nearly_right_is_replaced() {
    for sent in ["ASC", "acs", "Asc"] {
        assert_fix::<Search>(
            json!({"query": "a", "order": sent}),
            json!([{"op": "replace", "path": "/order", "value": "asc"}]),
        );
    }
}

#[test]
fn a_field_name_that_is_nearly_right_is_moved() {
    for sent in ["pageSize", "page-size", "page_sise"] {
        assert_fix::<Search>(
            json!({"query": "a", sent: 5}),
            json!([{"op": "move", "from": format!("/{sent}"), "path": "/page_size"}]),
        );
    }
    assert_fix::<Search>(json!({"Query": "a"}), json!([{"op": "move", "from": "/Query", "path": "/query"}]));
}

#[test]
fn json_passed_as_a_string_is_unpacked() {
    assert_fix::<Search>(
        json!({"query": "a", "range": "{\"from\": 1, \"upto\": 2}"}),
        json!([{"op": "replace", "path": "/range", "value": {"from": 1, "upto": 2}}]),
    );
    assert_fix::<Search>(
        json!({"query": "a", "tags": "[\"x\"]"}),
        json!([{"op": "replace", "path": "/tags", "value": ["x"]}]),
    );
    assert_fix::<Search>(json!("{\"query\": \"a\"}"), json!([{"op": "replace", "path": "", "value": {"query": "a"}}]));
}

#[test]
fn a_single_value_becomes_a_list_of_one() {
    assert_fix::<Search>(
        json!({"query": "a", "tags": "x"}),
        json!([{"op": "replace", "path": "/tags", "value": ["x"]}]),
    );
}

#[test]
fn a_repair_that_shows_another_problem_goes_on() {
    assert_fix::<Search>(
        json!({"query": "a", "Range": "{\"From\": \"1\", \"upto\": 2}"}),
        json!([
            {"op": "move", "from": "/Range", "path": "/range"},
            {"op": "replace", "path": "/range", "value": {"From": "1", "upto": 2}},
            {"op": "move", "from": "/range/From", "path": "/range/from"},
            {"op": "replace", "path": "/range/from", "value": 1}
        ]),
    );
}

#[test]
fn what_is_not_certain_is_left_alone() {
    assert_left_alone::<Search>(json!({}));
    assert_left_alone::<Search>(json!({"query": "a", "page_size": 300}));
    assert_left_alone::<Search>(json!({"query": "a", "page_size": "five"}));
    assert_left_alone::<Search>(json!({"query": "a", "page_size": "300"}));
    assert_left_alone::<Search>(json!({"query": "a", "order": "ascending"}));
    assert_left_alone::<Search>(json!({"query": "a", "zebra": 1}));
    assert_left_alone::<Search>(json!({"query": "a", "page_size": 5, "pageSize": 6}));
    assert_left_alone::<Search>(json!({"query": "a", "pageSize": 5, "page-size": 6}));
    assert_left_alone::<Search>(json!({"query": null}));
    assert_left_alone::<Search>(json!({"query": true}));
    assert_left_alone::<Search>(json!({"query": "a", "tags": [null]}));
}

#[test]
fn a_patch_as_large_as_the_input_is_left_out() {
    let long = "x".repeat(3000);
    assert_left_alone::<Search>(json!({"query": "a", "tags": long}));
}

#[test]
fn a_fix_that_the_type_refuses_is_no_fix() {
    let shape = crate::InputShape::dynamic(crate::input_schema::<Search>()).unwrap();
    let told = crate::explain(br#"{"query": 5}"#, &shape, &|_| false, &|_| None, &|| false);
    assert_eq!(told.fix, None);
}
