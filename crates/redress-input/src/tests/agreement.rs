//! What is advertised is what is accepted, type by type and value by value.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::types::*;
use crate::shape::InputCheck;
use crate::{InputShape, decode, input_schema};

/// Values of every kind, for every type.
fn pool() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(-1),
        json!(255),
        json!(256),
        json!(1.0),
        json!(1.5),
        json!(1e2),
        json!(-0.0),
        json!(1e20),
        json!(1e300),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(""),
        json!("a"),
        json!("A"),
        json!("asc"),
        json!("Asc"),
        json!("ab"),
        json!("é"),
        json!("日本"),
        json!([]),
        json!([1]),
        json!([1, "a"]),
        json!([1, "a", 2]),
        json!([1, 2]),
        json!([null]),
        json!({}),
        json!({"a": 1}),
        json!({"a": 1.0}),
        json!({"a": 1, "b": 2}),
        json!({"a": 256}),
        json!({"a": null}),
        json!({"a": "x"}),
        json!({"a": [1, 2]}),
        json!({"A": null}),
        json!({"asc": null}),
        json!({"": 1}),
        json!({"a": {"a": 1}}),
        json!({"zzz": 1}),
        json!({"t": "A"}),
        json!({"t": "Z"}),
    ]
}

/// Every value that comes of `value` by putting one of the pool in place of one of its parts, by
/// leaving a part out, or by adding one.
fn variations(value: &Value) -> Vec<Value> {
    let mut all = pool();
    all.push(value.clone());
    match value {
        Value::Object(fields) => {
            let mut more = fields.clone();
            more.insert("surplus".to_owned(), json!(1));
            all.push(Value::Object(more));
            all.push(Value::Array(fields.values().cloned().collect()));
            for (name, field) in fields {
                let mut less = fields.clone();
                less.remove(name);
                all.push(Value::Object(less));
                for other in variations(field) {
                    let mut changed = fields.clone();
                    changed.insert(name.clone(), other);
                    all.push(Value::Object(changed));
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let mut less = items.clone();
                less.remove(index);
                all.push(Value::Array(less));
                for other in variations(item) {
                    let mut changed = items.clone();
                    if let Some(place) = changed.get_mut(index) {
                        *place = other;
                    }
                    all.push(Value::Array(changed));
                }
            }
            let mut more = items.clone();
            more.extend(items.first().cloned());
            all.push(Value::Array(more));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    all
}

/// How a shape is checked.
#[derive(Debug, PartialEq)]
enum Way {
    Plain,
    Guided,
    Validated,
}

#[track_caller]
fn agree<T: DeserializeOwned + JsonSchema>(way: Way, samples: &[Value]) {
    let schema = input_schema::<T>();
    let shape = InputShape::typed::<T>(schema.clone()).unwrap();
    let found = match shape.check() {
        InputCheck::Plain => Way::Plain,
        InputCheck::Guided(_) => Way::Guided,
        InputCheck::Validated => Way::Validated,
    };
    assert_eq!(found, way, "{schema:#}");
    let independent = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
    for sample in samples {
        assert!(independent.is_valid(sample), "{sample} by {schema:#}");
        for value in variations(sample) {
            let text = value.to_string();
            let advertised = independent.is_valid(&value);
            let accepted = decode::<T>(text.as_bytes(), &shape).is_ok();
            assert_eq!(accepted, advertised, "accepted, advertised: {text} by {schema:#}");
        }
    }
}

#[test]
fn structs_agree() {
    let plain = json!({"name": "Ada", "times": 3, "loud": true});
    agree::<Plain>(Way::Plain, std::slice::from_ref(&plain));
    let nested = json!({"who": plain, "all": [plain], "perhaps": plain});
    agree::<Nested>(Way::Plain, &[nested]);
    agree::<Renamed>(Way::Plain, &[json!({"firstName": "a", "type": "asc"})]);
    agree::<Denying>(Way::Plain, &[json!({"a": 1})]);
    agree::<Transparent>(Way::Plain, &[json!({"a": 1})]);
    agree::<Empty>(Way::Plain, &[json!({})]);
    agree::<Unit>(Way::Plain, &[json!(null)]);
    agree::<()>(Way::Plain, &[json!(null)]);
}

#[test]
fn optional_and_defaulted_fields_agree() {
    let all = json!({"a": "a", "b": 1, "c": 1, "d": 1, "e": "asc", "f": "A"});
    agree::<Optional>(Way::Plain, &[json!({}), all]);
    agree::<Defaulted>(Way::Plain, &[json!({}), json!({"a": "a", "b": 1})]);
    agree::<Option<Plain>>(Way::Plain, &[json!(null)]);
}

#[test]
fn enums_agree() {
    agree::<Order>(Way::Plain, &[json!("asc")]);
    agree::<Documented>(Way::Plain, &[json!("A")]);
    let external = [json!("A"), json!({"B": 1}), json!({"C": {"x": 1}}), json!({"D": [1, 2]})];
    agree::<External>(Way::Validated, &external);
    let internal = [json!({"t": "A"}), json!({"t": "B", "a": 1}), json!({"t": "C", "x": 1})];
    agree::<Internal>(Way::Validated, &internal);
    let adjacent = [json!({"t": "A"}), json!({"t": "B", "c": {"a": 1}}), json!({"t": "C", "c": {"x": 1}})];
    agree::<Adjacent>(Way::Validated, &adjacent);
    let untagged = [json!({"a": 1}), json!({"x": 1, "y": 2}), json!("s")];
    agree::<Untagged>(Way::Validated, &untagged);
}

#[test]
fn flattened_types_agree() {
    agree::<Flattened>(Way::Validated, &[json!({"a": 1, "b": 2})]);
    let with_enum = [json!({"b": 1, "t": "A"}), json!({"b": 1, "t": "B", "a": 1}), json!({"b": 1, "t": "C", "x": 1})];
    agree::<FlattenedEnum>(Way::Validated, &with_enum);
    agree::<FlattenedMap>(Way::Validated, &[json!({"b": 1, "c": 2})]);
}

#[test]
fn lists_and_maps_agree() {
    agree::<Maps>(Way::Plain, &[json!({"a": {"x": 1}, "b": {"y": {"a": 1}}})]);
    agree::<Lists>(Way::Validated, &[json!({"a": [1], "b": [1, 2], "c": [1, 2]})]);
    agree::<FixedLists>(Way::Plain, &[json!({"a": [1, null], "c": [1, 2]})]);
    agree::<Vec<Plain>>(Way::Plain, &[json!([{"name": "a", "times": 1, "loud": true}])]);
    agree::<Pair>(Way::Plain, &[json!([1, "a"])]);
    agree::<(u8, Inner)>(Way::Plain, &[json!([1, {"a": 1}])]);
    agree::<Newtype>(Way::Plain, &[json!(1)]);
}

#[test]
fn scalars_agree() {
    agree::<Letters>(Way::Plain, &[json!({"a": "x"})]);
    let one = json!({"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1, "h": 1, "i": 1, "j": 1});
    agree::<Integers>(Way::Plain, &[one]);
    agree::<Wide>(Way::Guided, &[json!({"a": 1, "b": 1})]);
    agree::<Reals>(Way::Plain, &[json!({"a": 1, "b": 1.5})]);
    agree::<String>(Way::Plain, &[json!("a")]);
    agree::<Value>(Way::Plain, &[json!("a")]);
    let anything = json!({"a": 1, "b": {"x": [1]}, "c": {"y": 1}, "d": null});
    agree::<Anything>(Way::Plain, &[anything]);
}

#[test]
fn rules_agree() {
    let full = json!({
        "a": 50, "b": "ab", "c": "12", "d": ["asc"], "e": "x", "f": 1.5, "g": 10, "h": "a@example.com"
    });
    let bare = json!({"a": 1, "b": "日本日本", "d": ["asc", "desc"], "e": "y", "f": 0.5, "g": -5});
    agree::<Ruled>(Way::Guided, &[full, bare]);
    agree::<BoundedAsByte>(Way::Guided, &[json!({"a": 255, "b": 1})]);
}

#[test]
fn open_and_recursive_types_agree() {
    let open = json!({"a": 1, "inner": {"a": 1}, "more": {"deep": [1]}});
    agree::<Open>(Way::Guided, &[open]);
    let leaf = json!({"v": 1, "kids": []});
    agree::<Tree>(Way::Validated, &[json!({"v": 1, "kids": [leaf], "next": leaf})]);
}

#[test]
fn a_type_that_accepts_more_than_its_schema_is_held_to_the_schema() {
    agree::<Aliased>(Way::Validated, &[json!({"a": 1, "order": "A"})]);
    agree::<AliasedOrder>(Way::Guided, &[json!("A")]);
    agree::<Lax>(Way::Validated, &[json!({"a": true, "b": 1})]);
    agree::<CatchingAll>(Way::Validated, &[json!({"a": "A"})]);
    agree::<Demanding>(Way::Validated, &[json!({"a": 1, "b": 1})]);
}
