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

/// Appends the inside of a JSON string. JSON in a string has a quotation mark every few bytes, so
/// eight bytes are taken at a time: up to the first one that cannot stay as it is.
pub(super) fn escaped(text: &[u8], out: &mut Vec<u8>) {
    out.reserve(text.len() + text.len() / 4 + 8);
    let mut rest = text;
    while let Some(eight) = rest.first_chunk::<8>() {
        out.extend_from_slice(eight);
        let special = special(u64::from_le_bytes(*eight));
        if special == 0 {
            rest = rest.get(8..).unwrap_or_default();
            continue;
        }
        let plain = special.trailing_zeros() as usize / 8;
        out.truncate(out.len() - 8 + plain);
        if let Some((byte, after)) = rest.get(plain..).and_then(<[u8]>::split_first) {
            one(*byte, out);
            rest = after;
        }
    }
    for byte in rest {
        one(*byte, out);
    }
}

/// Marks the bytes that cannot stay as they are inside a string: control characters, `"` and `\`.
/// The lowest mark is exact; what stands above it may be marked for nothing.
const fn special(eight: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let quote = eight ^ (ONES * b'"' as u64);
    let backslash = eight ^ (ONES * b'\\' as u64);
    let control = eight.wrapping_sub(ONES * 0x20) & !eight;
    (control | (quote.wrapping_sub(ONES) & !quote) | (backslash.wrapping_sub(ONES) & !backslash)) & HIGH
}

fn one(byte: u8, out: &mut Vec<u8>) {
    match ESCAPES[usize::from(byte)] {
        0 => out.push(byte),
        b'u' => {
            let digits = b"0123456789abcdef";
            let (high, low) = (digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]);
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
        }
        escape => out.extend_from_slice(&[b'\\', escape]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_comes_back_as_it_was() {
        let all: String = (0..0x250).filter_map(char::from_u32).chain("\u{2028}🦀\u{10ffff}".chars()).collect();
        for text in [all.as_str(), "", "plain", "plain as well", r#"{"a":"b\n"}"#] {
            // Wherever the eight bytes begin.
            for (start, _) in text.char_indices() {
                let mut out = Vec::new();
                string(&text[start..], &mut out);
                assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), &text[start..]);
            }
        }
    }
}
