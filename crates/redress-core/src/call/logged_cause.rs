//! What the log tells of a cause: once, on one line, of bounded length, without what may be a secret or a value.
//!
//! The text of a foreign error is nobody's promise: it may hold a URL with a key in it, or the row that a database
//! refused. What is known by its form is taken out. What a library writes in plain words stays, since that is what the
//! operator needs to find the cause; so the text goes to the operator's log and to nothing that leaves the machine.
//!
//! Why the patterns are as they are: docs/decisions/0125-small-tables.md.

use std::{borrow::Cow, error::Error, fmt, sync::LazyLock};

use regex::{Captures, Regex};

use crate::{Credentials, Secret, hooks::classify};

/// How many bytes of a cause the log holds.
const MAX: usize = 1024;
/// How much of a chain is read at all.
const READ: usize = 8 * 1024;
/// What stands in the place of what was taken out.
const REDACTED: &str = "[redacted]";

/// An error and its sources as an operator may read them: each text once, and without what looks like a secret, the
/// query of a URL or a value.
pub struct LoggedCause<'a> {
    error: Said<'a>,
    credentials: Option<&'a Credentials>,
}

enum Said<'a> {
    Error(&'a (dyn Error + 'static)),
    Text(&'a str),
}

impl<'a> LoggedCause<'a> {
    /// What this error says, with all that caused it.
    pub fn of(error: &'a (dyn Error + 'static)) -> LoggedCause<'a> {
        LoggedCause { error: Said::Error(error), credentials: None }
    }

    /// A text that is no error, as a panic has it.
    pub fn of_text(text: &'a str) -> LoggedCause<'a> {
        LoggedCause { error: Said::Text(text), credentials: None }
    }

    /// Leaves out these credentials too, whatever they look like.
    pub(crate) fn without(mut self, credentials: Option<&'a Credentials>) -> LoggedCause<'a> {
        self.credentials = credentials;
        self
    }
}

impl fmt::Display for LoggedCause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = match self.error {
            Said::Error(error) => joined(error),
            Said::Text(text) => text.get(..text.floor_char_boundary(READ)).unwrap_or_default().to_owned(),
        };
        for secret in self.credentials.into_iter().flat_map(Credentials::values).map(Secret::expose) {
            if !secret.is_empty() {
                text = text.replace(secret, REDACTED);
            }
        }
        let text = redacted(&text);
        match text.get(..text.floor_char_boundary(MAX)) {
            Some(cut) if cut.len() < text.len() => write!(f, "{cut}…"),
            Some(_) | None => f.write_str(&text),
        }
    }
}

