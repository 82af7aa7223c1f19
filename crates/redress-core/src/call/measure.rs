//! How large an output is that was too large to be written, and which of its members make it so.

use std::io;

use serde::Serialize;

/// How many of the largest members are told.
const TOLD: usize = 3;
/// How many bytes of a member's name are kept. Longer ones are not told.
const LONGEST_NAME: usize = 256;
/// How far an output is looked through: so many times the bytes that it may have, and so many bytes at least.
const TIMES: usize = 4;
const MIN: usize = 256 * 1024;

/// What is known of the size of an output.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Measured {
    /// How many bytes it has; nothing where there were too many to go on counting.
    pub(crate) size: Option<usize>,
    /// The largest members of its root, the largest first, with their bytes. Where the size is not known, the last
    /// one that was looked at has at least so many.
    pub(crate) largest: Vec<(String, usize)>,
}

/// Measures `value`, of which `max` bytes would have been written. Nothing of it is kept, and the work has an end like
/// writing it has.
pub(crate) fn measure<T: Serialize + ?Sized>(value: &T, max: usize) -> Measured {
    let mut scale = Scale { max: max.saturating_mul(TIMES).max(MIN), ..Scale::default() };
    let whole = serde_json::to_writer(&mut scale, value).is_ok();
    if !whole {
        scale.member_ends();
    }
    let Scale { bytes, mut largest, .. } = scale;
    largest.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    Measured { size: whole.then_some(bytes), largest }
}

/// Weighs the members of an object as its JSON goes by.
#[derive(Debug, Default)]
struct Scale {
    max: usize,
    bytes: usize,
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// Whether the root is an object: the members of anything else have no names.
    is_object: bool,
    /// The name of the member, in its quotes; while it is still to come, what there is of it.
    name: Vec<u8>,
    /// Where the value of the member began.
    value_at: Option<usize>,
    largest: Vec<(String, usize)>,
}

impl Scale {
    fn take(&mut self, byte: u8) {
        let at = self.bytes;
        self.bytes += 1;
        let named = self.is_object && self.depth == 1 && self.value_at.is_none();
        if self.in_string {
            if named {
                self.push_name(byte);
            }
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                if named {
                    self.name.clear();
                    self.push_name(byte);
                }
            }
            b':' if named => self.value_at = Some(at + 1),
            b'{' | b'[' => {
                self.is_object |= self.depth == 0 && byte == b'{';
                self.depth += 1;
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.bytes -= 1;
                    self.member_ends();
                    self.bytes += 1;
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b',' if self.depth == 1 => {
                self.bytes -= 1;
                self.member_ends();
                self.bytes += 1;
            }
            _ => {}
        }
    }

    fn push_name(&mut self, byte: u8) {
        if self.name.len() <= LONGEST_NAME {
            self.name.push(byte);
        }
    }

    /// The value of a member has ended before the byte that comes.
    fn member_ends(&mut self) {
        let Some(value_at) = self.value_at.take() else { return };
        let bytes = self.bytes.saturating_sub(value_at);
        if self.largest.len() == TOLD && self.largest.iter().all(|(_, largest)| *largest >= bytes) {
            return;
        }
        let Ok(name) = serde_json::from_slice::<String>(&self.name) else { return };
        if self.largest.len() == TOLD {
            let min = self.largest.iter().enumerate().min_by_key(|(_, (_, bytes))| *bytes).map(|(place, _)| place);
            min.map(|place| self.largest.swap_remove(place));
        }
        self.largest.push((name, bytes));
    }
}

impl io::Write for Scale {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.saturating_add(bytes.len()) > self.max {
            // A long text comes in one piece, and belongs to the member that is being weighed.
            self.bytes = self.bytes.saturating_add(bytes.len());
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        bytes.iter().for_each(|byte| self.take(*byte));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn largest(value: &Value) -> Vec<(String, usize)> {
        measure(value, 1 << 20).largest
    }

    #[test]
    fn the_largest_members_are_told_with_their_bytes_the_largest_first() {
        let value = json!({
            "a": [1, {"a,b": "}"}], "b\"\\é": "x,:{[\\\"", "c": null, "d": {"e": "f".repeat(99)}, "e": 7,
        });
        let members = value.as_object().unwrap();
        let mut expected: Vec<(String, usize)> =
            members.iter().map(|(name, value)| (name.clone(), value.to_string().len())).collect();
        expected.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        expected.truncate(TOLD);
        assert_eq!(largest(&value), expected);
        assert_eq!(measure(&value, 1 << 20).size, Some(value.to_string().len()));
    }

    #[test]
    fn what_has_no_named_members_is_only_measured() {
        for value in [json!([{"a": 1}, {"b": 2}]), json!("text, {\"a\":1}"), json!({}), json!(7), json!(null)] {
            let size = value.to_string().len();
            assert_eq!(measure(&value, 1 << 20), Measured { size: Some(size), largest: Vec::new() }, "{value}");
        }
    }

    #[test]
    fn measuring_ends_where_writing_it_would_have_been_far_too_much() {
        let value = json!({"a": "x".repeat(10), "b": (0..100_000).collect::<Vec<u32>>()});
        let Measured { size, largest } = measure(&value, 100);
        assert_eq!(size, None);
        assert!(largest[0].0 == "b" && (MIN - 100..MIN + 100).contains(&largest[0].1), "{largest:?}");
        let text = measure(&json!({"a": 1, "text": "x".repeat(MIN)}), 100);
        assert_eq!((text.size, &*text.largest[0].0, text.largest[0].1 >= MIN), (None, "text", true));
        let long = json!({"n".repeat(LONGEST_NAME): 1, "short": 1});
        assert_eq!(measure(&long, 1 << 20).largest, [("short".to_owned(), 1)]);
    }
}
