//! Inputs made to break a decoder.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::types::*;
use crate::{DecodeError, InputShape, accept, decode, explain, input_schema, pointer_of};

fn documents() -> Vec<Vec<u8>> {
    let deep = |open: &str, close: &str| [open.repeat(5000), close.repeat(5000)].concat().into_bytes();
    vec![
        deep("[", "]"),
        deep("{\"a\":", "}"),
        deep("{\"kids\":[", "]}"),
        "[".repeat(100_000).into_bytes(),
        b"{\"a\":1e400}".to_vec(),
        b"{\"a\":-1e400}".to_vec(),
        format!("{{\"a\":{}}}", "9".repeat(5000)).into_bytes(),
        b"{\"a\":1e-400}".to_vec(),
        b"{\"a\":\"\\ud800\"}".to_vec(),
        b"{\"\\ud800\":1}".to_vec(),
        b"{\"a\":1,\"a\":2}".to_vec(),
        b"{\"a\":1,\"a\":\"x\"}".to_vec(),
        b"{\"a\":\"\\u0000\"}".to_vec(),
        b"{\"\\u0000\":1}".to_vec(),
        b"\0".to_vec(),
        b"{\"a\":\"\xff\xfe\"}".to_vec(),
        b"{\"\xff\":1}".to_vec(),
        b"\xef\xbb\xbf{}".to_vec(),
        b"{} {}".to_vec(),
        b"{}x".to_vec(),
        b"nul".to_vec(),
        b"{\"a\":NaN}".to_vec(),
        b"{\"a\":1,}".to_vec(),
        b"{\"$serde_json::private::RawValue\":\"{\"}".to_vec(),
        b"{\"$serde_json::private::Number\":\"1\"}".to_vec(),
        vec![b' '; 1000],
        Vec::new(),
    ]
}

fn survives<T: DeserializeOwned + JsonSchema>() {
    let shape = InputShape::typed::<T>(input_schema::<T>()).unwrap();
    for document in documents() {
        let found = decode::<T>(&document, &shape).err();
        let dynamic = accept(&document, &shape).err();
        let is_json = serde_json::from_slice::<serde_json::Value>(&document).is_ok();
        let blank = document.trim_ascii().is_empty();
        assert_eq!(found == Some(DecodeError::NotJson), !is_json && !blank);
        assert_eq!(dynamic == Some(DecodeError::NotJson), !is_json && !blank);
        if found.is_some() {
            let accepts = |bytes: &[u8]| decode::<T>(bytes, &shape).is_ok();
            let told = explain(&document, &shape, &accepts, &pointer_of::<T>, &|| false);
            assert!(!told.issues.is_empty());
            assert!(serde_json::to_vec(&told).unwrap().len() < 8192);
        }
    }
}

#[test]
fn no_document_makes_a_decoder_panic_or_hang() {
    survives::<Plain>();
    survives::<Ruled>();
    survives::<Open>();
    survives::<Tree>();
    survives::<Internal>();
    survives::<Untagged>();
    survives::<FlattenedMap>();
    survives::<Anything>();
    survives::<Wide>();
    survives::<serde_json::Value>();
}

#[test]
fn a_field_given_twice_is_refused_with_its_place_where_there_is_no_type_too() {
    let shape =
        InputShape::dynamic(serde_json::json!({"type": "object", "properties": {"a": {"type": "object"}}})).unwrap();
    let document = br#"{"a":{"role":"user","role":"admin"}}"#;
    assert_eq!(accept(document, &shape), Err(DecodeError::Refused));
    let told = explain(document, &shape, &|bytes| accept(bytes, &shape).is_ok(), &|_| None, &|| false);
    assert_eq!((told.issues[0].pointer.as_str(), told.issues[0].rule.as_str()), ("/a/role", "duplicate"));
    assert!(told.fix.is_none(), "which of the two was meant is for the caller to say");

    let shape = InputShape::typed::<Plain>(input_schema::<Plain>()).unwrap();
    let document = br#"{"a":1,"a":2}"#;
    assert_eq!(decode::<Plain>(document, &shape).err(), Some(DecodeError::Refused));
}

