//! Message templates over a failure's public fields: `no file at {path}`.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A message with places for a failure's public fields.
///
/// A string field is put in as it is, any other value as compact JSON, so a client can
/// make the same sentence, in any language, from the details alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Template {
    text: String,
    parts: Vec<TemplatePart>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Field(String),
}

/// Why a text is not a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the template `{text}` has a brace without its partner; write `{{{{` for a brace that is meant as one")]
pub struct TemplateError {
    /// What was given.
    pub text: String,
}

impl Template {
    /// The field in the first `{field}` of a text that is no template, for whoever took it for one. Other braces stand
    /// for themselves.
    ///
    /// ```
    /// use redress_contract::Template;
    ///
    /// assert_eq!(Template::place_in("Look near {id} first."), Some("id"));
    /// assert_eq!(Template::place_in(r#"Send {"id": 1}, or {}."#), None);
    /// ```
    pub fn place_in(text: &str) -> Option<&str> {
        text.split('{').skip(1).find_map(|after| {
            let (name, _) = after.split_once('}')?;
            let begins = name.starts_with(|first: char| first == '_' || first.is_ascii_lowercase());
            (begins && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())).then_some(name)
        })
    }

    /// Reads a template. `{{` and `}}` stand for single braces.
    ///
    /// ```
    /// use redress_contract::Template;
    /// use serde_json::json;
    ///
    /// let template = Template::new("no file at {path}").unwrap();
    /// let details = json!({"path": "notes/a.md"});
    /// assert_eq!(template.render(details.as_object().unwrap()), "no file at notes/a.md");
    /// assert_eq!(template.fields().collect::<Vec<_>>(), ["path"]);
    /// ```
    pub fn new(text: &str) -> Result<Template, TemplateError> {
        let error = || TemplateError { text: text.to_owned() };
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '{' if chars.next_if_eq(&'{').is_some() => plain.push('{'),
                '}' if chars.next_if_eq(&'}').is_some() => plain.push('}'),
                '{' => {
                    let mut field = String::new();
                    loop {
                        match chars.next() {
                            Some('}') => break,
                            Some(c) if c == '_' || c.is_alphanumeric() => field.push(c),
                            Some(_) | None => return Err(error()),
                        }
                    }
                    if field.is_empty() {
                        return Err(error());
                    }
                    if !plain.is_empty() {
                        parts.push(TemplatePart::Text(std::mem::take(&mut plain)));
                    }
                    parts.push(TemplatePart::Field(field));
                }
                '}' => return Err(error()),
                other => plain.push(other),
            }
        }
        if !plain.is_empty() {
            parts.push(TemplatePart::Text(plain));
        }
        Ok(Template { text: text.to_owned(), parts })
    }

    /// The template as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The fields it has places for, in order.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            TemplatePart::Field(name) => Some(name.as_str()),
            TemplatePart::Text(_) => None,
        })
    }

    /// The message for these details. A field that the details lack leaves a gap marked `?`.
    pub fn render(&self, details: &Map<String, Value>) -> String {
        let mut out = String::with_capacity(self.text.len() + 16);
        for part in &self.parts {
            match part {
                TemplatePart::Text(text) => out.push_str(text),
                TemplatePart::Field(name) => match details.get(name) {
                    Some(Value::String(text)) => out.push_str(text),
                    Some(other) => out.push_str(&other.to_string()),
                    None => out.push('?'),
                },
            }
        }
        out
    }
}

impl TryFrom<String> for Template {
    type Error = TemplateError;

    fn try_from(text: String) -> Result<Template, TemplateError> {
        Template::new(&text)
    }
}

impl From<Template> for String {
    fn from(template: Template) -> String {
        template.text
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brace_without_its_partner_is_refused() {
        for bad in ["{", "}", "{}", "a {b", "a } b", "{a b}", "{a:?}"] {
            assert!(Template::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn doubled_braces_stand_for_themselves_and_values_are_json() {
        let template = Template::new("{{{n}}} of {list}").unwrap();
        let details = serde_json::json!({"n": 2, "list": ["a"]});
        assert_eq!(template.render(details.as_object().unwrap()), r#"{2} of ["a"]"#);
    }
}
