//! From bytes to a tree: JSON, and YAML in two readings.
//!
//! Of the YAML readers that are kept alive, none reads every real document rightly. `yaml_serde` gets the values right and
//! refuses one document in fifty (tabs in block scalars, control characters); `serde-saphyr` reads nearly all of those, and
//! turns some texts into numbers. So the second is asked only where the first refuses.

use std::{
    cell::{Cell, RefCell},
    fmt,
};

use serde::de::{self, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde_json::Number;

use super::{Members, Node, nesting};
use crate::{Limits, ReadError};

/// How deep documents may nest: what both parsers follow.
const MAX_DEPTH: usize = 128;
/// How many members that stand twice are told of.
const MAX_TWICE: usize = 20;

/// A document as a tree.
pub(crate) struct Parsed {
    pub(crate) node: Node,
    /// Names that stand twice in one object; the last one counts.
    pub(crate) twice: Vec<String>,
}

/// Reads `bytes`, as JSON if they look like it and else as YAML.
pub(crate) fn parse(bytes: &[u8], limits: Limits) -> Result<Parsed, ReadError> {
    if bytes.len() > limits.bytes {
        return Err(ReadError::TooLarge { size: bytes.len(), max: limits.bytes });
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| ReadError::Syntax { reason: error.to_string() })?;
    if text.trim_start().starts_with(['{', '[']) {
        let refused = match json(text, limits) {
            Ok(parsed) => return Ok(parsed),
            Err(refused @ ReadError::Syntax { .. }) => refused,
            Err(other) => return Err(other),
        };
        // YAML may begin like JSON. Where it is neither, what JSON says is said to whoever meant JSON.
        return yaml(text, limits).map_err(|_| refused);
    }
    yaml(text, limits)
}

fn json(text: &str, limits: Limits) -> Result<Parsed, ReadError> {
    let seen = Seen::new(limits, Merge::No);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = Seed(&seen).deserialize(&mut deserializer).and_then(|node| deserializer.end().map(|()| node));
    seen.judge(read)
}

fn yaml(text: &str, limits: Limits) -> Result<Parsed, ReadError> {
    nesting::check(text, MAX_DEPTH)?;
    match yaml_as_it_is(text, limits) {
        // YAML has no control characters, and documents have them: pasted from elsewhere into some description.
        Err(ReadError::Syntax { .. }) if text.contains(is_control) => {
            yaml_as_it_is(&text.replace(is_control, "\u{fffd}"), limits)
        }
        read => read,
    }
}

/// Whether YAML does not take a character, wherever it stands.
fn is_control(letter: char) -> bool {
    letter.is_control() && !matches!(letter, '\t' | '\n' | '\r' | '\u{85}')
}

fn yaml_as_it_is(text: &str, limits: Limits) -> Result<Parsed, ReadError> {
    let seen = Seen::new(limits, Merge::Yes);
    let read = Seed(&seen).deserialize(yaml_serde::Deserializer::from_str(text));
    let refused = match seen.judge(read) {
        Ok(parsed) => return Ok(parsed),
        Err(refused @ ReadError::Syntax { .. }) => refused,
        Err(other) => return Err(other),
    };
    let seen = Seen::new(limits, Merge::Yes);
    let read = serde_saphyr::with_deserializer_from_str_with_options(text, saphyr_options(limits), |deserializer| {
        Seed(&seen).deserialize(deserializer)
    });
    match seen.judge(read) {
        Ok(parsed) => Ok(parsed),
        Err(ReadError::Syntax { .. }) => Err(refused),
        Err(other) => Err(other),
    }
}

fn saphyr_options(limits: Limits) -> serde_saphyr::Options {
    let mut options = serde_saphyr::Options::default();
    options.strict_booleans = true;
    options.duplicate_keys = serde_saphyr::DuplicateKeyPolicy::LastWins;
    options.merge_keys = serde_saphyr::MergeKeyPolicy::AsOrdinary;
    options.with_snippet = false;
    let mut budget = serde_saphyr::Budget::default();
    budget.max_events = limits.values.saturating_mul(2);
    budget.max_nodes = limits.values;
    budget.max_total_scalar_bytes = limits.bytes;
    budget.max_depth = MAX_DEPTH;
    options.budget = Some(budget);
    options
}

/// Whether `<<` brings in the members of another object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Merge {
    Yes,
    No,
}

/// What is remembered while a tree is read.
struct Seen {
    left: Cell<usize>,
    max: usize,
    depth: Cell<usize>,
    too_deep: Cell<bool>,
    twice: RefCell<Vec<String>>,
    merge: Merge,
}

impl Seen {
    fn new(limits: Limits, merge: Merge) -> Seen {
        Seen {
            left: Cell::new(limits.values),
            max: limits.values,
            depth: Cell::new(0),
            too_deep: Cell::new(false),
            twice: RefCell::new(Vec::new()),
            merge,
        }
    }

