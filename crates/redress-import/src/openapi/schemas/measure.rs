//! How large values are, and texts that are not too large.

use serde_json::Value;

/// Whether a value has at most so many bytes, nearly. It stops where it has more: the same value may be met many times.
pub(super) fn is_within(value: &Value, max: usize) -> bool {
    fn left(value: &Value, max: usize) -> Option<usize> {
        match value {
            Value::Null | Value::Bool(_) => max.checked_sub(5),
            Value::Number(_) => max.checked_sub(6),
            Value::String(text) => max.checked_sub(text.len() + 2),
            Value::Array(items) => {
                items.iter().try_fold(max.checked_sub(2)?, |rest, item| left(item, rest)?.checked_sub(1))
            }
            Value::Object(members) => members
                .iter()
                .try_fold(max.checked_sub(2)?, |rest, (name, item)| left(item, rest)?.checked_sub(name.len() + 4)),
        }
    }
    left(value, max).is_some()
}

/// How many bytes a value has as compact JSON, nearly.
pub(super) fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 6,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| size(item) + 1).sum::<usize>(),
        Value::Object(members) => 2 + members.iter().map(|(name, item)| name.len() + size(item) + 4).sum::<usize>(),
    }
}

/// A text with at most `max` letters, ended at a sentence or a word; none where nothing would be left of it.
pub(in crate::openapi) fn shortened(text: &str, max: usize) -> Option<String> {
    if max == 0 {
        return None;
    }
    let mut flowing = String::with_capacity(text.len().min(max * 4));
    let mut letters = 0;
    let mut is_cut = false;
    for word in text.split_whitespace() {
        // A text without spaces may be long, and is met many times.
        let length = if word.len() > max * 4 { max } else { word.chars().count() };
        if letters + length + 1 > max {
            is_cut = true;
            break;
        }
        if !flowing.is_empty() {
            flowing.push(' ');
        }
        flowing.push_str(word);
        letters += length + 1;
    }
    if is_cut {
        let end = flowing
            .rmatch_indices(['.', '!', '?'])
            .map(|(place, _)| place)
            .find(|place| flowing.get(place + 1..).is_some_and(|rest| rest.starts_with(' ') || rest.is_empty()));
        match end.filter(|end| *end * 2 >= flowing.len()) {
            Some(end) => flowing.truncate(end + 1),
            None => flowing.push('…'),
        }
    }
    (!flowing.is_empty() && flowing != "…").then_some(flowing)
}
