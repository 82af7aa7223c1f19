//! What a face adds to the members of a problem.

use crate::Problem;

/// What stands before the message in the JSON of every bad ending.
pub(crate) const BEFORE_ERROR: &[u8] = br#"{"ok":false,"error":"#;

/// The members of a problem that is being written, open for those that a face adds.
///
/// What the envelope says already is copied, not written and escaped a second time.
#[derive(Debug)]
pub struct Members<'a> {
    problem: &'a Problem,
    body: &'a mut Vec<u8>,
}

impl<'a> Members<'a> {
    pub(crate) fn new(problem: &'a Problem, body: &'a mut Vec<u8>) -> Members<'a> {
        Members { problem, body }
    }

    /// The problem.
    pub fn problem(&self) -> &'a Problem {
        self.problem
    }

    /// Adds a member. `name` needs no escaping.
    pub fn text(&mut self, name: &'static str, value: &str) {
        self.name(name);
        // Writing a string to a `Vec` cannot fail.
        let _ = serde_json::to_writer(&mut *self.body, value);
    }

    /// Adds a member that is already written as JSON.
    pub fn json(&mut self, name: &'static str, value: &[u8]) {
        self.name(name);
        self.body.extend_from_slice(value);
    }

    /// Adds the message once more.
    pub fn error(&mut self, name: &'static str) {
        self.name(name);
        let end = BEFORE_ERROR.len() + error_json(self.body).len();
        self.body.extend_from_within(BEFORE_ERROR.len()..end);
    }

    /// Adds where the page about the code is once more.
    pub fn docs_url(&mut self, name: &'static str) {
        self.name(name);
        // A path of a code holds nothing to escape; one that came from elsewhere may.
        let plain = |byte: u8| (0x20..0x7F).contains(&byte) && byte != b'"' && byte != b'\\';
        let url: &str = &self.problem.docs_url;
        if url.bytes().all(plain) {
            self.body.push(b'"');
            self.body.extend_from_slice(url.as_bytes());
            self.body.push(b'"');
        } else {
            let _ = serde_json::to_writer(&mut *self.body, url);
        }
    }

    fn name(&mut self, name: &'static str) {
        self.body.extend_from_slice(b",\"");
        self.body.extend_from_slice(name.as_bytes());
        self.body.extend_from_slice(b"\":");
    }
}

/// The message in the JSON of a bad ending, with its quotes.
pub(crate) fn error_json(body: &[u8]) -> &[u8] {
    let text = body.get(BEFORE_ERROR.len()..).unwrap_or_default();
    let mut escaped = false;
    let end = text.iter().skip(1).position(|byte| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    });
    text.get(..end.map_or(0, |end| end + 2)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_is_found_in_the_json_whatever_it_holds() {
        for message in ["", "plain", "\"", "\\", "a \"quoted\" \\ path\\", "ä\n\u{1}😀", "\\\""] {
            let json = serde_json::to_string(message).unwrap();
            let body = format!(r#"{{"ok":false,"error":{json},"code":"X""#);
            assert_eq!(error_json(body.as_bytes()), json.as_bytes(), "{message:?}");
        }
        assert_eq!(error_json(b""), b"");
        assert_eq!(error_json(br#"{"ok":false,"error":"cut"#), b"");
    }
}
