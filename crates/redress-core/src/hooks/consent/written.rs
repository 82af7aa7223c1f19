//! A JSON document with its numbers as they were written.
//!
//! `serde_json::Value` holds a number of more digits than 64 bits take as a rounded one, by which two inputs would be
//! shown, and bound to a consent, as the same.

use std::fmt::{self, Display, Formatter};

use serde::de::IgnoredAny;
use serde_json::Value;

/// What the strings of the marked document begin with: those that were strings, names of members among them, and those
/// that were numbers.
const TEXT: u8 = b's';
const NUMBER: u8 = b'n';

/// A JSON document. It is shown without blanks, with its strings written in one way, and its numbers as they came.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WrittenJson(Value);

impl WrittenJson {
    /// Reads a document; nothing where it is none.
    pub(crate) fn read(document: &[u8]) -> Option<WrittenJson> {
        // Marked, what was no number could be read.
        serde_json::from_slice::<IgnoredAny>(document).ok()?;
        serde_json::from_slice(&marked(document)).ok().map(WrittenJson)
    }

    /// Writes it without blanks, piece by piece.
    pub(super) fn write(&self, to: &mut impl JsonSink) -> fmt::Result {
        write(&self.0, to)
    }

    /// The same document, however its members were ordered.
    pub(crate) fn sorted(mut self) -> WrittenJson {
        // A program may have switched on that members keep the order they came in.
        self.0.sort_all_objects();
        self
    }
}

/// The document with a mark in each string, and its numbers as strings.
fn marked(document: &[u8]) -> Vec<u8> {
    let mut marked = Vec::with_capacity(document.len() + document.len() / 4);
    let mut rest = document;
    while let Some((&first, after)) = rest.split_first() {
        let length = match first {
            b'"' => {
                marked.extend([b'"', TEXT]);
                let length = string(after);
                marked.extend(&after[..length]);
                length + 1
            }
            b'-' | b'0'..=b'9' => {
                let is_more = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                let length = rest.iter().take_while(|byte| is_more(byte)).count();
                marked.extend([b'"', NUMBER]);
                marked.extend(&rest[..length]);
                marked.push(b'"');
                length
            }
            other => {
                marked.push(other);
                1
            }
        };
        rest = &rest[length..];
    }
    marked
}

/// How many bytes of a string are left behind its first quote, with the last one.
fn string(after: &[u8]) -> usize {
    let mut is_escaped = false;
    let end = after.iter().position(|byte| {
        let ends = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        ends
    });
    end.map_or(after.len(), |end| end + 1)
}

/// What a document is written to: its texts, names of members among them, and its numbers come one by one.
pub(super) trait JsonSink: fmt::Write {
    /// A text, without its quotes.
    fn text(&mut self, text: &str) -> fmt::Result;

    /// A number as it came.
    fn number(&mut self, number: &str) -> fmt::Result;
}

impl JsonSink for Formatter<'_> {
    fn text(&mut self, text: &str) -> fmt::Result {
        Value::from(text).fmt(self)
    }

    fn number(&mut self, number: &str) -> fmt::Result {
        self.write_str(number)
    }
}

impl Display for WrittenJson {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

fn write(value: &Value, to: &mut impl JsonSink) -> fmt::Result {
    match value {
        Value::String(marked) => write_marked(marked, to),
        Value::Array(items) => {
            to.write_str("[")?;
            for (place, item) in items.iter().enumerate() {
                to.write_str(if place == 0 { "" } else { "," })?;
                write(item, to)?;
            }
            to.write_str("]")
        }
        Value::Object(members) => {
            to.write_str("{")?;
            for (place, (name, member)) in members.iter().enumerate() {
                to.write_str(if place == 0 { "" } else { "," })?;
                write_marked(name, to)?;
                to.write_str(":")?;
                write(member, to)?;
            }
            to.write_str("}")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => write!(to, "{value}"),
    }
}

fn write_marked(marked: &str, to: &mut impl JsonSink) -> fmt::Result {
    match marked.strip_prefix(char::from(NUMBER)) {
        Some(number) => to.number(number),
        None => to.text(marked.strip_prefix(char::from(TEXT)).unwrap_or(marked)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(document: &str) -> Option<String> {
        WrittenJson::read(document.as_bytes()).map(|written| written.to_string())
    }

    #[test]
    fn numbers_stay_as_they_were_written() {
        for number in [
            "0",
            "-0",
            "1.50",
            "1E+2",
            "18446744073709551617",
            "340282366920938463463374607431768211455",
            "0.10000000000000000000000000000001",
            "1e999",
        ] {
            let document = format!(r#"{{"amount":{number},"of":[{number},true,null]}}"#);
            assert_eq!(read(&document).as_ref(), Some(&document));
        }
    }

    #[test]
    fn what_is_a_string_stays_one_whatever_it_begins_with() {
        for text in [r#""n12""#, r#""s""#, r#""""#, r#""1""#, r#""a\"-1\\""#, r#"{"n1":"n1","s1":["\\","1"]}"#] {
            assert_eq!(read(text).as_deref(), Some(text));
        }
        assert_ne!(read("\"n1\""), read("1"));
        assert_eq!(
            read(" { \"\\u0061\" : \"\\u0062\" } ").as_deref(),
            Some(r#"{"a":"b"}"#),
            "strings are written in one way"
        );
    }

    #[test]
    fn what_is_no_document_is_not_read() {
        for broken in ["", "{", "01", "1.", "1.2.3", "-", "\"", "\"\\\"", "[1 2]", "1 2", "{1:2}", "\"\\ud800\""] {
            assert_eq!(read(broken), None, "{broken}");
        }
        assert!(WrittenJson::read(b"\"\xff\"").is_none());
        assert!(WrittenJson::read(&b"[".repeat(100_000)).is_none());
    }

    #[test]
    fn the_order_of_members_can_be_taken_away() {
        let sorted = |document: &str| WrittenJson::read(document.as_bytes()).unwrap().sorted().to_string();
        assert_eq!(sorted(r#"{"b":[{"d":1,"c":2}],"a":3}"#), r#"{"a":3,"b":[{"c":2,"d":1}]}"#);
    }
}
