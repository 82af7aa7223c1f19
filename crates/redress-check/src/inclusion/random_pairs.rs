//! Random pairs of schemas: what is said to lie within the other must not be shown to be wrong by any value that a search
//! finds, and every witness is real. `REDRESS_PAIRS=1000000 cargo test -p redress-check random_pairs` looks longer.

use std::collections::BTreeMap;

use fastrand::Rng;
use redress_contract::Schema;
use serde_json::{Map, Value, json};

use super::{
    Facet, Judge, Proof, SchemaAt, SchemaDocument,
    reading::tolerant,
    sample::{Sampler, ValuePool},
    witness::compiled,
};

/// How many pairs are compared where nobody says otherwise.
const PAIRS: u64 = 100;

/// Adds a keyword or two.
fn keyword(rng: &mut Rng, made: &mut Map<String, Value>, depth: usize) {
    let small = |rng: &mut Rng| json!(rng.i32(-2..6));
    let size = |rng: &mut Rng| json!(rng.u32(0..4));
    let names = ["a", "b", "c"];
    let (word, value) = match rng.u32(0..34) {
        0..=3 => {
            let types = ["null", "boolean", "object", "array", "number", "integer", "string"];
            let one = types[rng.usize(0..7)];
            let two = types[rng.usize(0..7)];
            ("type", if rng.bool() || one == two { json!(one) } else { json!([one, two]) })
        }
        4 => ("enum", json!([leaf(rng), leaf(rng), leaf(rng)])),
        5 => ("const", leaf(rng)),
        6 => ("minimum", small(rng)),
        7 => ("maximum", small(rng)),
        8 => ("exclusiveMinimum", if rng.bool() { small(rng) } else { json!(0.5) }),
        9 => ("exclusiveMaximum", small(rng)),
        10 => ("multipleOf", json!(rng.u32(1..5))),
        11 => ("minLength", size(rng)),
        12 => ("maxLength", size(rng)),
        13 => ("pattern", json!(["^a+$", "^[a-c]{2}$", "b"][rng.usize(0..3)])),
        14 => ("format", json!(["date", "uuid", "email"][rng.usize(0..3)])),
        15..=18 => {
            let mut members = Map::new();
            for name in names.into_iter().filter(|_| rng.bool()).collect::<Vec<_>>() {
                members.insert(name.to_owned(), schema(rng, depth + 1));
            }
            ("properties", Value::Object(members))
        }
        19 => {
            let required: Vec<&str> = names.into_iter().filter(|_| rng.bool()).collect();
            ("required", json!(required))
        }
        20 => ("additionalProperties", if rng.bool() { json!(false) } else { schema(rng, depth + 1) }),
        21 => ("minProperties", size(rng)),
        22 => ("maxProperties", size(rng)),
        23 => ("items", schema(rng, depth + 1)),
        24 => {
            if rng.bool() {
                ("minItems", size(rng))
            } else {
                ("maxItems", size(rng))
            }
        }
        25 => ("uniqueItems", json!(rng.bool())),
        26 => ("prefixItems", json!([schema(rng, depth + 1), schema(rng, depth + 1)])),
        27 => (["anyOf", "oneOf"][rng.usize(0..2)], json!([schema(rng, depth + 1), schema(rng, depth + 1)])),
        28 => ("allOf", json!([schema(rng, depth + 1), schema(rng, depth + 1)])),
        29 => ("not", schema(rng, depth + 1)),
        30 => {
            made.insert("then".to_owned(), schema(rng, depth + 1));
            ("if", schema(rng, depth + 1))
        }
        31 => match rng.u32(0..5) {
            0 => ("propertyNames", json!({"maxLength": rng.u32(0..3)})),
            1 => ("patternProperties", json!({"^a": schema(rng, depth + 1)})),
            2 => ("dependentRequired", json!({"a": ["b"]})),
            3 => ("contains", schema(rng, depth + 1)),
            _ => ("dependentSchemas", json!({"a": schema(rng, depth + 1)})),
        },
        32 => ("unevaluatedProperties", json!(false)),
        _ => ("$ref", json!(["#/$defs/tree", "#/$defs/other"][rng.usize(0..2)])),
    };
    made.insert(word.to_owned(), value);
}

fn leaf(rng: &mut Rng) -> Value {
    match rng.u32(0..7) {
        0 => Value::Null,
        1 => json!(rng.bool()),
        2 => json!(rng.i32(-2..6)),
        3 => json!(1.5),
        4 => json!({"a": 1}),
        _ => json!(["a", "bb", "ccc"][rng.usize(0..3)]),
    }
}

fn schema(rng: &mut Rng, depth: usize) -> Value {
    if depth > 3 || rng.u32(0..14) == 0 {
        return if rng.u32(0..6) == 0 { json!(false) } else { json!(true) };
    }
    let mut made = Map::new();
    for _ in 0..rng.u32(1..5 - u32::try_from(depth).unwrap()) {
        keyword(rng, &mut made, depth);
    }
    Value::Object(made)
}

