//! Sets of the types of JSON, integers apart from other numbers.

use serde_json::Value;

/// A set of types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ValueTypes(u8);

/// Each type by its name, with the set that it is.
const NAMED: [(&str, ValueTypes); 7] = [
    ("null", ValueTypes::NULL),
    ("boolean", ValueTypes::BOOLEAN),
    ("object", ValueTypes::OBJECT),
    ("array", ValueTypes::ARRAY),
    ("number", ValueTypes::NUMBER),
    ("integer", ValueTypes::INTEGER),
    ("string", ValueTypes::STRING),
];

impl ValueTypes {
    pub(crate) const NONE: ValueTypes = ValueTypes(0);
    pub(crate) const ALL: ValueTypes = ValueTypes(0b111_1111);
    pub(crate) const NULL: ValueTypes = ValueTypes(1);
    pub(crate) const BOOLEAN: ValueTypes = ValueTypes(1 << 1);
    pub(crate) const OBJECT: ValueTypes = ValueTypes(1 << 2);
    pub(crate) const ARRAY: ValueTypes = ValueTypes(1 << 3);
    pub(crate) const INTEGER: ValueTypes = ValueTypes(1 << 4);
    /// Integers and all others.
    pub(crate) const NUMBER: ValueTypes = ValueTypes(0b11 << 4);
    pub(crate) const STRING: ValueTypes = ValueTypes(1 << 6);

    /// What a `type` keyword admits. A name that is no type admits nothing.
    pub(crate) fn of_keyword(keyword: &Value) -> ValueTypes {
        let one =
            |name: &Value| NAMED.iter().find(|(known, _)| name == *known).map_or(ValueTypes::NONE, |(_, types)| *types);
        match keyword.as_array() {
            Some(several) => several.iter().map(one).fold(ValueTypes::NONE, ValueTypes::or),
            None => one(keyword),
        }
    }

    /// The type of a value.
    pub(crate) fn of_value(value: &Value) -> ValueTypes {
        match value {
            Value::Null => ValueTypes::NULL,
            Value::Bool(_) => ValueTypes::BOOLEAN,
            Value::Number(number) if is_integer(number) => ValueTypes::INTEGER,
            // A set without integers: the rest of the numbers.
            Value::Number(_) => ValueTypes(ValueTypes::NUMBER.0 & !ValueTypes::INTEGER.0),
            Value::String(_) => ValueTypes::STRING,
            Value::Array(_) => ValueTypes::ARRAY,
            Value::Object(_) => ValueTypes::OBJECT,
        }
    }

    pub(crate) const fn or(self, other: ValueTypes) -> ValueTypes {
        ValueTypes(self.0 | other.0)
    }

    pub(crate) const fn and(self, other: ValueTypes) -> ValueTypes {
        ValueTypes(self.0 & other.0)
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) const fn within(self, other: ValueTypes) -> bool {
        self.0 & !other.0 == 0
    }

    pub(crate) const fn meets(self, other: ValueTypes) -> bool {
        self.0 & other.0 != 0
    }

    /// The smallest sets that it is made of.
    pub(crate) fn single(self) -> impl Iterator<Item = ValueTypes> {
        (0..7).map(|bit| ValueTypes(1 << bit)).filter(move |one| one.within(self))
    }
}

/// Whether a number has no fraction, however it is written.
pub(crate) fn is_integer(number: &serde_json::Number) -> bool {
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}
