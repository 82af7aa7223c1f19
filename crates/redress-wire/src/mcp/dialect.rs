//! The dialect in which tools say what they take: what every framework's converter understands.
//!
//! Hosts hand a tool's schema to a model in a form of their own, and what their converter does not know is lost, or loses
//! the whole list. So an input schema is said with one type in each place, plain `enum`, no `null` for "not given" and no
//! number that a double cannot hold; what some converters drop (defaults, limits, what values mean) also stands in
//! words. What is accepted stays as it was declared: the dialect differs from it in two ways only. It does not say that
//! `null` is taken, and it does not say bounds beyond 2^53.
//!
//! Why so: docs/decisions/0071-the-dialect-of-tools.md.

use redress_contract::Holds;
use serde_json::{Map, Number, Value, json};

/// The largest whole number that every reader of JSON has exactly.
const MAX_SIZE: f64 = 9_007_199_254_740_991.0;
/// The bounds of numbers.
const BOUNDS: [&str; 4] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
/// Words that say something about a schema and nothing about a value.
const NOTES: [&str; 7] = ["title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"];
/// The types that there are, without the whole numbers, which are numbers.
const TYPES: [&str; 6] = ["null", "boolean", "object", "array", "number", "string"];
/// The longest default that is said in words.
const LONGEST_DEFAULT: usize = 40;

/// An input schema as tools advertise it.
///
/// ```
/// use serde_json::json;
///
/// let declared = json!({"type": "object", "properties": {
///     "mode": {"oneOf": [{"const": "new", "description": "It must not exist."}, {"const": "any"}]},
///     "size": {"type": ["integer", "null"], "minimum": 1, "maximum": u64::MAX, "default": 7, "description": "How many."},
/// }});
/// let advertised = json!({"type": "object", "properties": {
///     "mode": {"type": "string", "enum": ["new", "any"], "description": "new: It must not exist."},
///     "size": {"type": "integer", "minimum": 1, "default": 7, "description": "How many. Default 7."},
/// }});
/// assert_eq!(redress_wire::mcp::dialect(declared), advertised);
/// ```
pub fn dialect(schema: Value) -> Value {
    match schema {
        Value::Object(words) => Value::Object(plain(words, Sense::Plain)),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => other,
    }
}

/// How a schema counts in the whole.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sense {
    /// What it admits less, the whole admits less.
    Plain,
    /// It may be the other way round, so that it has to mean exactly what it did.
    Exact,
}

fn plain(mut words: Map<String, Value>, sense: Sense) -> Map<String, Value> {
    as_any_of(&mut words);
    let required: Vec<String> = words
        .get("required")
        .and_then(Value::as_array)
        .map_or_else(Vec::new, |names| names.iter().filter_map(Value::as_str).map(str::to_owned).collect());
    let mut said: Map<String, Value> = Map::new();
    for (word, value) in words {
        let inner = match (word.as_str(), sense) {
            // A definition may be referred to from either sense.
            (
                "$defs"
                | "definitions"
                | "oneOf"
                | "not"
                | "if"
                | "contains"
                | "unevaluatedProperties"
                | "unevaluatedItems"
                | "propertyNames",
                _,
            ) => Sense::Exact,
            (_, sense) => sense,
        };
        let value = match (Holds::by(&word), value) {
            (Holds::Schema, Value::Object(schema)) => Value::Object(plain(schema, inner)),
            (Holds::List, Value::Array(several)) => several.into_iter().map(|one| held(one, inner)).collect(),
            (Holds::Named, Value::Object(named)) => {
                let of_member = |(name, schema): (String, Value)| {
                    let optional = word == "properties" && !required.contains(&name);
                    let schema = member(schema, optional, inner, word == "properties");
                    (name, schema)
                };
                Value::Object(named.into_iter().map(of_member).collect())
            }
            (Holds::Schema | Holds::List | Holds::Named | Holds::Data, value) => value,
        };
        said.insert(word, value);
    }
    of_constants(&mut said);
    one_type(&mut said);
    typed_enum(&mut said);
    if sense == Sense::Plain {
        without_wide_bounds(&mut said);
    }
    said
}

fn held(schema: Value, sense: Sense) -> Value {
    match schema {
        Value::Object(words) => Value::Object(plain(words, sense)),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => other,
    }
}

/// The schema of a member of an object.
fn member(schema: Value, optional: bool, sense: Sense, is_property: bool) -> Value {
    let Value::Object(mut words) = schema else { return schema };
    as_any_of(&mut words);
    if optional && sense == Sense::Plain {
        without_null(&mut words);
    }
    let mut words = plain(words, sense);
    if is_property {
        open_object(&mut words);
        without_idle_default(&mut words);
        in_words(&mut words);
    }
    Value::Object(words)
}