/// The schema with one thing changed somewhere.
fn changed(rng: &mut Rng, schema_before: &Value, depth: usize) -> Value {
    let Value::Object(keywords) = schema_before else { return schema(rng, depth) };
    let mut keywords = keywords.clone();
    let below: Vec<String> = keywords.keys().filter(|word| *word != "$defs").cloned().collect();
    if let (true, Some(word)) = (rng.u32(0..3) > 0, rng.choice(&below)) {
        match keywords.get_mut(word) {
            Some(Value::Object(members)) if word == "properties" && !members.is_empty() => {
                let names: Vec<String> = members.keys().cloned().collect();
                let name = rng.choice(&names).unwrap();
                let inner = changed(rng, &members[name].clone(), depth + 1);
                members.insert(name.clone(), inner);
                return Value::Object(keywords);
            }
            Some(Value::Array(list)) if ["anyOf", "oneOf", "allOf"].contains(&word.as_str()) && !list.is_empty() => {
                let at = rng.usize(0..list.len());
                list[at] = changed(rng, &list[at].clone(), depth + 1);
                return Value::Object(keywords);
            }
            Some(inner @ Value::Object(_)) if ["items", "not", "additionalProperties"].contains(&word.as_str()) => {
                *inner = changed(rng, &inner.clone(), depth + 1);
                return Value::Object(keywords);
            }
            _ => {
                keywords.remove(word);
                if rng.bool() {
                    return Value::Object(keywords);
                }
            }
        }
    }
    keyword(rng, &mut keywords, depth);
    Value::Object(keywords)
}

fn with_definitions(mut schema: Value) -> Schema {
    if let Value::Object(keywords) = &mut schema {
        let tree = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/tree"}, "b": {"type": "integer"}}});
        keywords.insert("$defs".to_owned(), json!({"tree": tree, "other": {"minimum": 1}}));
    }
    Schema::new(schema)
}

#[test]
fn what_is_proved_is_not_shown_to_be_wrong_and_every_witness_is_real() {
    let pairs = std::env::var("REDRESS_PAIRS").ok().and_then(|text| text.parse().ok()).unwrap_or(PAIRS);
    let seed: u64 = std::env::var("REDRESS_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(18);
    let shared = BTreeMap::new();
    let (mut proved, mut shown, mut neither) = (0_u64, 0_u64, 0_u64);
    for pair in 0..pairs {
        let mut rng = Rng::with_seed(seed.wrapping_mul(1 << 32).wrapping_add(pair));
        let one = schema(&mut rng, 0);
        let other = if rng.u32(0..5) == 0 { schema(&mut rng, 0) } else { changed(&mut rng, &one, 0) };
        let (one, other) = (with_definitions(one), with_definitions(other));
        let one = SchemaDocument { schema: &one, shared: &shared };
        let other = SchemaDocument { schema: &other, shared: &shared };
        let is_tolerant = rng.bool();
        let about =
            || format!("pair {pair}, tolerant {is_tolerant}:\n{}\n{}", one.schema.as_value(), other.schema.as_value());
        let obstacles = Proof::obstacles(SchemaAt::root(&one), SchemaAt::root(&other), is_tolerant);
        let Some(judge) = Judge::new(&one, &other, is_tolerant) else { continue };
        let admits = compiled(one.schema.as_value()).unwrap();
        let read = if is_tolerant { tolerant(other.schema.as_value()) } else { other.schema.as_value().clone() };
        let refuses = compiled(&read).unwrap();
        if obstacles.is_empty() {
            proved += 1;
            let mut pool = ValuePool::default();
            pool.add(one.schema.as_value());
            pool.add(other.schema.as_value());
            let mut values = Sampler::new(&pool, None).values(SchemaAt::root(&one));
            values.extend(Sampler::new(&pool, None).values(SchemaAt::root(&other)));
            for value in values {
                assert!(!judge.shows(&value), "{} is a value of the one alone\n{}", value, about());
            }
            continue;
        }
        let mut found = false;
        for obstacle in obstacles.iter().take(4) {
            if let Some(witness) = judge.witness(obstacle) {
                found = true;
                assert!(admits.is_valid(&witness) && !refuses.is_valid(&witness), "{witness}\n{}", about());
                assert!(obstacle.facet == Facet::Additional || judge.shows(&witness), "{witness}\n{}", about());
            }
        }
        *(if found { &mut shown } else { &mut neither }) += 1;
    }
    let told = format!("{pairs} pairs: {proved} proved, {shown} with a witness, {neither} with neither");
    if std::env::var_os("REDRESS_PAIRS").is_some() {
        // A run that somebody has asked for says what it saw.
        std::fs::write(std::env::temp_dir().join("redress-pairs.txt"), &told).unwrap();
    }
    assert!(proved > pairs / 20 && shown > pairs / 5, "{told}");
}

#[test]
fn a_schema_lies_within_itself() {
    for seed in 0..200 {
        let mut rng = Rng::with_seed(seed);
        let schema = with_definitions(schema(&mut rng, 0));
        let shared = BTreeMap::new();
        let (one, other) = (schema.clone(), schema);
        let one = SchemaDocument { schema: &one, shared: &shared };
        let other = SchemaDocument { schema: &other, shared: &shared };
        if let (Value::Object(_), Some(_)) = (one.schema.as_value(), compiled(one.schema.as_value())) {
            for is_tolerant in [false, true] {
                let obstacles = Proof::obstacles(SchemaAt::root(&one), SchemaAt::root(&other), is_tolerant);
                assert!(obstacles.is_empty(), "{}: {obstacles:?}", one.schema.as_value());
            }
        }
    }
}
