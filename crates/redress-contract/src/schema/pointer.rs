//! JSON Pointers (RFC 6901), also as fragments of URIs.

use std::borrow::Cow;

use serde_json::Value;

/// Lengthens a pointer by one name.
pub(super) fn push(pointer: &mut String, name: &str) {
    pointer.push('/');
    for letter in name.chars() {
        match letter {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            _ => pointer.push(letter),
        }
    }
}

/// The names that a pointer is made of.
pub(super) fn segments(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    pointer.split('/').skip(1).map(|segment| {
        if segment.contains('~') {
            Cow::Owned(segment.replace("~1", "/").replace("~0", "~"))
        } else {
            Cow::Borrowed(segment)
        }
    })
}

/// One name further.
pub(super) fn step<'v>(value: &'v Value, segment: &str) -> Option<&'v Value> {
    match value {
        Value::Object(members) => members.get(segment),
        Value::Array(items) => {
            let is_plain = segment == "0" || !segment.starts_with(['0', '+']);
            segment.parse::<usize>().ok().filter(|_| is_plain).and_then(|index| items.get(index))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// A pointer as the fragment of a URI (RFC 3986, 3.5).
pub(super) fn encoded(pointer: &str) -> String {
    const PLAIN: &[u8] = b"-._~!$&'()*+,;=:@/?";
    let mut fragment = String::with_capacity(pointer.len());
    for byte in pointer.bytes() {
        if byte.is_ascii_alphanumeric() || PLAIN.contains(&byte) {
            fragment.push(char::from(byte));
        } else {
            fragment.push_str(&format!("%{byte:02X}"));
        }
    }
    fragment
}

/// The fragment of a URI as the text that it stands for.
pub(super) fn decoded(fragment: &str) -> Option<Cow<'_, str>> {
    if !fragment.contains('%') {
        return Some(Cow::Borrowed(fragment));
    }
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            let value = digit()? * 16 + digit()?;
            bytes.push(u8::try_from(value).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_survives_as_a_fragment() {
        for name in ["plain", "Tree node", "a/b~c", "per%cent", "\"", "ü", "", "~1", "$defs"] {
            let mut pointer = String::new();
            push(&mut pointer, name);
            let fragment = encoded(&pointer);
            assert!(fragment.is_ascii() && !fragment.contains([' ', '"', '#']), "{fragment}");
            let decoded = decoded(&fragment).unwrap();
            assert_eq!(segments(&decoded).collect::<Vec<_>>(), [name]);
        }
        assert_eq!(decoded("/a%2"), None);
        assert_eq!(decoded("/%ff"), None);
    }
}
