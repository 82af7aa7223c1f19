//! What must not be seen is taken out of what a service answers.

use std::{borrow::Cow, sync::LazyLock};

use memchr::memmem;
use redress_core::Secret;
use regex::Regex;
use reqwest::header::{HeaderMap, HeaderValue};

/// What stands in the place of a secret.
const TAKEN_OUT: &str = "[redacted]";
/// A shorter one is part of any text.
const SHORTEST: usize = 6;
/// How many bytes an entity of HTML has at most, of those that are looked for.
const LONGEST_ENTITY: usize = 10;
/// How many characters of an undeclared answer are told.
const EXCERPT: usize = 300;
/// How many bytes of it are looked at for that.
const LOOKED_AT: usize = 4096;

/// `bytes` without the secrets that were sent for this call: a service may say which key it does not accept.
pub(crate) fn without(mut bytes: Vec<u8>, secrets: &[Secret]) -> Vec<u8> {
    for secret in secrets.iter().map(|secret| secret.expose().as_bytes()).filter(|secret| secret.len() >= SHORTEST) {
        let is_plain = memchr::memchr3(b'\\', b'%', b'&', &bytes).is_none();
        let clean = if is_plain { without_plain(&bytes, secret) } else { without_written(&bytes, secret) };
        bytes = clean.unwrap_or(bytes);
    }
    bytes
}

fn without_plain(bytes: &[u8], secret: &[u8]) -> Option<Vec<u8>> {
    cut(bytes, memmem::find_iter(bytes, secret).map(|start| (start, start + secret.len())))
}

/// The same where the letters of the secret may be written in another way, each in its own.
fn without_written(bytes: &[u8], secret: &[u8]) -> Option<Vec<u8>> {
    let first = *secret.first()?;
    let mut from = 0;
    let found = std::iter::from_fn(|| {
        while let Some(&byte) = bytes.get(from) {
            let start = from;
            from += 1;
            if (byte == first || matches!(byte, b'\\' | b'%' | b'&'))
                && let Some(end) = written_at(bytes, start, secret)
            {
                from = end;
                return Some((start, end));
            }
        }
        None
    });
    cut(bytes, found)
}

/// Where the secret ends that begins at `start`, if one does.
fn written_at(bytes: &[u8], start: usize, secret: &[u8]) -> Option<usize> {
    secret.iter().try_fold(start, |at, letter| Some(at + width(bytes.get(at..)?, *letter)?))
}

/// How many bytes stand for `letter` at the beginning of `text`: as it is, or as JSON, a URL or a page writes it.
fn width(text: &[u8], letter: u8) -> Option<usize> {
    let number = |digits: &[u8], radix| u8::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok();
    let entity = |name: &[u8]| match name {
        b"#" | b"#x" | b"#X" => None,
        [b'#', b'x' | b'X', digits @ ..] => number(digits, 16),
        [b'#', digits @ ..] => number(digits, 10),
        b"amp" => Some(b'&'),
        b"lt" => Some(b'<'),
        b"gt" => Some(b'>'),
        b"quot" => Some(b'"'),
        b"apos" => Some(b'\''),
        b"sol" => Some(b'/'),
        b"plus" => Some(b'+'),
        b"equals" => Some(b'='),
        _ => None,
    };
    let (stands_for, width) = match text {
        [b'\\', b'u' | b'U', b'0', b'0', high, low, ..] => (number(&[*high, *low], 16)?, 6),
        [b'\\', b'x', high, low, ..] => (number(&[*high, *low], 16)?, 4),
        [b'\\', plain @ (b'"' | b'\\' | b'/' | b'\''), ..] => (*plain, 2),
        [b'%', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
            (number(&[*high, *low], 16)?, 3)
        }
        [b'&', name @ ..] => {
            let end = name.iter().take(LONGEST_ENTITY).position(|byte| *byte == b';')?;
            (entity(name.get(..end)?)?, end + 2)
        }
        // A form writes a blank so.
        [b'+', ..] if letter == b' ' => (letter, 1),
        [plain, ..] => (*plain, 1),
        [] => return None,
    };
    // What looks like another way of writing may be the letter itself.
    if stands_for == letter { Some(width) } else { (text.first() == Some(&letter)).then_some(1) }
}

/// `bytes` with each of the places cut out, if there is one.
fn cut(bytes: &[u8], places: impl Iterator<Item = (usize, usize)>) -> Option<Vec<u8>> {
    let mut places = places.peekable();
    places.peek()?;
    let (mut clean, mut from) = (Vec::with_capacity(bytes.len()), 0);
    for (start, end) in places {
        clean.extend_from_slice(bytes.get(from..start).unwrap_or_default());
        clean.extend_from_slice(TAKEN_OUT.as_bytes());
        from = end;
    }
    clean.extend_from_slice(bytes.get(from..).unwrap_or_default());
    Some(clean)
}

/// `headers` without the secrets that were sent for this call.
pub(crate) fn headers(mut headers: HeaderMap, secrets: &[Secret]) -> HeaderMap {
    for value in headers.values_mut().filter(|_| !secrets.is_empty()) {
        let clean = without(value.as_bytes().to_vec(), secrets);
        if clean != value.as_bytes() {
            *value = HeaderValue::from_bytes(&clean).unwrap_or(HeaderValue::from_static(TAKEN_OUT));
        }
    }
    headers
}