    /// Counts one more value.
    fn count<E: de::Error>(&self) -> Result<(), E> {
        match self.left.get().checked_sub(1) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => Err(E::custom("too many values")),
        }
    }

    /// Reads what lies one level deeper.
    fn within<T, E: de::Error>(&self, read: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        if self.depth.get() >= MAX_DEPTH {
            self.too_deep.set(true);
            return Err(E::custom("nested too deep"));
        }
        self.depth.set(self.depth.get() + 1);
        let value = read();
        self.depth.set(self.depth.get() - 1);
        value
    }

    fn judge<E: fmt::Display>(self, read: Result<Node, E>) -> Result<Parsed, ReadError> {
        match read {
            Ok(node) => Ok(Parsed { node, twice: self.twice.into_inner() }),
            Err(_) if self.left.get() == 0 => Err(ReadError::TooManyValues { max: self.max }),
            Err(_) if self.too_deep.get() => Err(ReadError::TooDeep { max: MAX_DEPTH }),
            Err(error) => {
                let reason = error.to_string();
                // serde_json, yaml_serde and serde-saphyr have a limit of their own, and say so in words alone.
                if reason.contains("recursion limit") {
                    return Err(ReadError::TooDeep { max: MAX_DEPTH });
                }
                if reason.contains("repetition limit") {
                    return Err(ReadError::TooManyValues { max: self.max });
                }
                Err(ReadError::Syntax { reason: reason.chars().take(300).collect() })
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Seed<'s>(&'s Seen);

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        self.0.count()?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, yes: bool) -> Result<Node, E> {
        Ok(Node::Bool(yes))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Node, E> {
        Ok(Node::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Node, E> {
        Ok(Node::Number(number.into()))
    }

    #[expect(clippy::cast_precision_loss, reason = "a number that no 64 bits hold is a double everywhere in JSON")]
    fn visit_i128<E>(self, number: i128) -> Result<Node, E> {
        Ok(double(number as f64))
    }

    #[expect(clippy::cast_precision_loss, reason = "a number that no 64 bits hold is a double everywhere in JSON")]
    fn visit_u128<E>(self, number: u128) -> Result<Node, E> {
        Ok(double(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Node, E> {
        Ok(double(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::string(text))
    }

    fn visit_string<E>(self, text: String) -> Result<Node, E> {
        Ok(Node::string(text))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        self.0.within(|| {
            let mut items = Vec::new();
            while let Some(item) = access.next_element_seed(self)? {
                items.push(item);
            }
            Ok(Node::Array(items))
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        self.0.within(|| {
            let mut members = Members::new();
            let mut merged = Vec::new();
            while let Some(name) = access.next_key_seed(Name)? {
                let node = access.next_value_seed(self)?;
                if *name == *"<<" && self.0.merge == Merge::Yes {
                    merged.push(node);
                } else if members.contains(&name) {
                    let mut twice = self.0.twice.borrow_mut();
                    if twice.len() < MAX_TWICE {
                        twice.push(name.chars().take(80).collect());
                    }
                    members.insert(name, node);
                } else {
                    members.insert(name, node);
                }
            }
            merged.into_iter().for_each(|node| merge(&mut members, node));
            Ok(Node::Object(members))
        })
    }

    /// A tag of YAML that nobody here knows: the value below it counts.
    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<Node, A::Error> {
        let (_, variant) = access.variant_seed(Name)?;
        variant.newtype_variant_seed(self)
    }
}

/// Brings in the members of what stands under `<<`; what an object says itself is stronger.
fn merge(members: &mut Members, node: Node) {
    match node {
        Node::Object(others) => {
            for (name, node) in others.iter() {
                if !members.contains(name) {
                    members.insert(name, node.clone());
                }
            }
        }
        Node::Array(items) => items.into_iter().for_each(|item| merge(members, item)),
        Node::Null | Node::Bool(_) | Node::Number(_) | Node::String(_) => {}
    }
}

/// JSON has no number for what is not finite.
fn double(number: f64) -> Node {
    Number::from_f64(number).map_or_else(|| Node::string(number.to_string()), Node::Number)
}

/// The name of a member. In YAML `200:` and `on:` are names as well.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Box<str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Box<str>, D::Error> {
        deserializer.deserialize_any(Name)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Box<str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E>(self, text: &str) -> Result<Box<str>, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Box<str>, E> {
        Ok(text.into())
    }

    fn visit_bool<E>(self, yes: bool) -> Result<Box<str>, E> {
        Ok(yes.to_string().into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Box<str>, E> {
        Ok(number.to_string().into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Box<str>, E> {
        Ok(number.to_string().into())
    }

    fn visit_i128<E>(self, number: i128) -> Result<Box<str>, E> {
        Ok(number.to_string().into())
    }

    fn visit_u128<E>(self, number: u128) -> Result<Box<str>, E> {
        Ok(number.to_string().into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Box<str>, E> {
        Ok(number.to_string().into())
    }

    fn visit_unit<E>(self) -> Result<Box<str>, E> {
        Ok("null".into())
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Box<str>, D::Error> {
        deserializer.deserialize_any(self)
    }
}
