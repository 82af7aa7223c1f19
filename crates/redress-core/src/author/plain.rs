//! A value as it stands in a message: text as it is, anything else as compact JSON.

use std::fmt::{self, Display, Write};

use serde::{
    Serialize, Serializer,
    ser::{Error, Impossible},
};

/// Writes `value` as a message shows it: a string as it is, every other value as compact
/// JSON. A client that has only the details makes the same text from them.
///
/// Words and whole numbers are written without a detour; a value that cannot be written
/// as JSON leaves a gap marked `?`.
pub fn plain<T: Serialize + ?Sized>(value: &T, out: &mut impl Write) -> fmt::Result {
    match value.serialize(PlainSerializer(out)) {
        Ok(()) => Ok(()),
        Err(NotPlain::Writer) => Err(fmt::Error),
        // Nothing has been written yet: only a leaf writes, and it writes all.
        Err(NotPlain::Structured) => match serde_json::to_string(value) {
            Ok(json) => out.write_str(&json),
            Err(_) => out.write_char('?'),
        },
    }
}

struct PlainSerializer<'a, W>(&'a mut W);

/// Why a value was not written.
#[derive(Debug)]
enum NotPlain {
    /// It is more than a word or a whole number.
    Structured,
    /// The writer refused.
    Writer,
}

impl Display for NotPlain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value was not written")
    }
}

impl std::error::Error for NotPlain {}

impl Error for NotPlain {
    fn custom<T: Display>(_: T) -> NotPlain {
        NotPlain::Structured
    }
}

impl From<fmt::Error> for NotPlain {
    fn from(_: fmt::Error) -> NotPlain {
        NotPlain::Writer
    }
}

type Structured = Impossible<(), NotPlain>;

macro_rules! whole {
    ($($method:ident: $number:ty),*) => {
        $(fn $method(self, number: $number) -> Result<(), NotPlain> {
            Ok(write!(self.0, "{number}")?)
        })*
    };
}

impl<W: Write> Serializer for PlainSerializer<'_, W> {
    type Ok = ();
    type Error = NotPlain;
    type SerializeSeq = Structured;
    type SerializeTuple = Structured;
    type SerializeTupleStruct = Structured;
    type SerializeTupleVariant = Structured;
    type SerializeMap = Structured;
    type SerializeStruct = Structured;
    type SerializeStructVariant = Structured;

    whole!(
        serialize_bool: bool,
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_i128: i128,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
        serialize_u128: u128
    );

    fn serialize_str(self, text: &str) -> Result<(), NotPlain> {
        Ok(self.0.write_str(text)?)
    }

    fn serialize_char(self, c: char) -> Result<(), NotPlain> {
        Ok(self.0.write_char(c)?)
    }

    fn collect_str<T: Display + ?Sized>(self, text: &T) -> Result<(), NotPlain> {
        Ok(write!(self.0, "{text}")?)
    }

    fn serialize_none(self) -> Result<(), NotPlain> {
        self.serialize_unit()
    }

    fn serialize_unit(self) -> Result<(), NotPlain> {
        Ok(self.0.write_str("null")?)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), NotPlain> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), NotPlain> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), NotPlain> {
        value.serialize(self)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), NotPlain> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), NotPlain> {
        Err(NotPlain::Structured)
    }

    // How JSON writes a fraction is JSON's own affair.
    fn serialize_f32(self, _: f32) -> Result<(), NotPlain> {
        Err(NotPlain::Structured)
    }

    fn serialize_f64(self, _: f64) -> Result<(), NotPlain> {
        Err(NotPlain::Structured)
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<(), NotPlain> {
        Err(NotPlain::Structured)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Structured, NotPlain> {
        Err(NotPlain::Structured)
    }

    fn serialize_tuple(self, _: usize) -> Result<Structured, NotPlain> {
        Err(NotPlain::Structured)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Structured, NotPlain> {
        Err(NotPlain::Structured)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Structured, NotPlain> {
        Err(NotPlain::Structured)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Structured, NotPlain> {
        Err(NotPlain::Structured)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Structured, NotPlain> {
        Err(NotPlain::Structured)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Structured, NotPlain> {
        Err(NotPlain::Structured)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use redress_contract::Template;
    use serde_json::{Value, json};

    use super::*;

    #[derive(Serialize)]
    enum Word {
        Bare,
        Of(u8),
    }

    #[derive(Serialize)]
    struct Wrapped(String);

    fn written<T: Serialize>(value: T) -> String {
        let mut out = String::new();
        plain(&value, &mut out).unwrap();
        out
    }

    fn rendered<T: Serialize>(value: T) -> String {
        let details = json!({"it": serde_json::to_value(value).unwrap()});
        Template::new("{it}").unwrap().render(details.as_object().unwrap())
    }

    macro_rules! same {
        ($($value:expr),* $(,)?) => {
            $(assert_eq!(written($value), rendered($value), "{}", stringify!($value));)*
        };
    }

    #[test]
    fn a_value_is_written_as_a_client_would_render_it_from_the_details() {
        same!(
            "a \"b\" {c}",
            'x',
            true,
            -1_i64,
            u64::MAX,
            1.0_f64,
            1e300_f64,
            f64::NAN,
            (),
            None::<u8>,
            Some("inner"),
            Some(vec![1, 2]),
            Word::Bare,
            Word::Of(1),
            Wrapped("text".into()),
            vec!["a"],
            (1, "b"),
            BTreeMap::from([("k", Value::Null)]),
            json!("text"),
            json!({"a": [1, 2.5]}),
        );
    }

    #[test]
    fn a_value_that_is_no_json_leaves_a_gap() {
        assert_eq!(written(BTreeMap::from([(vec![1], 1)])), "?");
    }
}
