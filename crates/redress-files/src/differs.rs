//! Where a text is that is not in a file as it was written: but for line ends, indentation or other blanks.

use std::borrow::Cow;

use redress::data;

/// How much of the file's own text is shown to be copied.
const SHOWN: usize = 2_048;

/// In what the file differs from the text that was looked for.
#[data]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Differs {
    /// One has CRLF at the ends of lines, the other LF.
    LineEnds,
    /// Blanks at the ends of lines.
    TrailingBlanks,
    /// Blanks at the begins of lines: how many, or tabs for spaces.
    Indentation,
    /// Blanks within lines.
    Blanks,
}

/// A place that holds the text, but for blanks.
#[data]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LooseMatch {
    /// The first of its lines, counted from one.
    pub(crate) line: u64,
    /// How many lines it has.
    pub(crate) lines: u64,
    pub(crate) differs: Differs,
}

/// A difference, what makes two lines the same but for it, and what to say of it.
struct DifferenceRow {
    differs: Differs,
    form: fn(&str) -> Cow<'_, str>,
    says: &'static str,
}

/// What may differ, the least first.
const ROWS: [DifferenceRow; 4] = [
    DifferenceRow {
        differs: Differs::LineEnds,
        form: |line| line.strip_suffix('\r').unwrap_or(line).into(),
        says: "with other line ends",
    },
    DifferenceRow {
        differs: Differs::TrailingBlanks,
        form: |line| line.trim_end().into(),
        says: "with other blanks at the ends of lines",
    },
    DifferenceRow { differs: Differs::Indentation, form: |line| line.trim().into(), says: "with another indentation" },
    DifferenceRow {
        differs: Differs::Blanks,
        form: |line| line.split_whitespace().collect::<Vec<_>>().join(" ").into(),
        says: "with other blanks within a line",
    },
];

/// A place, what is said of it, and the lines as the file has them, unless they are too long to be shown.
pub(crate) struct LooseMatchReport {
    pub(crate) place: LooseMatch,
    pub(crate) hint: String,
    pub(crate) text: Option<String>,
}

/// The first place that holds `old` but for the least difference. It goes through `text` once for each.
pub(crate) fn find(text: &str, old: &str) -> Option<LooseMatchReport> {
    ROWS.iter().find_map(|row| {
        let wanted = formed(old, row.form);
        // Of nothing but blanks, every place would be one.
        if wanted.trim().is_empty() {
            return None;
        }
        let formed = formed(text, row.form);
        let before = formed.get(..formed.find(&wanted)?)?;
        let first = newlines(before);
        let lines = newlines(wanted.trim_end_matches('\n')) + 1;
        let place = LooseMatch { line: first + 1, lines, differs: row.differs };
        let shown = |count| usize::try_from(count).unwrap_or(usize::MAX);
        let text: String = text.split_inclusive('\n').skip(shown(first)).take(shown(lines)).collect();
        let hint = hint(&place, row.says, &text, old);
        Some(LooseMatchReport { place, hint, text: (text.len() <= SHOWN).then_some(text) })
    })
}

fn hint(place: &LooseMatch, says: &str, text: &str, old: &str) -> String {
    let line = place.line;
    match place.differs {
        Differs::LineEnds if text.contains("\r\n") && !old.contains('\r') => {
            format!("It is there at line {line}, where lines end with CRLF: write `\\r\\n` in `old` and `new`.")
        }
        Differs::LineEnds | Differs::TrailingBlanks | Differs::Indentation | Differs::Blanks => {
            format!("It is there at line {line}, {says}: copy it from there exactly.")
        }
    }
}

/// The text, each of its lines in this form.
fn formed(text: &str, form: fn(&str) -> Cow<'_, str>) -> String {
    let mut formed = String::with_capacity(text.len());
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            formed.push('\n');
        }
        formed.push_str(&form(line));
    }
    formed
}

fn newlines(text: &str) -> u64 {
    text.bytes().map(|byte| u64::from(byte == b'\n')).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differs(text: &str, old: &str) -> Option<(u64, u64, Differs)> {
        find(text, old).map(|found| (found.place.line, found.place.lines, found.place.differs))
    }

    #[test]
    fn the_least_difference_is_told_with_its_place() {
        let text = "x\r\nfn a() {\r\n\tone;  \r\n\ttwo;\r\n}\r\n";
        assert_eq!(differs(text, "fn a() {\n"), Some((2, 1, Differs::LineEnds)));
        assert_eq!(differs(text, "x\nfn a() {"), Some((1, 2, Differs::LineEnds)));
        assert_eq!(differs(text, "\tone;\n\ttwo;\n"), Some((3, 2, Differs::TrailingBlanks)));
        assert_eq!(differs(text, "    one;\n    two;"), Some((3, 2, Differs::Indentation)));
        assert_eq!(differs(text, "fn  a()  {"), Some((2, 1, Differs::Blanks)));
        assert_eq!(differs("a\nb\n", "a\r\nb\r\n"), Some((1, 2, Differs::LineEnds)));
        assert_eq!(differs(text, "three;"), None);
        assert_eq!(differs(text, "  \n"), None);
    }

    #[test]
    fn the_text_is_shown_as_it_is_unless_it_is_long_and_crlf_is_said() {
        let found = find("a\n    b();\n", "\tb();").unwrap();
        assert_eq!(found.text.as_deref(), Some("    b();\n"));
        assert_eq!(found.hint, "It is there at line 2, with another indentation: copy it from there exactly.");
        let found = find("a\r\nb\r\n", "a\nb\n").unwrap();
        assert!(found.hint.contains(r"CRLF: write `\r\n`"), "{}", found.hint);
        assert!(find(&"  long line\n".repeat(200), &"long line\n".repeat(200)).unwrap().text.is_none());
    }
}
