//! JSON Pointers (RFC 6901), also as fragments of references.

use std::borrow::Cow;

/// `pointer` lengthened by one name.
pub(crate) fn joined(pointer: &str, name: &str) -> String {
    let mut longer = String::with_capacity(pointer.len() + name.len() + 1);
    longer.push_str(pointer);
    push(&mut longer, name);
    longer
}

/// Lengthens a pointer by one name.
pub(crate) fn push(pointer: &mut String, name: &str) {
    pointer.push('/');
    for letter in name.chars() {
        match letter {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            _ => pointer.push(letter),
        }
    }
}

/// The names that a pointer is made of; none where it is no pointer.
pub(crate) fn segments(pointer: &str) -> Option<impl Iterator<Item = Cow<'_, str>>> {
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return None;
    }
    Some(pointer.split('/').skip(1).map(|segment| {
        if segment.contains('~') {
            Cow::Owned(segment.replace("~1", "/").replace("~0", "~"))
        } else {
            Cow::Borrowed(segment)
        }
    }))
}

/// The last name of a pointer.
pub(crate) fn last(pointer: &str) -> Cow<'_, str> {
    segments(pointer).and_then(Iterator::last).unwrap_or_default()
}

/// The place in an array that a name stands for.
pub(crate) fn index(segment: &str) -> Option<usize> {
    let is_plain = segment == "0" || !segment.starts_with(['0', '+']);
    segment.parse().ok().filter(|_| is_plain)
}

/// The pointer that the fragment of a reference stands for. Documents are found that escape too much, too little or not
/// at all: what is no escape stands for itself.
pub(crate) fn from_fragment(fragment: &str) -> Cow<'_, str> {
    if !fragment.contains('%') {
        return Cow::Borrowed(fragment);
    }
    let bytes = fragment.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut place = 0;
    while let Some(byte) = bytes.get(place) {
        let digits = bytes.get(place + 1..place + 3).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.filter(|_| *byte == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(value) => {
                decoded.push(value);
                place += 3;
            }
            None => {
                decoded.push(*byte);
                place += 1;
            }
        }
    }
    match String::from_utf8(decoded) {
        Ok(text) => Cow::Owned(text),
        Err(_) => Cow::Borrowed(fragment),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fragment_is_read_however_much_of_it_is_escaped() {
        for (fragment, pointer) in [
            ("/paths/~1a~1%7Bid%7D/get", "/paths/~1a~1{id}/get"),
            ("/paths/~1a~1{id}/get", "/paths/~1a~1{id}/get"),
            ("/100%", "/100%"),
            ("/%zz/%4", "/%zz/%4"),
            ("/%ff", "/%ff"),
            ("/%C3%BC", "/ü"),
            ("/%+1", "/%+1"),
        ] {
            assert_eq!(from_fragment(fragment), pointer);
        }
        assert_eq!(segments("/a~1b/~01/").unwrap().collect::<Vec<_>>(), ["a/b", "~1", ""]);
        assert!(segments("a").is_none());
        assert_eq!((index("0"), index("10"), index("01"), index("+1")), (Some(0), Some(10), None, None));
    }
}
