//! Text that somebody else chose, made safe to be read in a terminal or a log.

use std::borrow::Cow;

/// Whether `c` does something to whoever shows it instead of showing: control characters of both sets (C0, C1 and DEL),
/// what turns the writing round (bidirectional controls), and what cannot be seen or looks like a space without being one, by
/// which two texts look alike. The wide space of East Asian writing (U+3000) is a letter among its own.
///
/// ```
/// use redress_core::is_unprintable;
///
/// assert!(is_unprintable('\u{1b}') && is_unprintable('\u{202e}') && !is_unprintable('ü'));
/// ```
pub fn is_unprintable(c: char) -> bool {
    c.is_control() || is_format(c) || (c.is_whitespace() && !matches!(c, ' ' | '\u{3000}'))
}

/// The format characters of Unicode (Cf), the two separators of lines, the letters and signs that fill a place with nothing,
/// what only changes the letter before it (joiners, variation selectors) or may be one of these in a later Unicode, and what
/// has no look of its own: private use, and numbers that are no characters.
fn is_format(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}'
        | '\u{8e2}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
        | '\u{e000}'..='\u{f8ff}' | '\u{fdd0}'..='\u{fdef}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffc}' | '\u{110bd}' | '\u{110cd}'
        | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{16fe4}' | '\u{1d159}' | '\u{e0000}'..='\u{e0fff}' | '\u{f0000}'..)
        || u32::from(c) & 0xfffe == 0xfffe
}

/// The text with everything in it that is unprintable written by its number, as JSON writes it. Ends of lines and tabs
/// stay. What was JSON is the same JSON afterwards.
///
/// ```
/// use redress_core::printable;
///
/// assert_eq!(printable("a\u{202e}b\u{1b}[2J\n"), "a\\u202eb\\u001b[2J\n");
/// assert_eq!(printable("\u{e0041}"), "\\udb40\\udc41");
/// assert_eq!(printable("a\u{fe0f}"), "a\\ufe0f");
/// assert_eq!(printable("a\u{a0}b\u{2800}"), "a\\u00a0b\\u2800");
/// assert_eq!(printable("grüße 😀"), "grüße 😀");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    let stays = |c: char| !is_unprintable(c) || matches!(c, '\n' | '\t');
    if text.chars().all(stays) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if stays(c) {
            shown.push(c);
        } else {
            push_escaped(c, &mut shown);
        }
    }
    Cow::Owned(shown)
}

/// Writes `c` by its number, as JSON writes it.
fn push_escaped(c: char, to: &mut String) {
    let mut units = [0; 2];
    c.encode_utf16(&mut units).iter().for_each(|unit| to.push_str(&format!("\\u{unit:04x}")));
}
