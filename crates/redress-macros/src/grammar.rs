//! The grammars that the contract also checks: codes, operation names, JSON pointers.
//!
//! They stand here a second time because a mistake that can be seen while compiling
//! should not wait for the registry.

/// The codes that the call path itself answers with, one a line.
const ENGINE_CODES: &str = include_str!("engine_codes.txt");

/// The longest a code may be.
pub(crate) const LONGEST_CODE: usize = 63;

/// The longest an operation's name may be.
const LONGEST_NAME: usize = 64;

/// Whether the engine owns `code`.
pub(crate) fn is_engine_code(code: &str) -> bool {
    ENGINE_CODES.lines().any(|line| line == code)
}

/// The code of the variant `name`: `FileNotFound` is FILE_NOT_FOUND.
pub(crate) fn code_of(name: &str) -> String {
    words(name).join("_").to_uppercase()
}

/// Whether `text` is a code without a namespace.
pub(crate) fn is_code(text: &str) -> bool {
    text.len() <= LONGEST_CODE
        && text.starts_with(|c: char| c.is_ascii_uppercase())
        && text
            .split('_')
            .all(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit()))
}

/// Whether `text` is a code, an extension's included: `ns.CODE`.
pub(crate) fn is_any_code(text: &str) -> bool {
    match text.split_once('.') {
        Some((namespace, code)) => {
            namespace.starts_with(|c: char| c.is_ascii_lowercase())
                && namespace.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
                && is_code(code)
        }
        None => is_code(text),
    }
}

/// Whether `text` is an operation's name: `files.read`.
pub(crate) fn is_name(text: &str) -> bool {
    text.len() <= LONGEST_NAME
        && text.contains('.')
        && text.split('.').all(|segment| {
            segment.starts_with(|c: char| c.is_ascii_lowercase())
                && segment.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        })
}

/// Whether `text` points into a JSON document (RFC 6901), and not at the whole of it.
pub(crate) fn is_pointer(text: &str) -> bool {
    let tildes = text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    text.starts_with('/') && tildes
}

/// The words of a camel-case name. A run of capitals is one word, up to the capital
/// that begins the next; digits belong to the word before them.
fn words(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let mut words: Vec<String> = Vec::new();
    for (place, c) in chars.iter().copied().enumerate() {
        let before = place.checked_sub(1).and_then(|before| chars.get(before)).copied();
        let after = chars.get(place + 1).copied();
        let begins = match before {
            None | Some('_') => true,
            Some(before) => c.is_uppercase() && (!before.is_uppercase() || after.is_some_and(char::is_lowercase)),
        };
        match words.last_mut() {
            _ if c == '_' => {}
            Some(word) if !begins => word.push(c),
            Some(_) | None => words.push(c.to_string()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_gives_its_code() {
        for (name, code) in [
            ("FileNotFound", "FILE_NOT_FOUND"),
            ("HTTPError", "HTTP_ERROR"),
            ("Utf8Bad", "UTF8_BAD"),
            ("BadHTTP", "BAD_HTTP"),
            ("A1B", "A1_B"),
            ("Gone", "GONE"),
        ] {
            assert_eq!(code_of(name), code, "{name}");
        }
    }

    #[test]
    fn names_codes_and_pointers_are_what_the_contract_says() {
        for good in ["files.read", "fs.sub.read_file"] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "read", "files.Read", "files/read", "a..b", "a.1b"] {
            assert!(!is_name(bad), "{bad}");
        }
        assert!(is_code("A") && is_code("HTTP_404") && is_any_code("trace.BUDGET"));
        for bad in ["", "a", "A__B", "_A", "4XX", "x.y.Z", ".X", "x."] {
            assert!(!is_any_code(bad), "{bad}");
        }
        assert!(is_pointer("/a/0~1b") && !is_pointer("") && !is_pointer("a") && !is_pointer("/a~2"));
    }
}