#[test]
fn a_field_given_twice_is_refused_where_the_type_takes_any_name() {
    #[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
    struct Open {
        #[expect(dead_code, reason = "only the decoding matters")]
        map: std::collections::BTreeMap<String, u8>,
        #[expect(dead_code, reason = "only the decoding matters")]
        any: Vec<serde_json::Value>,
    }
    let shape = InputShape::typed::<Open>(input_schema::<Open>()).unwrap();
    assert!(decode::<Open>(br#"{"map":{"a":1,"b":1},"any":[{"a":{"a":1}}]}"#, &shape).is_ok());
    for (document, place) in
        [(r#"{"map":{"a":1,"a":2},"any":[]}"#, "/map/a"), (r#"{"map":{},"any":[{"a":1,"a":2}]}"#, "/any/0/a")]
    {
        let document = document.as_bytes();
        assert_eq!(decode::<Open>(document, &shape).err(), Some(DecodeError::Refused));
        let told = explain(document, &shape, &|bytes| decode::<Open>(bytes, &shape).is_ok(), &|_| None, &|| false);
        assert_eq!((told.issues[0].pointer.as_str(), told.issues[0].rule.as_str()), (place, "duplicate"));
    }
}

#[test]
fn a_blank_input_is_an_empty_object() {
    let shape = InputShape::typed::<Empty>(input_schema::<Empty>()).unwrap();
    for blank in ["", " ", "\n\t "] {
        assert!(decode::<Empty>(blank.as_bytes(), &shape).is_ok());
    }
    let shape = InputShape::typed::<Optional>(input_schema::<Optional>()).unwrap();
    assert!(decode::<Optional>(b"", &shape).is_ok());
    let shape = InputShape::typed::<FlattenedMap>(input_schema::<FlattenedMap>()).unwrap();
    assert_eq!(decode::<FlattenedMap>(b"", &shape).err(), Some(DecodeError::Refused));
}

#[test]
fn a_tuple_with_an_item_too_many_is_refused_and_not_called_broken_json() {
    let shape = InputShape::typed::<Pair>(input_schema::<Pair>()).unwrap();
    assert_eq!(decode::<Pair>(b"[1, \"a\", 2]", &shape).err(), Some(DecodeError::Refused));
}

#[test]
fn an_integer_of_128_bits_keeps_all_of_them() {
    let shape = InputShape::typed::<Wide>(input_schema::<Wide>()).unwrap();
    let input = br#"{"a": -100000000000000000000000000000000000001, "b": 2e2}"#;
    let wide: Wide = decode(input, &shape).unwrap();
    assert_eq!(wide.a, -100_000_000_000_000_000_000_000_000_000_000_000_001);
    assert_eq!(wide.b, 200);
}

/// Every branch has the field that leads deeper, and the tag comes after it.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(tag = "type")]
#[allow(dead_code)]
enum Term {
    Not { arg: Box<Term> },
    Neg { arg: Box<Term> },
    Abs { arg: Box<Term> },
    Leaf,
}

#[test]
fn a_deep_document_of_a_union_that_contains_itself_is_explained_in_no_time() {
    let depth = 60;
    let open = "{\"type\":\"Abs\",\"arg\":".repeat(depth);
    let text = format!("{open}{{\"type\":\"Laef\"}}{}", "}".repeat(depth));
    let told = super::explaining::explained::<Term>(&text);
    assert_eq!(told.issues.len(), 1);
    assert_eq!(told.issues[0].pointer, format!("{}/type", "/arg".repeat(depth)));
    assert_eq!(told.issues[0].near.as_deref(), Some("Leaf"));
    assert!(told.fix.is_some());
}

#[test]
fn a_schema_that_goes_deeper_without_a_step_into_the_document_exhausts_no_stack() {
    // Each definition holds the next one against the same value, and says something of its own.
    let links = 3_000;
    let definitions: serde_json::Map<String, serde_json::Value> = (0..links)
        .map(|n| {
            let next = serde_json::json!({"$ref": format!("#/$defs/d{}", n + 1), "minLength": 1});
            let last = serde_json::json!({"type": "integer"});
            (format!("d{n}"), if n + 1 == links { last } else { next })
        })
        .collect();
    let schema = serde_json::json!({"$ref": "#/$defs/d0", "$defs": definitions});
    let tree = crate::tree::Tree::of(&schema.into());
    let budget = crate::budget::StepBudget::new(1_000_000, &|| false);
    let document = serde_json::json!("text");
    assert!(crate::walk::problems(&tree, &document, &budget, 30).is_empty());
    assert!(budget.is_spent(), "what was not looked at is not claimed");
}
