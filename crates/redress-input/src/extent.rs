//! How deep a document nests and how much it holds, looked at before anything is made of it.
//!
//! This reads brackets, commas and strings and nothing else: whether the document is JSON is found out by who decodes
//! it, and what is no JSON may be measured wrongly here without harm.

/// How large a document may be, besides its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// How deep it may nest.
    pub depth: usize,
    /// How many members and items it may hold.
    pub members: usize,
}

/// Which bound a document passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// It nests too deep.
    Depth,
    /// It holds too many members and items.
    Members,
}

impl Extent {
    /// How deep the parser itself goes.
    pub const PARSER_DEPTH: usize = 127;

    /// Which bound `document` passes, if any. Most documents are too short to pass one, so they are not even read.
    pub fn passed_by(self, document: &[u8]) -> Option<Beyond> {
        // Each level takes two bytes, and so does each item.
        let may_nest = self.depth < Self::PARSER_DEPTH && document.len() / 2 > self.depth;
        let may_hold = document.len() / 2 > self.members;
        if may_nest || may_hold { self.measure(document) } else { None }
    }

    /// The same, whatever the parser would say.
    #[cold]
    pub fn measure(self, document: &[u8]) -> Option<Beyond> {
        let most_deep = self.depth.min(Self::PARSER_DEPTH);
        let (mut depth, mut members) = (0_usize, 0_usize);
        let mut opened = false;
        let mut bytes = document.iter();
        while let Some(byte) = bytes.next() {
            if byte.is_ascii_whitespace() {
                continue;
            }
            // What comes first in an array or object is a member of it, unless it closes it.
            members += usize::from(opened && !matches!(byte, b']' | b'}'));
            opened = false;
            match byte {
                b'[' | b'{' => {
                    depth += 1;
                    opened = true;
                }
                b']' | b'}' => depth = depth.saturating_sub(1),
                b',' => members += 1,
                b'"' => {
                    while bytes.next().is_some_and(|byte| match byte {
                        b'"' => false,
                        b'\\' => bytes.next().is_some(),
                        _ => true,
                    }) {}
                }
                _ => {}
            }
            if depth > most_deep {
                return Some(Beyond::Depth);
            }
            if members > self.members {
                return Some(Beyond::Members);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beyond(depth: usize, members: usize, document: &str) -> Option<Beyond> {
        Extent { depth, members }.passed_by(document.as_bytes())
    }

    #[test]
    fn depth_counts_arrays_and_objects_alike() {
        assert_eq!(beyond(2, 9, r#"{"a":[1]}"#), None);
        assert_eq!(beyond(1, 9, r#"{"a":[1]}"#), Some(Beyond::Depth));
        assert_eq!(beyond(2, 9, r#"[[],[],[[]]]"#), Some(Beyond::Depth));
    }

    #[test]
    fn members_are_counted_over_the_whole_document() {
        assert_eq!(beyond(9, 4, r#"{"a": [1, 2], "b": {}}"#), None);
        assert_eq!(beyond(9, 3, r#"{"a": [1, 2], "b": {}}"#), Some(Beyond::Members));
        assert_eq!(beyond(9, 2, "[ ]     "), None);
    }

    #[test]
    fn brackets_and_commas_in_text_count_for_nothing() {
        assert_eq!(beyond(1, 1, r#"["[[[,,,\"[[[,,,\\"]"#), None);
        assert_eq!(beyond(1, 1, r#"["\\","[[["]"#), Some(Beyond::Members));
    }

    #[test]
    fn what_is_no_json_is_measured_without_harm() {
        for document in ["]]]]]]]]", "\"", "\"\\", "[\"\\", "{{{{", "", "\\\\\\", ",,,,"] {
            let _ = beyond(1, 1, document);
        }
    }
}
