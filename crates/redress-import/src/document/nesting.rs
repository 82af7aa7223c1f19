//! How deep the brackets of YAML nest, told before its scanner pays for them.

use crate::ReadError;

/// Each token costs the scanner of YAML as much as brackets are open around it, and nothing bounds those. So they are
/// counted first, by what opens and closes them: texts in quotes, comments and block scalars are passed over.
pub(super) fn check(text: &str, deepest: usize) -> Result<(), ReadError> {
    let mut depth = 0_usize;
    // Until a line is indented no more than this, what stands there is text.
    let mut block: Option<usize> = None;
    let mut quote: Option<u8> = None;
    for line in text.split('\n') {
        let bytes = line.as_bytes();
        let indent = bytes.iter().take_while(|byte| **byte == b' ').count();
        let is_blank = bytes.iter().all(|byte| byte.is_ascii_whitespace());
        match block {
            Some(outer) if is_blank || indent > outer => continue,
            Some(_) | None => block = None,
        }
        // Where a value may begin: at the beginning, and behind what stands before one.
        let mut begins = true;
        let mut place = 0;
        while let Some(byte) = bytes.get(place).copied() {
            place += 1;
            match (quote, byte) {
                (Some(b'"'), b'\\') => place += 1,
                (Some(b'\''), b'\'') if bytes.get(place) == Some(&b'\'') => place += 1,
                (Some(open), _) if open == byte => {
                    quote = None;
                    begins = false;
                }
                (Some(_), _) => {}
                (None, b' ' | b'\t' | b'\r') => {
                    if bytes.get(place) == Some(&b'#') {
                        break;
                    }
                }
                (None, b'#') if place == 1 => break,
                (None, b'"' | b'\'') if begins || depth > 0 => quote = Some(byte),
                (None, b'[' | b'{') if begins || depth > 0 => {
                    depth += 1;
                    if depth > deepest {
                        return Err(ReadError::TooDeep { max: deepest });
                    }
                    begins = true;
                }
                (None, b']' | b'}') => depth = depth.saturating_sub(1),
                (None, b',' | b':' | b'?' | b'-') => begins = true,
                // A tag or an anchor stands before a value.
                (None, b'&' | b'!' | b'*') if begins => {
                    while bytes.get(place).is_some_and(|byte| !byte.is_ascii_whitespace()) {
                        place += 1;
                    }
                }
                (None, b'|' | b'>') if begins && depth == 0 => block = Some(indent),
                (None, _) => begins = false,
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_count_where_they_are_brackets() {
        for fine in [
            "a: [b, [c]]",
            "a: see [[[[ this",
            "a: \"[[[[\"",
            "a: '[[''[['",
            "# [[[[\na: 1 # [[[[",
            "a: |\n  [[[[\n\n  [[[[\nb: [1]",
            "a: {b: {c: ['[', \"[\"]}}",
            "a: [1]\nb: [1]\nc: [1]\nd: [1]",
            "a: b]]\nc: [[[1]]]",
        ] {
            assert!(check(fine, 3).is_ok(), "{fine}");
        }
        for deep in [
            "a: [[[[",
            "[a, [a, [a, [a",
            "a: [\"]\", [\"]\", [\"]\", [",
            "- [{a: &x [!t [",
            "a: [b,\nc, [\nd, [ # ]]\ne, [",
            "a: [|\n  [ [ [",
            "? &a [ [ [ [",
        ] {
            assert_eq!(check(deep, 3), Err(ReadError::TooDeep { max: 3 }), "{deep}");
        }
    }
}
