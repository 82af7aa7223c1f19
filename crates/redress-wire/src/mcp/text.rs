//! Text inside JSON: most of a result is JSON that is written once more as a string.

/// What each byte becomes inside a JSON string: 0 stays as it is, `u` is written as a number,
/// anything else follows a backslash.
const ESCAPES: [u8; 256] = {
    let mut escapes = [0; 256];
    let mut byte = 0;
    while byte < 0x20 {
        escapes[byte] = b'u';
        byte += 1;
    }
    escapes[b'\n' as usize] = b'n';
    escapes[b'\r' as usize] = b'r';
    escapes[b'\t' as usize] = b't';
    escapes[b'"' as usize] = b'"';
    escapes[b'\\' as usize] = b'\\';
    escapes
};

/// Appends `text` as a JSON string.
pub(super) fn string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    escaped(text.as_bytes(), out);
    out.push(b'"');
}

/// Appends the inside of a JSON string, in runs between the bytes that cannot stay as they are.
pub(super) fn escaped(text: &[u8], out: &mut Vec<u8>) {
    // JSON in a string has a quotation mark at every member.
    out.reserve(text.len() + text.len() / 8);
    let mut start = 0;
    for (place, byte) in text.iter().enumerate() {
        let escape = ESCAPES[*byte as usize];
        if escape == 0 {
            continue;
        }
        out.extend_from_slice(text.get(start..place).unwrap_or_default());
        start = place + 1;
        if escape == b'u' {
            let digits = b"0123456789abcdef";
            let (high, low) = (digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]);
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
        } else {
            out.extend_from_slice(&[b'\\', escape]);
        }
    }
    out.extend_from_slice(text.get(start..).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_comes_back_as_it_was() {
        let all: String = (0..0x250).filter_map(char::from_u32).chain("\u{2028}🦀\u{10ffff}".chars()).collect();
        for text in [all.as_str(), "", "plain", r#"{"a":"b\n"}"#] {
            let mut out = Vec::new();
            string(text, &mut out);
            assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }
    }
}
