//! An input as a person is shown it who is asked to agree to a call.

use std::fmt::{self, Write as _};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{WrittenJson, written::JsonSink};
use crate::is_unprintable;

/// How much a person is shown at most, in characters. What takes more is not asked about.
const MAX: usize = 4_000;
/// From how many bytes on a text, a name or a number is shown by its two ends, and how many characters of each.
const LONG: usize = 400;
const END: usize = 120;

/// An input as a person can read it: every member and every item, and of a long text both ends and how many bytes are
/// between them. What would be shown otherwise than it is, or not at all, is escaped. Nothing where that is too much to
/// look through: in what is left out could be what the call is about.
pub(super) fn shown(input: &[u8]) -> Option<String> {
    let mut line = ShownText::default();
    let written = match WrittenJson::read(input) {
        Some(written) => written.write(&mut line),
        // What is no JSON is refused as soon as it is decoded.
        None => line.write_str(&String::from_utf8_lossy(input.get(..=4 * MAX).unwrap_or(input))),
    };
    written.ok()?;
    if line.is_cut {
        let digest: String = Sha256::digest(input).iter().map(|byte| format!("{byte:02x}")).collect();
        let size = input.len();
        line.text.push_str(&format!(
            "\nNot all of its texts is shown. The input has {size} bytes and the SHA-256 {digest}."
        ));
    }
    Some(line.text)
}

/// What is shown so far. It takes no more than may be shown.
#[derive(Default)]
struct ShownText {
    text: String,
    characters: usize,
    after_blank: bool,
    is_cut: bool,
}

impl ShownText {
    /// Both ends of what is long. The mark between them stands outside of the quotes of a text, where nobody who sends
    /// one can put it.
    fn cut(&mut self, whole: &str, write: impl Fn(&mut ShownText, &str) -> fmt::Result) -> fmt::Result {
        if whole.len() <= LONG {
            return write(self, whole);
        }
        self.is_cut = true;
        let start = whole.char_indices().nth(END).map_or(whole.len(), |(place, _)| place);
        let end = whole.char_indices().rev().nth(END - 1).map_or(0, |(place, _)| place).max(start);
        write(self, &whole[..start])?;
        self.write_str(&format!("…{} bytes…", end - start))?;
        write(self, &whole[end..])
    }
}

impl JsonSink for ShownText {
    fn text(&mut self, text: &str) -> fmt::Result {
        self.cut(text, |line, text| write!(line, "{}", Value::from(text)))
    }

    fn number(&mut self, number: &str) -> fmt::Result {
        self.cut(number, ShownText::write_str)
    }
}

impl fmt::Write for ShownText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for letter in text.chars() {
            let before = self.text.len();
            match letter {
                // Blanks in a row are shown as one by many a client.
                ' ' if !self.after_blank => self.text.push(letter),
                letter if letter.is_whitespace() || is_unprintable(letter) => {
                    self.text.extend(letter.escape_unicode());
                }
                letter => self.text.push(letter),
            }
            self.after_blank = letter == ' ';
            self.characters += self.text[before..].chars().count();
            if self.characters > MAX {
                return Err(fmt::Error);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(input: impl AsRef<[u8]>) -> String {
        shown(input.as_ref()).unwrap()
    }

    #[test]
    fn an_input_is_shown_as_it_is_and_what_is_left_out_is_told() {
        assert_eq!(told(" {\"path\" :\n\"a b\"}"), r#"{"path":"a b"}"#);
        assert_eq!(told("\"a\u{202e}b\u{a0}\""), r#""a\u{202e}b\u{a0}""#);
        let amount = r#"{"amount":340282366920938463463374607431768211455}"#;
        assert_eq!(told(amount), amount, "no digit is lost");
        let long = format!("[{}1]", " ".repeat(5_000));
        assert_eq!(told(long), "[1]", "blanks push nothing out of sight");
        assert_eq!(told("\"a   b\""), r#""a \u{20}\u{20}b""#, "nor do they look like fewer");
        assert_eq!(told("{no json"), "{no json");
        let long = format!("{{\"to\":\"{}\",\"amount\":1}}", "x".repeat(100_000));
        let shown = told(&long);
        let ends = "x".repeat(END);
        assert!(shown.contains(&format!("\"to\":\"{ends}\"…99760 bytes…\"{ends}\"")), "{shown}");
        assert!(shown.contains("\"amount\":1") && shown.contains("}\nNot all "), "{shown}");
        assert!(shown.contains("The input has 100020 bytes and the SHA-256 "), "{shown}");
    }

    #[test]
    fn what_looks_like_nothing_is_escaped() {
        let unseen = [
            "\u{34f}",
            "\u{600}",
            "\u{13430}",
            "\u{fe0f}",
            "\u{fff0}",
            "\u{e0100}",
            "\u{2800}",
            "\u{3000}",
            "\u{1680}",
            "\u{1d159}",
            "\u{16fe4}",
            "\u{e000}",
            "\u{f8ff}",
            "\u{f0000}",
            "\u{10fffd}",
            "\u{fffc}",
            "\u{ffff}",
            "\u{fdd0}",
            "\u{1ffff}",
            "\u{3164}",
        ];
        for letter in unseen {
            assert!(told(format!("\"{letter}\"")).starts_with("\"\\u{"), "{letter:?}");
        }
    }

    #[test]
    fn no_member_is_hidden_in_the_middle_of_others() {
        // Before and behind the member that matters there is more than fits; between texts that are cut it is shown.
        let filling = "y".repeat(50_000);
        let between =
            format!(r#"{{"a":"{filling}","deep":{{"b":"{filling}","pay":"all","c":["{filling}"]}},"d":"{filling}"}}"#);
        assert!(told(&between).contains(r#","pay":"all"}"#), "{}", told(&between));
        let many: String = (0..2_000).map(|place| format!(r#""m{place}":0,"#)).collect();
        let hidden = format!(r#"{{{many}"pay":"all",{many}"z":0}}"#);
        assert_eq!(shown(hidden.as_bytes()), None, "what nobody looks through is not asked about");
        let names = format!(r#"{{"{filling}":1}}"#);
        assert!(told(&names).contains("…49760 bytes…"), "a name is a text too");
        assert_eq!(shown(&vec![b' '; 100_000]), None);
        assert_eq!(shown("\u{2800}".repeat(3_000).as_bytes()), None, "what is escaped counts as it is shown");
    }

    #[test]
    fn nobody_can_write_the_mark_of_what_is_left_out() {
        let forged = r#"{"a":"x\"…5 bytes…\"y"}"#;
        assert_eq!(told(forged), forged, "the quotes of a text are escaped, and those beside the mark are not");
        let long = format!("\"{}\"", "\\\"".repeat(3_000));
        let ends = "\\\"".repeat(END);
        assert!(told(&long).starts_with(&format!("\"{ends}\"…2760 bytes…\"{ends}\"\n")), "{}", told(&long));
    }
}
