//! What a schema says about a string.

use jsonschema::{PatternOptions, ValidationOptions, Validator};
use serde_json::{Map, Value, json};

use super::shape::SchemaError;

/// The rules of a string.
///
/// Patterns and formats are left to a validator that knows only those two, so that they mean here what
/// they mean to whoever validates against the advertised schema.
#[derive(Debug)]
pub(super) struct StringRules {
    min: Option<usize>,
    max: Option<usize>,
    choices: Option<Vec<String>>,
    wording: Option<Validator>,
    /// A string the rules admit where one is easily found, for trying a type.
    pub(super) sample: String,
}

impl StringRules {
    /// The keywords read here, besides the `enum` and `const` that the caller turns into choices.
    pub(super) const KEYWORDS: [&'static str; 4] = ["minLength", "maxLength", "pattern", "format"];

    /// Reads the rules, or nothing where a keyword has a value it cannot have.
    pub(super) fn read(
        keywords: &Map<String, Value>,
        choices: Option<Vec<String>>,
    ) -> Result<Option<Self>, SchemaError> {
        let (Some(min), Some(max)) = (size(keywords, "minLength"), size(keywords, "maxLength")) else {
            return Ok(None);
        };
        let wording = match (keywords.get("pattern"), keywords.get("format")) {
            (None, None) => None,
            (None, Some(Value::String(format))) if !is_known(format) => None,
            (None | Some(Value::String(_)), None | Some(Value::String(_))) => {
                let mut rules = json!({});
                for keyword in ["pattern", "format"] {
                    if let Some(rule) = keywords.get(keyword) {
                        rules[keyword] = rule.clone();
                    }
                }
                Some(build(&rules)?)
            }
            _ => return Ok(None),
        };
        let sample = sample(keywords, choices.as_deref(), min);
        Ok(Some(Self { min, max, choices, wording, sample }))
    }

    /// Whether `text` keeps every rule.
    pub(super) fn admit(&self, text: &str) -> bool {
        let length_fits = (self.min.is_none() && self.max.is_none()) || {
            let length = text.chars().count();
            self.min.is_none_or(|min| length >= min) && self.max.is_none_or(|max| length <= max)
        };
        length_fits
            && self.choices.as_ref().is_none_or(|choices| choices.iter().any(|choice| choice == text))
            && self.wording.as_ref().is_none_or(|wording| wording.is_valid(&Value::String(text.to_owned())))
    }

    /// Whether nothing is said.
    pub(super) fn is_empty(&self) -> bool {
        self.min.is_none() && self.max.is_none() && self.choices.is_none() && self.wording.is_none()
    }

    /// Whether every `char` keeps the rules.
    pub(super) fn contain_chars(&self) -> bool {
        self.choices.is_none()
            && self.wording.is_none()
            && self.min.is_none_or(|min| min <= 1)
            && self.max.is_none_or(|max| max >= 1)
    }

    /// Whether a choice between exactly `variants` keeps the rules.
    pub(super) fn contain_variants(&self, variants: &[&str]) -> bool {
        let Some(choices) = &self.choices else {
            return false;
        };
        let lengths = self.min.is_none() && self.max.is_none();
        lengths
            && self.wording.is_none()
            && variants.iter().all(|variant| choices.iter().any(|choice| choice == variant))
    }
}

/// How every validator here is built: formats count, and nothing is fetched from outside.
///
/// Patterns run on the `regex` crate: it takes time linear in the input, so no input can stall a call.
pub(super) fn options() -> ValidationOptions<'static> {
    jsonschema::draft202012::options()
        .should_validate_formats(true)
        .with_pattern_options(PatternOptions::regex())
        .offline()
}

/// Builds a validator.
pub(super) fn build(schema: &Value) -> Result<Validator, SchemaError> {
    options().build(schema).map_err(|error| SchemaError::of(&error))
}

fn is_known(format: &str) -> bool {
    jsonschema::options().is_known_format(jsonschema::Draft::Draft202012, format)
}

/// A size keyword; the outer `None` is a value it cannot have.
pub(super) fn size(keywords: &Map<String, Value>, keyword: &str) -> Option<Option<usize>> {
    match keywords.get(keyword) {
        None => Some(None),
        Some(value) => Some(Some(usize::try_from(value.as_u64()?).ok()?)),
    }
}

fn sample(keywords: &Map<String, Value>, choices: Option<&[String]>, min: Option<usize>) -> String {
    const MAX_LENGTH: usize = 4096;
    let said = keywords
        .get("examples")
        .and_then(Value::as_array)
        .and_then(|examples| examples.first())
        .or_else(|| keywords.get("default"))
        .and_then(Value::as_str);
    if let Some(said) = said {
        return said.to_owned();
    }
    if let Some(choice) = choices.and_then(<[String]>::first) {
        return choice.clone();
    }
    let format = keywords.get("format").and_then(Value::as_str);
    let typical = match format.unwrap_or_default() {
        "uuid" => "67e55044-10b1-426f-9247-bb680e5fe0c8",
        "date-time" => "2001-02-03T04:05:06Z",
        "partial-date-time" => "2001-02-03T04:05:06",
        "date" => "2001-02-03",
        "time" => "04:05:06Z",
        "partial-time" => "04:05:06",
        "duration" => "P1D",
        "ip" | "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "uri" | "url" | "iri" => "https://example.com/",
        "email" => "a@example.com",
        "semver" => "1.2.3",
        "decimal" => "1",
        _ => return "a".repeat(min.unwrap_or(1).clamp(1, MAX_LENGTH)),
    };
    typical.to_owned()
}
