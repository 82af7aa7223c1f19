//! URIs with variables: `notes://{folder}/{name}`.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// A URI, or a template of URIs: `notes://{folder}/{name}`.
///
/// `{name}` stands for one or more characters up to the next slash, `{+name}` for any.
/// It is kept as it was written, and judged when a registry is built from it.
///
/// ```
/// use redress_contract::UriTemplate;
///
/// let notes = UriTemplate::new("notes://{folder}/{+path}").unwrap();
/// let found = notes.read("notes://garden/a%20b/c.md").unwrap();
/// assert_eq!(found, [("folder", "garden".to_owned()), ("path", "a b/c.md".to_owned())]);
/// assert_eq!(notes.read("notes://garden"), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(from = "String")]
pub struct UriTemplate {
    text: String,
    parts: Result<Vec<UriTemplatePart>, UriTemplateError>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum UriTemplatePart {
    Text(String),
    Variable { name: String, whole: bool },
}

/// Why a text is not a template of URIs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum UriTemplateError {
    /// It does not begin with a scheme.
    #[error("it does not begin with a scheme, such as `notes://`")]
    Scheme,
    /// A brace has no partner, or holds something that is not a name.
    #[error("a brace has no partner, or holds something that is not a name")]
    Brace,
    /// Two variables stand side by side, so nobody can tell where the first one ends.
    #[error("two variables stand side by side")]
    Touching,
    /// A variable stands in it twice.
    #[error("a variable stands in it twice")]
    Twice,
}

impl UriTemplate {
    /// Reads a template.
    pub fn new(text: &str) -> Result<UriTemplate, UriTemplateError> {
        let template = UriTemplate::unchecked(text);
        match template.error() {
            Some(error) => Err(error),
            None => Ok(template),
        }
    }

    /// A template that is kept as it is, to report what is wrong with it later.
    pub(crate) fn unchecked(text: &str) -> UriTemplate {
        UriTemplate { text: text.to_owned(), parts: parts(text) }
    }

    /// The template as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What is wrong with it.
    pub fn error(&self) -> Option<UriTemplateError> {
        self.parts.as_ref().err().copied()
    }

    /// Its variables, in order.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().flatten().filter_map(|part| match part {
            UriTemplatePart::Variable { name, .. } => Some(name.as_str()),
            UriTemplatePart::Text(_) => None,
        })
    }

    /// Whether it has variables.
    pub fn is_template(&self) -> bool {
        self.variables().next().is_some()
    }

    /// What the variables stand for in `uri`; nothing if `uri` is not one of these.
    pub fn read(&self, uri: &str) -> Option<Vec<(&str, String)>> {
        let mut found = Vec::new();
        let mut rest = uri;
        let mut parts = self.parts.as_ref().ok()?.iter().peekable();
        while let Some(part) = parts.next() {
            let (name, whole) = match part {
                UriTemplatePart::Text(text) => {
                    rest = rest.strip_prefix(text.as_str())?;
                    continue;
                }
                UriTemplatePart::Variable { name, whole } => (name, *whole),
            };
            // Two variables never touch, so what follows is text or the end. The last text has to
            // stand at the end, wherever else it may stand.
            let follows = parts.next_if(|part| matches!(part, UriTemplatePart::Text(_)));
            let (value, after) = match (follows, parts.peek()) {
                (Some(UriTemplatePart::Text(text)), None) => (rest.strip_suffix(text.as_str())?, ""),
                (Some(UriTemplatePart::Text(text)), Some(_)) => rest.split_once(text.as_str())?,
                (Some(UriTemplatePart::Variable { .. }) | None, _) => (rest, ""),
            };
            if value.is_empty() || (!whole && value.contains('/')) {
                return None;
            }
            found.push((name.as_str(), decoded(value)?));
            rest = after;
        }
        rest.is_empty().then_some(found)
    }
}

