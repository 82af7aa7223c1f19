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
/// How many characters of an undeclared answer are told.
const EXCERPT: usize = 300;
/// How many bytes of it are looked at for that.
const LOOKED_AT: usize = 4096;

/// `bytes` without the secrets that were sent for this call: a service may say which key it does not accept.
pub(crate) fn without(bytes: Vec<u8>, secrets: &[Secret]) -> Vec<u8> {
    let mut bytes = bytes;
    for secret in secrets {
        for form in forms(secret.expose()) {
            bytes = replaced(bytes, form.as_bytes());
        }
    }
    bytes
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

/// A secret as it may stand in an answer: as it is, inside JSON, inside a URL.
fn forms(secret: &str) -> Vec<String> {
    if secret.len() < SHORTEST {
        return Vec::new();
    }
    let mut forms = vec![secret.to_owned()];
    let json = serde_json::Value::from(secret).to_string();
    let json = json.trim_matches('"').to_owned();
    let solidus = json.replace('/', "\\/");
    let url = percent_encoding::utf8_percent_encode(secret, percent_encoding::NON_ALPHANUMERIC).to_string();
    for form in [json, solidus, url] {
        if !forms.contains(&form) {
            forms.push(form);
        }
    }
    forms
}

fn replaced(bytes: Vec<u8>, needle: &[u8]) -> Vec<u8> {
    let finder = memmem::Finder::new(needle);
    let mut places = finder.find_iter(&bytes).peekable();
    if places.peek().is_none() {
        return bytes;
    }
    let (mut clean, mut from) = (Vec::with_capacity(bytes.len()), 0);
    for place in places {
        clean.extend_from_slice(bytes.get(from..place).unwrap_or_default());
        clean.extend_from_slice(TAKEN_OUT.as_bytes());
        from = place + needle.len();
    }
    clean.extend_from_slice(bytes.get(from..).unwrap_or_default());
    clean
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
