//! Lines that can be pasted into a shell.

use std::borrow::Cow;

use serde_json::Value;

use crate::terminal::output::is_harmful;

/// `text` as one word of a shell.
pub(crate) fn word(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:=@%+,-".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")))
}

/// `words` as one line.
pub(crate) fn line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(word).collect::<Vec<_>>().join(" ")
}

/// JSON that shows on a terminal as it is: what would not show is written by its number,
/// which to JSON is the same.
pub(crate) fn json(value: &Value) -> String {
    value.to_string().chars().fold(String::new(), |mut text, c| {
        if is_harmful(c) {
            text.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            text.push(c);
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_word_is_quoted_where_a_shell_would_read_more_than_it() {
        assert_eq!(word("files.list"), "files.list");
        assert_eq!(word(""), "''");
        assert_eq!(line(["redress", "call", r#"{"path":"it's"}"#]), r#"redress call '{"path":"it'\''s"}'"#);
    }

    #[test]
    fn json_on_a_terminal_stays_the_same_json() {
        let value = json!({"path": "a\u{9b}\u{202e}ä"});
        let text = super::json(&value);
        assert_eq!(text, "{\"path\":\"a\\u009b\\u202eä\"}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