/// Takes `null` out of what a member may be. To leave the member out says the same.
fn without_null(words: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = words.get_mut("type")
        && types.iter().any(|name| name != "null")
    {
        types.retain(|name| name != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            words.insert("type".into(), one);
        }
    }
    if let Some(Value::Array(values)) = words.get_mut("enum")
        && values.iter().any(|value| !value.is_null())
    {
        values.retain(|value| !value.is_null());
    }
    if words.get("default").is_some_and(Value::is_null) {
        words.remove("default");
    }
    for several in ["anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = words.get_mut(several) else { continue };
        let left = branches.iter().filter(|branch| !is_null(branch)).count();
        // Where exactly one has to fit, a null that two of them admit would become one that is admitted.
        if left == 0 || (several == "oneOf" && left > 1) {
            continue;
        }
        branches.retain(|branch| !is_null(branch));
        branches.iter_mut().filter_map(Value::as_object_mut).for_each(without_null);
        if let [Value::Object(only)] = branches.as_slice() {
            let only = only.clone();
            words.remove(several);
            join(words, only);
        }
    }
}

fn is_null(schema: &Value) -> bool {
    let Some(words) = schema.as_object() else { return false };
    let says = words.iter().filter(|(word, _)| !NOTES.contains(&word.as_str()));
    let mut says = says.map(|(word, value)| match word.as_str() {
        "type" => value == "null",
        "const" => value.is_null(),
        "enum" => value.as_array().is_some_and(|values| !values.is_empty() && values.iter().all(Value::is_null)),
        _ => false,
    });
    words.keys().any(|word| !NOTES.contains(&word.as_str())) && says.all(|null| null)
}

/// Adds what `only` asks for to `words`, whose own notes are about the whole.
fn join(words: &mut Map<String, Value>, only: Map<String, Value>) {
    let is_note = |word: &str| NOTES.contains(&word);
    if only.keys().any(|word| words.contains_key(word) && !is_note(word)) {
        if let Value::Array(all) = words.entry("allOf").or_insert_with(|| json!([])) {
            all.push(Value::Object(only));
        }
        return;
    }
    for (word, value) in only {
        words.entry(word).or_insert(value);
    }
}

/// Says `oneOf` as `anyOf` where no value can fit two of its schemas: fewer converters know the former.
fn as_any_of(words: &mut Map<String, Value>) {
    if words.contains_key("anyOf") || !words.get("oneOf").and_then(Value::as_array).is_some_and(|all| are_apart(all)) {
        return;
    }
    if let Some(all) = words.remove("oneOf") {
        words.insert("anyOf".into(), all);
    }
}

/// Finds the values that a schema may have in one place, where they are known.
type ValuesOf<'a> = dyn Fn(&Map<String, Value>) -> Option<Vec<Value>> + 'a;

/// Whether no value fits two of these: their types differ, or a member that each requires has another value in each.
fn are_apart(all: &[Value]) -> bool {
    let objects: Option<Vec<&Map<String, Value>>> = all.iter().map(Value::as_object).collect();
    let Some(objects) = objects else { return false };
    let differ = |of: &ValuesOf<'_>| {
        let mut seen: Vec<Value> = Vec::new();
        objects.iter().all(|words| {
            let Some(values) = of(words) else { return false };
            let new = values.iter().all(|value| !seen.contains(value));
            seen.extend(values);
            new
        })
    };
    let values = |words: &Map<String, Value>| match (words.get("const"), words.get("enum")) {
        (Some(value), _) => Some(vec![value.clone()]),
        (None, Some(Value::Array(values))) => Some(values.clone()),
        (None, _) => None,
    };
    let by_type = |words: &Map<String, Value>| match words.get("type") {
        Some(Value::String(name)) => Some(vec![Value::from(if name == "integer" { "number" } else { name })]),
        Some(_) | None => None,
    };
    let tags = objects.first().and_then(|words| words.get("required")).and_then(Value::as_array);
    let by_tag = |tag: &Value| {
        let tag = tag.as_str().unwrap_or_default().to_owned();
        differ(&move |words| {
            let requires = words.get("required").and_then(Value::as_array)?;
            let is_object = words.get("type").is_some_and(|name| name == "object");
            let schema = words.get("properties")?.get(&tag)?.as_object()?;
            if is_object && requires.iter().any(|name| *name == *tag) { values(schema) } else { None }
        })
    };
    all.len() > 1 && (differ(&by_type) || differ(&values) || tags.is_some_and(|tags| tags.iter().any(by_tag)))
}

