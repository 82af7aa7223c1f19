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
    error_end: usize,
    /// Where the envelope's own members end.
    end: usize,
}

impl<'a> Members<'a> {
    pub(crate) fn new(problem: &'a Problem, body: &'a mut Vec<u8>, error_end: usize) -> Members<'a> {
        let end = body.len();
        Members { problem, body, error_end, end }
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
        self.body.extend_from_within(BEFORE_ERROR.len()..self.error_end);
    }

    /// Adds where the page about the code is once more.
    pub fn docs_url(&mut self, name: &'static str) {
        self.name(name);
        // It is the last member of the envelope, and stands there as it is if nothing in it
        // had to be escaped.
        let url: &str = &self.problem.docs_url;
        let start = self.end.saturating_sub(url.len() + 2);
        let there = self.body.get(start..self.end).and_then(|json| json.strip_prefix(b"\"")?.strip_suffix(b"\""));
        if there == Some(url.as_bytes()) {
            self.body.extend_from_within(start..self.end);
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

#[cfg(test)]
mod tests {
    use crate::{EngineCode, Envelope, Meta, Problem, RequestId};

    #[test]
    fn what_the_envelope_says_already_is_said_again_to_the_letter() {
        let page = EngineCode::Timeout.page();
        let example = page.split("```json").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        for text in ["", "plain", "\"", "\\", "a \"quoted\" \\ path\\", "ä\n\u{1}😀", "\\\""] {
            let mut problem: Problem = serde_json::from_str(example).unwrap();
            problem.error = text.to_owned().into();
            problem.docs_url = text.into();
            let request_id = RequestId::given("a").unwrap();
            let meta = Meta::new(request_id);
            let bytes = Envelope::failure(problem, None, meta).into_bytes_with(|members| {
                members.error("detail");
                members.docs_url("type");
                members.text("own", text);
            });
            let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
            for member in ["error", "detail", "docs_url", "type", "own"] {
                assert_eq!(json[member], text, "{member}");
            }
        }
    }
}
