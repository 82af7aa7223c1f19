//! Patterns of operations: a name, with `*` for whatever stands there.

/// That a text cannot match any operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` matches no operation: write a name such as `files.read`, with `*` for any part of it")]
pub struct OperationPatternError {
    /// What was given.
    pub text: String,
}

/// A name with `*` for whatever stands there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OperationPattern(String);

impl OperationPattern {
    pub(super) fn new(text: &str) -> Result<OperationPattern, OperationPatternError> {
        let allowed =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'.' | b'*');
        if text.is_empty() || !text.bytes().all(allowed) {
            return Err(OperationPatternError { text: text.to_owned() });
        }
        Ok(OperationPattern(text.to_owned()))
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        let mut parts = self.0.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = name.strip_prefix(first) else { return false };
        let Some(last) = parts.next_back() else { return rest.is_empty() };
        // Each part is found as early as it can be, which leaves the most for the others.
        for part in parts {
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        rest.ends_with(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_part_of_a_name() {
        let matches = |pattern: &str, name: &str| OperationPattern::new(pattern).unwrap().matches(name);
        for (pattern, name) in [
            ("files.read", "files.read"),
            ("files.*", "files.read"),
            ("*", "files.read"),
            ("*.read", "files.read"),
            ("f*s.r*d", "files.read"),
            ("*e*e*", "files.read"),
            ("files.read*", "files.read"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("files.read", "files.reads"),
            ("files.*", "file.read"),
            ("*.read", "files.reads"),
            ("files.read*read", "files.read"),
            ("f*x*d", "files.read"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn what_can_match_nothing_is_refused() {
        for text in ["", "Files.read", "files read", "files.[a-z]"] {
            assert!(OperationPattern::new(text).is_err(), "{text}");
        }
    }
}