/// Says several constants as one `enum`, and what each means in words.
fn of_constants(words: &mut Map<String, Value>) {
    if let Some(value) = words.remove("const") {
        match words.get("enum") {
            None => _ = words.insert("enum".into(), Value::Array(vec![value])),
            Some(_) => _ = words.insert("const".into(), value),
        }
    }
    if words.contains_key("enum") {
        return;
    }
    let Some(Value::Array(branches)) = words.get("anyOf") else { return };
    let mut values: Vec<Value> = Vec::new();
    let mut meanings: Vec<String> = Vec::new();
    for branch in branches {
        let Some(branch) = branch.as_object() else { return };
        // The constants have become lists before.
        let Some(Value::Array(listed)) = branch.get("enum") else { return };
        let fits = |value: &Value| branch.get("type").is_none_or(|name| *name == *type_of(value));
        let says_more =
            branch.keys().any(|word| !["enum", "type"].contains(&word.as_str()) && !NOTES.contains(&word.as_str()));
        if says_more || !listed.iter().all(fits) {
            return;
        }
        if let (Some(Value::String(means)), [value]) = (branch.get("description"), listed.as_slice()) {
            let name = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            meanings.push(format!("{name}: {}", means.split_whitespace().collect::<Vec<_>>().join(" ")));
        }
        for value in listed {
            if !values.contains(value) {
                values.push(value.clone());
            }
        }
    }
    words.remove("anyOf");
    words.insert("enum".into(), Value::Array(values));
    if !meanings.is_empty() {
        note(words, &meanings.join(" "));
    }
}