/// The beginning of an undeclared answer, for a person: text alone, cut, with what looks like a secret left out.
pub(crate) fn excerpt(bytes: &[u8]) -> Option<String> {
    static MARKUP: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?is)<(?:script|style)\b.*?(?:</(?:script|style)\s*>|$)|<!--.*?(?:-->|$)|<[^>]*(?:>|$)")
            .expect("the pattern compiles, as a test proves")
    });
    static SECRETS: LazyLock<Regex> = LazyLock::new(|| {
        // What is named a secret, what is sent as one, and what is too long and too mixed to be a word.
        Regex::new(
            r#"(?i)(?:bearer|basic|token)\s+[a-z0-9._~+/=-]{8,}|(?:pass(?:word|wd)?|secret|token|api[_-]?key|credential|authorization|cookie|session(?:id)?)["']?\s*[:=]\s*["']?(?:bearer\s+|basic\s+)?[^\s"'&,;<]+|[a-z0-9_+/=-]{24,}|\b[a-z]+://[^\s/@]+:[^\s/@]+@"#,
        )
        .expect("the pattern compiles, as a test proves")
    });
    let text = String::from_utf8_lossy(bytes.get(..LOOKED_AT).unwrap_or(bytes));
    let text = if text.trim_start().starts_with('<') { MARKUP.replace_all(&text, " ") } else { Cow::Borrowed(&*text) };
    let text = SECRETS.replace_all(&text, TAKEN_OUT);
    let words: Vec<String> =
        text.split_whitespace().map(redress_core::printable).map(|word| word.to_string()).collect();
    let text = words.join(" ");
    let cut = text.char_indices().nth(EXCERPT).map(|(at, _)| at);
    let text = match cut {
        Some(at) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    };
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_was_sent_does_not_come_back() {
        let secret = Secret::new("s3cr3t/k\"y");
        for (answer, clean) in [
            (r#"{"m": "no key s3cr3t/k\"y here"}"#, r#"{"m": "no key [redacted] here"}"#),
            (r#"{"m": "s3cr3t\/k\"y"}"#, r#"{"m": "[redacted]"}"#),
            ("https://a/?key=s3cr3t%2Fk%22y&x", "https://a/?key=[redacted]&x"),
            ("nothing of it", "nothing of it"),
        ] {
            let shown = String::from_utf8(without(answer.as_bytes().to_vec(), std::slice::from_ref(&secret))).unwrap();
            assert_eq!(shown, clean);
        }
        let secret = Secret::new("dG9+abc/def==");
        for written in [
            r"dG9\u002Babc/def==",
            r"dG9\u002babc\/def\u003d\u003D",
            r"\u0064\u0047\u0039\u002B\u0061\u0062\u0063\u002F\u0064\u0065\u0066\u003D\u003D",
            "dG9%2babc%2Fdef%3D%3d",
            "dG9%2Babc/def==",
            "dG9&#43;abc&#x2F;def&equals;&#61;",
            "%64G9+abc&sol;def==",
        ] {
            let clean = without(format!("<{written}> 100% & so").into_bytes(), std::slice::from_ref(&secret));
            assert_eq!(String::from_utf8(clean).unwrap(), "<[redacted]> 100% & so", "{written}");
        }
        assert_eq!(without(b"dG9%2Babc/de&#61".to_vec(), std::slice::from_ref(&secret)), b"dG9%2Babc/de&#61");
        assert_eq!(without(b"a short one: abc".to_vec(), &[Secret::new("abc")]), b"a short one: abc");
    }

    #[test]
    fn an_excerpt_is_short_plain_and_holds_nothing_that_looks_like_a_secret() {
        let shown = |text: &str| excerpt(text.as_bytes()).unwrap_or_default();
        assert_eq!(
            shown("<html><head><style>a{}</style><script>var x=1</script></head><body><h1>Sign in</h1>\n<p>please</p>"),
            "Sign in please"
        );
        assert_eq!(shown("  I'm a\r\n teapot\u{7} "), "I'm a teapot\\u0007");
        for secret in [
            "password=hunter2",
            r#""api_key": "abc-def-123""#,
            "Authorization: Bearer abcdefgh12345678",
            "ghp_0123456789abcdefghijklmnopqrstuvwxyz",
            "postgres://admin:word@db.internal/x",
        ] {
            let shown = shown(&format!("it failed: {secret} and more"));
            assert!(shown.contains(TAKEN_OUT) && shown.contains("it failed"), "{shown}");
            for part in ["hunter2", "abc-def-123", "abcdefgh12345678", "0123456789abcdef", "word@"] {
                assert!(!shown.contains(part), "{shown}");
            }
        }
        assert_eq!(shown(&"word ".repeat(500)).chars().count(), EXCERPT + 1);
        assert_eq!(excerpt(b" \n "), None);
        assert!(excerpt(&[0xff, 0xfe, 0x00]).is_some());
    }
}