fn parts(text: &str) -> Result<Vec<UriTemplatePart>, UriTemplateError> {
    let (scheme, _) = text.split_once("://").ok_or(UriTemplateError::Scheme)?;
    let starts = scheme.starts_with(|c: char| c.is_ascii_alphabetic());
    if !starts || !scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b)) {
        return Err(UriTemplateError::Scheme);
    }
    let mut parts: Vec<UriTemplatePart> = Vec::new();
    let mut rest = text;
    while let Some(place) = rest.find(['{', '}']) {
        let (plain, after) = rest.split_at(place);
        let (inside, after) =
            after.strip_prefix('{').and_then(|after| after.split_once('}')).ok_or(UriTemplateError::Brace)?;
        let (name, whole) = match inside.strip_prefix('+') {
            Some(name) => (name, true),
            None => (inside, false),
        };
        if name.is_empty() || !name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric()) {
            return Err(UriTemplateError::Brace);
        }
        if plain.is_empty() && matches!(parts.last(), Some(UriTemplatePart::Variable { .. })) {
            return Err(UriTemplateError::Touching);
        }
        if parts.iter().any(|part| matches!(part, UriTemplatePart::Variable { name: other, .. } if other == name)) {
            return Err(UriTemplateError::Twice);
        }
        parts.push(UriTemplatePart::Text(plain.to_owned()));
        parts.push(UriTemplatePart::Variable { name: name.to_owned(), whole });
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(UriTemplatePart::Text(rest.to_owned()));
    }
    Ok(parts)
}

/// The text behind percent signs; nothing where that is no text.
fn decoded(value: &str) -> Option<String> {
    if !value.contains('%') {
        return Some(value.to_owned());
    }
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let high = char::from(rest.next()?).to_digit(16)?;
            let low = char::from(rest.next()?).to_digit(16)?;
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

impl From<String> for UriTemplate {
    fn from(text: String) -> UriTemplate {
        UriTemplate::unchecked(&text)
    }
}

impl Serialize for UriTemplate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl fmt::Display for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_no_template_says_what_is_wrong_with_it() {
        for (text, error) in [
            ("readme", UriTemplateError::Scheme),
            ("1a://b", UriTemplateError::Scheme),
            ("a://{b", UriTemplateError::Brace),
            ("a://b}", UriTemplateError::Brace),
            ("a://{}", UriTemplateError::Brace),
            ("a://{b c}", UriTemplateError::Brace),
            ("a://{b}{c}", UriTemplateError::Touching),
            ("a://{b}/{b}", UriTemplateError::Twice),
        ] {
            assert_eq!(UriTemplate::new(text).unwrap_err(), error, "{text}");
        }
    }

    #[test]
    fn the_text_at_the_end_may_stand_in_a_variable_too() {
        for (template, uri, value) in [
            ("a://{name}.md", "a://b.md.md", "b.md"),
            ("a://{+path}/raw", "a://b/raw/c/raw", "b/raw/c"),
            ("a://{+path}/raw", "a://b/raw", "b"),
        ] {
            let template = UriTemplate::new(template).unwrap();
            assert_eq!(template.read(uri).unwrap()[0].1, value, "{uri}");
        }
        let template = UriTemplate::new("a://{+path}/raw").unwrap();
        assert!(template.read("a:///raw").is_none() && template.read("a://b/raw/c").is_none());
        let template = UriTemplate::new("a://{folder}/{+path}.md").unwrap();
        assert_eq!(template.read("a://b/c.md/d.md").unwrap()[1].1, "c.md/d");
    }

    #[test]
    fn a_uri_is_read_whole_or_not_at_all() {
        let template = UriTemplate::new("test://template/{id}/data").unwrap();
        assert_eq!(template.read("test://template/12/data").unwrap(), [("id", "12".to_owned())]);
        for other in ["test://template//data", "test://template/1/2/data", "test://template/1/data/", "other://x"] {
            assert_eq!(template.read(other), None, "{other}");
        }
        assert_eq!(template.read("test://template/%ff/data"), None);
        assert_eq!(template.read("test://template/%4/data"), None);
        let fixed = UriTemplate::new("test://static").unwrap();
        assert!(!fixed.is_template() && fixed.read("test://static").is_some_and(|found| found.is_empty()));
    }
}
