//! The styles of OpenAPI: how a value is written into a path, a query, a header, a cookie or a form.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use redress_import::{Serialization, Style};
use serde_json::{Map, Value};

/// Which characters are written as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Allowed {
    /// Those that mean nothing in a URL (RFC 3986, 2.3).
    Unreserved,
    /// Those and the reserved ones that end no path.
    ReservedInPath,
    /// Those and the reserved ones that end no parameter.
    ReservedInQuery,
    /// Those that a whole query may have.
    Query,
    /// Those that a cookie may have (RFC 6265, 4.1.1).
    Cookie,
    /// All: the place is no part of a URL.
    All,
}

const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const IN_PATH: &AsciiSet = &UNRESERVED
    .remove(b':')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=');
const IN_QUERY: &AsciiSet = &UNRESERVED
    .remove(b':')
    .remove(b'/')
    .remove(b'?')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b',')
    .remove(b';')
    .remove(b'[')
    .remove(b']');
const QUERY: &AsciiSet = &IN_QUERY.remove(b'&').remove(b'=').remove(b'+').remove(b'%');
/// `&` too: it stands between the members of what is taken apart, and becomes the end of a cookie.
const COOKIE: &AsciiSet =
    &percent_encoding::CONTROLS.add(b' ').add(b'"').add(b',').add(b';').add(b'\\').add(b'%').add(b'&');

/// `text` with everything encoded that is not allowed.
pub(super) fn encoded(text: &str, allowed: Allowed) -> String {
    let set = match allowed {
        Allowed::Unreserved => UNRESERVED,
        Allowed::ReservedInPath => IN_PATH,
        Allowed::ReservedInQuery => IN_QUERY,
        Allowed::Query => QUERY,
        Allowed::Cookie => COOKIE,
        Allowed::All => return text.to_owned(),
    };
    utf8_percent_encode(text, set).to_string()
}

/// A value as plain text: a string as it is, anything else as JSON.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

fn one(value: &Value, allowed: Allowed) -> String {
    encoded(&text(value), allowed)
}

/// The members of an object, name and value each encoded.
fn members(members: &Map<String, Value>, allowed: Allowed) -> impl Iterator<Item = (String, String)> + '_ {
    let given = members.iter().filter(|(_, value)| !value.is_null());
    given.map(move |(name, value)| (encoded(name, allowed), one(value, allowed)))
}

/// Items, or names and values, with `delimiter` between them.
fn listed(value: &Value, explode: bool, delimiter: &str, allowed: Allowed) -> String {
    match value {
        Value::Array(items) => items.iter().map(|item| one(item, allowed)).collect::<Vec<_>>().join(delimiter),
        Value::Object(object) => {
            let between = if explode { "=" } else { delimiter };
            members(object, allowed)
                .map(|(name, value)| format!("{name}{between}{value}"))
                .collect::<Vec<_>>()
                .join(delimiter)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => one(value, allowed),
    }
}

/// `a,b`
pub(super) fn simple(value: &Value, explode: bool, allowed: Allowed) -> String {
    listed(value, explode, ",", allowed)
}

/// `.a.b`
pub(super) fn label(value: &Value, explode: bool, allowed: Allowed) -> String {
    format!(".{}", listed(value, explode, if explode { "." } else { "," }, allowed))
}

/// `;name=a,b`
pub(super) fn matrix(name: &str, value: &Value, explode: bool, allowed: Allowed) -> String {
    let encoded_name = encoded(name, Allowed::Unreserved);
    match value {
        Value::Array(items) if explode => {
            items.iter().map(|item| format!(";{encoded_name}={}", one(item, allowed))).collect()
        }
        Value::Object(object) if explode => {
            members(object, allowed).map(|(name, value)| format!(";{name}={value}")).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            let text = listed(value, false, ",", allowed);
            if text.is_empty() { format!(";{encoded_name}") } else { format!(";{encoded_name}={text}") }
        }
    }
}

/// `name=a&name=b`
pub(super) fn form(name: &str, value: &Value, explode: bool, allowed: Allowed) -> String {
    let encoded_name = encoded(name, if allowed == Allowed::Cookie { Allowed::Cookie } else { Allowed::Unreserved });
    match value {
        Value::Array(items) if explode => {
            items.iter().map(|item| format!("{encoded_name}={}", one(item, allowed))).collect::<Vec<_>>().join("&")
        }
        Value::Object(object) if explode => {
            members(object, allowed).map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            format!("{encoded_name}={}", listed(value, false, ",", allowed))
        }
    }
}

/// `name=a%20b`, with another delimiter than a comma.
fn delimited(name: &str, value: &Value, delimiter: &str, allowed: Allowed) -> String {
    format!("{}={}", encoded(name, Allowed::Unreserved), listed(value, false, delimiter, allowed))
}

/// `name[member]=a`, as deep as the value goes.
fn deep(name: &str, value: &Value, allowed: Allowed, pairs: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for (member, value) in object.iter().filter(|(_, value)| !value.is_null()) {
                deep(&format!("{name}[{member}]"), value, allowed, pairs);
            }
        }
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                // What has members of its own needs a number to be told from the next one.
                let plain = !item.is_object() && !item.is_array();
                let place = if plain { String::new() } else { place.to_string() };
                deep(&format!("{name}[{place}]"), item, allowed, pairs);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            pairs.push(format!("{}={}", encoded(name, Allowed::Unreserved), one(value, allowed)));
        }
    }
}

/// The pairs of a query, or of a form, that a value is written as.
pub(super) fn pairs(name: &str, value: &Value, serialization: &Serialization) -> String {
    match serialization {
        Serialization::Style { style, explode, allow_reserved } => {
            let allowed = if *allow_reserved { Allowed::ReservedInQuery } else { Allowed::Unreserved };
            let is_list = value.is_array() || value.is_object();
            match style {
                Style::SpaceDelimited if !explode && is_list => delimited(name, value, "%20", allowed),
                Style::PipeDelimited if !explode && is_list => delimited(name, value, "%7C", allowed),
                Style::DeepObject if is_list => {
                    let mut pairs = Vec::new();
                    deep(name, value, allowed, &mut pairs);
                    pairs.join("&")
                }
                Style::Form
                | Style::Simple
                | Style::Label
                | Style::Matrix
                | Style::SpaceDelimited
                | Style::PipeDelimited
                | Style::DeepObject
                | Style::Cookie => form(name, value, *explode, allowed),
            }
        }
        Serialization::Content { media_type } if !media_type.ends_with("json") => {
            format!("{}={}", encoded(name, Allowed::Unreserved), one(value, Allowed::Unreserved))
        }
        Serialization::Content { .. } | Serialization::Json => {
            let json = encoded(&value.to_string(), Allowed::Unreserved);
            format!("{}={json}", encoded(name, Allowed::Unreserved))
        }
        Serialization::Text | Serialization::File { .. } => {
            format!("{}={}", encoded(name, Allowed::Unreserved), one(value, Allowed::Unreserved))
        }
    }
}