/// Gives a list of values of one type that type.
fn typed_enum(words: &mut Map<String, Value>) {
    let Some(Value::Array(values)) = words.get("enum") else { return };
    let Some(name) = values.first().map(type_of) else { return };
    if !words.contains_key("type") && values.iter().all(|value| type_of(value) == name) {
        words.insert("type".into(), name.into());
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Says several types as several schemas of one type each.
fn one_type(words: &mut Map<String, Value>) {
    let Some(Value::Array(types)) = words.get("type").cloned() else { return };
    if let [one] = types.as_slice() {
        words.insert("type".into(), one.clone());
        return;
    }
    words.remove("type");
    // Of all types together nothing is left to say.
    if TYPES.iter().all(|name| types.iter().any(|said| said == name)) || types.is_empty() {
        return;
    }
    let several: Value = types.iter().map(|name| json!({"type": name})).collect();
    if !words.contains_key("anyOf") {
        words.insert("anyOf".into(), several);
    } else if let Value::Array(all) = words.entry("allOf").or_insert_with(|| json!([])) {
        all.push(json!({"anyOf": several}));
    }
}

/// Leaves out bounds that a double cannot hold, or does not hold exactly: hosts would show other numbers.
fn without_wide_bounds(words: &mut Map<String, Value>) {
    for bound in BOUNDS {
        if words.get(bound).and_then(Value::as_f64).is_some_and(|value| value.abs() > MAX_SIZE) {
            words.remove(bound);
        }
    }
}

/// Leaves out a default that says nothing: that something is off, or empty, unless it is given.
fn without_idle_default(words: &mut Map<String, Value>) {
    let is_idle = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(values) => values.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    };
    if words.get("default").is_some_and(is_idle) {
        words.remove("default");
    }
}

/// Says of an object of which nothing is said that it may hold anything: some converters take it for a text otherwise.
fn open_object(words: &mut Map<String, Value>) {
    let mut said = words.keys().filter(|word| *word != "type" && !NOTES.contains(&word.as_str()));
    if words.get("type").is_some_and(|name| name == "object") && said.next().is_none() {
        words.insert("additionalProperties".into(), true.into());
    }
}

/// Says in words what some converters drop: limits and the default.
fn in_words(words: &mut Map<String, Value>) {
    let told = words.get("description").and_then(Value::as_str).unwrap_or_default().to_lowercase();
    let number = |word: &str| words.get(word).and_then(Value::as_number).filter(|_| words.get("enum").is_none());
    // That there is something, or nothing, to count goes without saying.
    let min = number("minimum").filter(|min| ![Some(0.0), Some(1.0)].contains(&min.as_f64()));
    let range = |min: Option<&Number>, max: Option<&Number>, of: &str| match (min, max) {
        (Some(min), Some(max)) => Some(format!("{min} to {max}{of}")),
        (Some(min), None) => Some(format!("at least {min}{of}")),
        (None, Some(max)) => Some(format!("at most {max}{of}")),
        (None, None) => None,
    };
    let mut says: Vec<String> = Vec::new();
    says.extend(range(min, number("maximum"), ""));
    says.extend(range(None, number("maxLength"), " characters"));
    says.extend(range(None, number("maxItems"), " items"));
    // What its author has said of it is not said twice.
    if !told.contains("default") {
        says.extend(words.get("default").and_then(default));
    }
    if says.is_empty() {
        return;
    }
    let mut says = says.join(", ");
    if let Some(first) = says.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    note(words, &format!("{says}."));
}

fn default(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => return None,
        Value::Bool(false) => return None,
        Value::String(text) if !text.contains(char::is_alphanumeric) => return None,
        Value::String(text) => text.clone(),
        Value::Array(values) if values.is_empty() => return None,
        Value::Object(values) if values.is_empty() => return None,
        Value::Bool(true) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    (text.len() <= LONGEST_DEFAULT).then(|| format!("default {text}"))
}

/// Adds a sentence to the description.
fn note(words: &mut Map<String, Value>, says: &str) {
    let described = match words.get("description").and_then(Value::as_str).map(str::trim_end) {
        None | Some("") => says.to_owned(),
        Some(text) if text.ends_with(['.', ':', '!', '?']) => format!("{text} {says}"),
        Some(text) => format!("{text}. {says}"),
    };
    words.insert("description".into(), described.into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_admits_null_for_not_given_has_one_type() {
        let declared = json!({"type": "object", "required": ["needed"], "properties": {
            "plain": {"type": ["string", "null"], "default": null},
            "listed": {"type": ["string", "null"], "enum": ["a", null]},
            "optional": {"anyOf": [{"type": "object", "properties": {"in": {"type": ["integer", "null"]}}}, {"type": "null"}], "description": "An inner one."},
            "needed": {"type": ["string", "null"]},
            "several": {"type": ["string", "integer", "null"]},
            "list": {"type": "array", "items": {"type": ["string", "null"]}},
            "nothing": {"type": "null"},
            "free": {"type": "object"},
        }});
        let said = json!({"type": "object", "required": ["needed"], "properties": {
            "plain": {"type": "string"},
            "listed": {"type": "string", "enum": ["a"]},
            "optional": {"type": "object", "properties": {"in": {"type": "integer"}}, "description": "An inner one."},
            "needed": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "several": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "list": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
            "nothing": {"type": "null"},
            "free": {"type": "object", "additionalProperties": true},
        }});
        assert_eq!(dialect(declared), said);
    }

    #[test]
    fn a_choice_is_any_of_where_no_value_fits_two() {
        let tagged = json!({"oneOf": [
            {"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": ["string", "null"]}}, "required": ["kind"]},
            {"type": "object", "properties": {"kind": {"const": "b"}}, "required": ["kind"]},
        ]});
        let said = dialect(tagged);
        assert_eq!(said["anyOf"][0]["properties"]["kind"], json!({"type": "string", "enum": ["a"]}));
        assert_eq!(said["anyOf"][0]["properties"]["x"], json!({"type": "string"}));
        let overlapping = json!({"oneOf": [
            {"properties": {"x": {"type": ["string", "null"]}}}, {"properties": {"x": {"maximum": u64::MAX}}},
        ]});
        let said = dialect(overlapping);
        assert_eq!(said["oneOf"][0]["properties"]["x"], json!({"anyOf": [{"type": "string"}, {"type": "null"}]}));
        assert_eq!(said["oneOf"][1]["properties"]["x"]["maximum"], json!(u64::MAX));
    }

    #[test]
    fn defaults_and_limits_stand_in_words_once() {
        let declared = json!({"type": "object", "properties": {
            "a": {"type": "integer", "minimum": 0, "maximum": 50, "default": 5, "description": "How many"},
            "b": {"type": "string", "maxLength": 9, "default": ""},
            "c": {"type": "integer", "default": 3, "description": "By default three."},
            "d": {"type": "integer", "minimum": i64::MIN, "maximum": i64::MAX},
        }});
        let said = dialect(declared);
        let words = |name: &str| {
            said["properties"][name].get("description").and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        assert_eq!(words("a"), "How many. At most 50, default 5.");
        assert_eq!(words("b"), "At most 9 characters.");
        assert_eq!(words("c"), "By default three.");
        assert_eq!(said["properties"]["d"], json!({"type": "integer"}));
    }
}
