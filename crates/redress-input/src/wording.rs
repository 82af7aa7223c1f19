//! What a schema wants, in a few words. Only the schema is quoted here, never an input.

use serde_json::Value;

/// How long a description may be.
const MAX_LENGTH: usize = 200;

/// "an integer", "a string or null".
pub(super) fn types<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut named: Vec<&str> = Vec::new();
    for name in names {
        let phrase = match name {
            "array" => "an array",
            "boolean" => "true or false",
            "integer" => "an integer",
            "null" => "null",
            "number" => "a number",
            "object" => "an object",
            "string" => "a string",
            _ => continue,
        };
        if !named.contains(&phrase) {
            named.push(phrase);
        }
    }
    named.join(" or ")
}

/// `one of "asc", "desc"`.
pub(super) fn choice<'a>(options: impl IntoIterator<Item = &'a Value>) -> String {
    let mut options = options.into_iter().peekable();
    match (options.next(), options.peek()) {
        (Some(only), None) => format!("exactly {only}"),
        (first, _) => listing("one of ", first.into_iter().chain(options).map(Value::to_string)),
    }
}

/// What an unknown field is told.
pub(super) fn unknown_field(known: &[&str]) -> String {
    if known.is_empty() {
        return "no field of this name; no fields are known".to_owned();
    }
    let known = known.iter().map(|name| format!("`{name}`"));
    listing("no field of this name; known fields are ", known)
}

/// What a missing field is told, and what it holds.
pub(super) fn missing_field(wanted: Option<String>) -> String {
    match wanted.filter(|wanted| !wanted.is_empty()) {
        Some(wanted) => format!("this field, which is required: {wanted}"),
        None => "this field, which is required".to_owned(),
    }
}

/// "1 item", "2 items".
pub(super) fn counted(count: u64, noun: &str) -> String {
    match (count, noun) {
        (1, _) => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

/// The text, cut to what an issue may hold.
pub(super) fn cut(text: String) -> String {
    if text.chars().count() <= MAX_LENGTH {
        return text;
    }
    let mut short: String = text.chars().take(MAX_LENGTH - 1).collect();
    short.push('…');
    short
}

/// A list that ends early rather than in the middle of a word.
fn listing(opening: &str, entries: impl Iterator<Item = String>) -> String {
    const ROOM: usize = MAX_LENGTH - 10;
    let mut text = opening.to_owned();
    let mut first = true;
    for entry in entries {
        let joint = if first { "" } else { ", " };
        if text.chars().count() + joint.len() + entry.chars().count() > ROOM {
            text.push_str(joint);
            text.push('…');
            break;
        }
        text.push_str(joint);
        text.push_str(&entry);
        first = false;
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_long_list_ends_between_its_entries() {
        let options: Vec<Value> = (0..100).map(|n| json!(format!("option-{n}"))).collect();
        let text = choice(&options);
        assert!(text.ends_with(", …"), "{text}");
        assert!(text.chars().count() <= MAX_LENGTH);
    }

    #[test]
    fn types_read_as_a_phrase() {
        assert_eq!(types(["integer", "null"]), "an integer or null");
    }
}
