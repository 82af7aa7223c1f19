//! The types that inputs are made of, one for each way serde and schemars describe a value.

#![allow(dead_code, reason = "these types are decoded and dropped")]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::num::NonZeroU8;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Plain {
    pub(super) name: String,
    pub(super) times: u32,
    pub(super) loud: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Nested {
    pub(super) who: Plain,
    pub(super) all: Vec<Plain>,
    pub(super) perhaps: Option<Plain>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Optional {
    pub(super) a: Option<String>,
    pub(super) b: Option<u8>,
    #[serde(default)]
    pub(super) c: i16,
    #[serde(default = "ten")]
    pub(super) d: u64,
    pub(super) e: Option<Order>,
    pub(super) f: Option<Documented>,
}

fn ten() -> u64 {
    10
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Defaulted {
    pub(super) a: String,
    pub(super) b: u8,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Renamed {
    pub(super) first_name: String,
    #[serde(rename = "type")]
    pub(super) kind: Order,
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    Asc,
    Desc,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) enum Documented {
    /// One.
    A,
    /// The other.
    B,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) enum External {
    A,
    B(u8),
    C { x: u8 },
    D(u8, u8),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "t")]
pub(super) enum Internal {
    A,
    B(Inner),
    C { x: u8 },
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "t", content = "c")]
pub(super) enum Adjacent {
    A,
    B(Inner),
    C { x: u8 },
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Untagged {
    B(Inner),
    C { x: u8, y: u8 },
    S(String),
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Inner {
    pub(super) a: u8,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Flattened {
    pub(super) b: u8,
    #[serde(flatten)]
    pub(super) inner: Inner,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct FlattenedEnum {
    pub(super) b: u8,
    #[serde(flatten)]
    pub(super) inner: Internal,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct FlattenedMap {
    pub(super) b: u8,
    #[serde(flatten)]
    pub(super) rest: HashMap<String, u8>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Maps {
    pub(super) a: HashMap<String, u8>,
    pub(super) b: BTreeMap<String, Inner>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Lists {
    pub(super) a: Vec<u8>,
    pub(super) b: BTreeSet<u8>,
    pub(super) c: [u8; 2],
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct FixedLists {
    pub(super) a: Vec<Option<u8>>,
    pub(super) c: [u8; 2],
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Pair(u8, String);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Newtype(u8);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct Transparent {
    pub(super) inner: Inner,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Letters {
    pub(super) a: char,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Integers {
    pub(super) a: u8,
    pub(super) b: i8,
    pub(super) c: u16,
    pub(super) d: i16,
    pub(super) e: u32,
    pub(super) f: i32,
    pub(super) g: u64,
    pub(super) h: i64,
    pub(super) i: usize,
    pub(super) j: isize,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Wide {
    pub(super) a: i128,
    pub(super) b: u128,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Reals {
    pub(super) a: f32,
    pub(super) b: f64,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Ruled {
    #[schemars(range(min = 1, max = 50))]
    pub(super) a: u32,
    #[schemars(length(min = 2, max = 4))]
    pub(super) b: String,
    #[schemars(regex(pattern = r"^\d+$"))]
    pub(super) c: Option<String>,
    #[schemars(length(min = 1, max = 2))]
    pub(super) d: Vec<Order>,
    #[schemars(extend("enum" = ["x", "y"]))]
    pub(super) e: String,
    #[schemars(range(min = 0.5, max = 1.5))]
    pub(super) f: f64,
    #[schemars(extend("multipleOf" = 5))]
    pub(super) g: i64,
    #[schemars(email)]
    pub(super) h: Option<String>,
}

/// The bounds are those of a `u8`, the type is wider.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct BoundedAsByte {
    #[schemars(range(min = 0, max = 255))]
    pub(super) a: u32,
    pub(super) b: NonZeroU8,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
pub(super) struct Open {
    pub(super) a: u8,
    pub(super) inner: Option<Inner>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Denying {
    pub(super) a: u8,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Tree {
    pub(super) v: u8,
    pub(super) kids: Vec<Tree>,
    pub(super) next: Option<Box<Tree>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Empty {}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Unit;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Anything {
    pub(super) a: Value,
    pub(super) b: serde_json::Map<String, Value>,
    #[schemars(with = "Value")]
    pub(super) c: Box<RawValue>,
    pub(super) d: Option<Value>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Aliased {
    #[serde(alias = "b")]
    pub(super) a: u8,
    pub(super) order: AliasedOrder,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) enum AliasedOrder {
    #[serde(alias = "B")]
    A,
}

/// Its decoder takes `"yes"` for `true` and `null` for nothing, and its schema says neither.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Lax {
    #[serde(deserialize_with = "truthy")]
    pub(super) a: bool,
    #[serde(default, deserialize_with = "null_as_default")]
    pub(super) b: u8,
}

fn truthy<'de, D: Deserializer<'de>>(input: D) -> Result<bool, D::Error> {
    let value = Value::deserialize(input)?;
    Ok(value == Value::Bool(true) || value == "yes")
}

fn null_as_default<'de, D: Deserializer<'de>>(input: D) -> Result<u8, D::Error> {
    Ok(Option::deserialize(input)?.unwrap_or_default())
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct CatchingAll {
    pub(super) a: WithOther,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) enum WithOther {
    A,
    #[serde(other)]
    B,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Demanding {
    #[schemars(required)]
    pub(super) a: Option<u8>,
    #[serde(default)]
    #[schemars(required)]
    pub(super) b: u8,
}