/// What an error and its sources say. Many an error says what its source says, which is not said twice.
fn joined(error: &(dyn Error + 'static)) -> String {
    let (mut all, mut before, mut text) = (String::new(), String::new(), String::new());
    for error in classify::chain(error) {
        classify::write_text(error, &mut text);
        if text.is_empty() || (!all.is_empty() && before.contains(&*text)) {
            continue;
        }
        if !all.is_empty() {
            all.push_str(": ");
        }
        all.push_str(&text);
        if all.len() > READ {
            break;
        }
        std::mem::swap(&mut before, &mut text);
    }
    all
}

/// A form in which secrets and values come, and what is left of it.
struct SecretForm {
    pattern: Regex,
    left: &'static str,
}

/// What `\w` stands for in a class of [`FORMS`]: every letter beyond ASCII, and whatever else is there. The letters of each
/// script by themselves would take megabytes once they are compiled. Such a class stands outside of `(?i)`, for which each of
/// a million characters would be looked up.
const WORD: &str = r"[:word:][^\x00-\x7f]";

/// In this order: a URL may hold what the later forms would find in it, and quotes come after the names before them.
static FORMS: LazyLock<Vec<SecretForm>> = LazyLock::new(|| {
    [
        // User and password of a URL, its query and its fragment. The password may hold what it should not.
        (r#"(?i)\b([a-z][a-z0-9+.-]{1,20}://)[^\s"<>]*@"#, "${1}[redacted]@"),
        (r#"(?i)\b([a-z][a-z0-9+.-]{1,20}://[^\s?#"<>]*)[?#][^\s"<>]*"#, "${1}?[redacted]"),
        (r#"\?[\w.~%\[\]-]+=[^\s"<>]*"#, "?[redacted]"),
        (r"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie)([^[:word:]]{0,3}[:=])[^\r\n]*", "${1}${2} [redacted]"),
        (r"(?i)\b(bearer|basic)\s+[a-z0-9._~+/=-]{6,}", "${1} [redacted]"),
        (
            concat!(
                r"(?i)\b((?-i:[\w.-]*)(?:passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|credentials?|private[_-]?key",
                r#"|access[_-]?key|signature|session[_-]?id)(?-i:[\w.-]*)["'`]?\s*(?:=>|:=|=|:)\s*)"#,
                r#"(?:"(?:[^"\\]|\\.)*"?|'[^']*'?|[^\s,;&)}\]]+)"#
            ),
            "${1}[redacted]",
        ),
        // The rows and keys that databases quote.
        (r"(?i)\bkey (\([^)]*\))=\(.*\)", "key ${1}=[redacted]"),
        (r"(?i)\b(failing row contains) \(.*", "${1} [redacted]"),
        (r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", REDACTED),
        (r"\beyJ[\w-]+\.[\w-]+\.[\w-]*", REDACTED),
        (r"\b(?:(?:sk|pk|rk|ghp|gho|ghs|glpat|xox[abprs])[-_]|AKIA|ASIA|AIza)[\w-]{8,}", REDACTED),
    ]
    .into_iter()
    .map(|(pattern, left)| SecretForm {
        pattern: Regex::new(&pattern.replace(r"\w", WORD)).expect("the forms compile, as a test proves"),
        left,
    })
    .collect()
});

static LONG_WORD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[A-Za-z0-9_+=-]{24,}").expect("it compiles, as a test proves"));

/// See [`crate::warm_up`].
pub(crate) fn warm_up() {
    LazyLock::force(&FORMS);
    LazyLock::force(&LONG_WORD);
}

fn redacted(text: &str) -> String {
    let mut text = Cow::Borrowed(text);
    for form in FORMS.iter() {
        if let Cow::Owned(left) = form.pattern.replace_all(&text, form.left) {
            text = Cow::Owned(left);
        }
    }
    let text = without_quoted(&text);
    let text = LONG_WORD.replace_all(&text, |word: &Captures<'_>| {
        let word = word.get(0).map_or("", |word| word.as_str());
        if is_key_like(word) { REDACTED.to_owned() } else { word.to_owned() }
    });
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Whether a word of 24 hexadecimal digits or of 33 other characters has both digits and letters and is no UUID: a key,
/// a hash, a signature.
fn is_key_like(word: &str) -> bool {
    let has = |is: fn(&char) -> bool| word.chars().any(|c| is(&c));
    let groups = || word.split('-').map(str::len);
    let uuid = groups().eq([8, 4, 4, 4, 12]) && word.chars().all(|c| c == '-' || c.is_ascii_hexdigit());
    let long = word.len() > 32 || word.chars().all(|c| c.is_ascii_hexdigit());
    long && has(char::is_ascii_digit) && has(char::is_ascii_alphabetic) && !uuid
}

/// The words after which a quoted name is one of the program or of its tables, and no value.
const NAMES: [&str; 9] =
    ["constraint", "relation", "column", "table", "index", "sequence", "schema", "for key", "missing field"];

/// The text without what stands in quotes: libraries quote the value that they stumbled over.
fn without_quoted(text: &str) -> String {
    let mut left = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['"', '`', '\'']) {
        let (before, quoted) = rest.split_at(at);
        left.push_str(before);
        let mut inside = quoted.chars();
        let quote = inside.next().unwrap_or('"');
        // The apostrophe of `couldn't` opens nothing.
        if quote == '\'' && left.ends_with(char::is_alphanumeric) {
            left.push(quote);
            rest = inside.as_str();
            continue;
        }
        let inside = inside.as_str();
        let end = closing(inside, quote);
        let value = inside.get(..end.unwrap_or(inside.len())).unwrap_or_default();
        let is_name = NAMES.iter().any(|word| left.trim_end().ends_with(word))
            && value.len() <= 64
            && value.chars().all(|c| c.is_alphanumeric() || "_.$-".contains(c));
        left.push(quote);
        left.push_str(if is_name || value == REDACTED { value } else { "…" });
        left.push(quote);
        rest = end.and_then(|end| inside.get(end + quote.len_utf8()..)).unwrap_or_default();
    }
    left.push_str(rest);
    left
}

/// Where a quotation ends: at a quote that is not escaped and that no word goes on from.
fn closing(inside: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    inside.char_indices().find_map(|(at, c)| {
        if std::mem::take(&mut escaped) {
            return None;
        }
        escaped = c == '\\';
        let after = inside.get(at + c.len_utf8()..).unwrap_or_default();
        (c == quote && !after.starts_with(char::is_alphanumeric)).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> String {
        LoggedCause::of_text(text).to_string()
    }

    #[test]
    fn what_is_a_secret_or_a_value_by_its_form_is_taken_out_and_the_rest_stays() {
        let table = [
            ("connection refused (os error 111)", "connection refused (os error 111)"),
            ("(code: 5) database is locked", "(code: 5) database is locked"),
            ("couldn't find it, and it doesn't matter", "couldn't find it, and it doesn't matter"),
            (
                "error sending request for url (https://api.example.com/v1/pay?key=hunter2&n=1#frag)",
                "error sending request for url (https://api.example.com/v1/pay?[redacted]",
            ),
            (
                "postgres://ada:hun/ter?2@db.internal:5432/shop is away",
                "postgres://[redacted]@db.internal:5432/shop is away",
            ),
            ("GET /v1/pay?api_key=hunter2 was refused", "GET /v1/pay?[redacted] was refused"),
            ("header Authorization: Bearer hunter2 hunter2", "header Authorization: [redacted]"),
            ("sent bearer hunter2hunter2 twice", "sent bearer [redacted] twice"),
            ("set-cookie: a=hunter2; b=hunter2", "set-cookie: [redacted]"),
            ("login failed: password=hunter2, user 7", "login failed: password=[redacted], user 7"),
            (r#"{"client_secret": "hun\"ter2", "n": 1}"#, r#"{"…": [redacted], "…": 1}"#),
            ("DB_PASSWORD: hunter2", "DB_PASSWORD: [redacted]"),
            (
                "duplicate key value violates unique constraint \"users_email_key\": Key (email)=(hunter2 (x)) already exists.",
                "duplicate key value violates unique constraint \"users_email_key\": key (email)=[redacted] already exists.",
            ),
            (
                "new row fails; Failing row contains (1, hunter2, (3)).",
                "new row fails; Failing row contains [redacted]",
            ),
            ("Duplicate entry 'hunter2' for key 'users.email'", "Duplicate entry '…' for key 'users.email'"),
            ("Duplicate entry 'O'hunter2' for column 'name'", "Duplicate entry '…' for column 'name'"),
            (r#"invalid input syntax for type uuid: "hunter2""#, r#"invalid input syntax for type uuid: "…""#),
            (r#"invalid type: string "hun\"ter2", expected u8"#, r#"invalid type: string "…", expected u8"#),
            ("unknown variant `hunter2`, expected one of", "unknown variant `…`, expected one of"),
            ("missing field `name` at line 1", "missing field `name` at line 1"),
            ("cut off in the \"middle of hunter2", "cut off in the \"…\""),
            ("no mail for ada.l@example.co.uk today", "no mail for [redacted] today"),
            ("sent eyJhbGciOi.eyJzdWIi.c2lnbmF0dXJl on", "sent [redacted] on"),
            ("key sk-live_hunter2hunter2 is gone", "key [redacted] is gone"),
            ("etag 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "etag [redacted]"),
            ("at 9f86d081884c7d659a2feaa0 there", "at [redacted] there"),
            ("signed AbCdEfGhIjKlMnOpQrStUvWxYz0123456789 today", "signed [redacted] today"),
            ("in an_identifier_of_many_words_2 at last", "in an_identifier_of_many_words_2 at last"),
            ("call 0199b3f2-4e3b-7263-9d61-3c8e41f277b7 broke", "call 0199b3f2-4e3b-7263-9d61-3c8e41f277b7 broke"),
            ("two\nlines\u{1b}[31m", "two lines [31m"),
        ];
        for (text, expected) in table {
            assert_eq!(told(text), expected, "{text}");
        }
    }

    #[test]
    fn a_cause_is_bounded_whatever_it_says() {
        let long = "word ".repeat(10_000);
        assert!(told(&long).len() <= MAX + '…'.len_utf8(), "{}", told(&long).len());
        let quoted = format!("invalid type: string \"{}\", expected u8", "hunter2 ".repeat(10_000));
        assert_eq!(told(&quoted), "invalid type: string \"…\"");
    }

    #[derive(Debug, thiserror::Error)]
    #[error("{0}: {source}", source = .1)]
    struct Above(&'static str, #[source] std::io::Error);

    #[test]
    fn what_an_error_repeats_of_its_source_is_told_once() {
        let error = Above("cannot sync", std::io::Error::other("the disk is gone"));
        assert_eq!(LoggedCause::of(&error).to_string(), "cannot sync: the disk is gone");
        let error = std::io::Error::other("alone");
        assert_eq!(LoggedCause::of(&error).to_string(), "alone");
    }
}
