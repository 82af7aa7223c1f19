//! Templates of messages and of URIs: a line with the template, and what it is held against.

use redress::contract::{Template, UriTemplate};
use serde_json::{Map, Value};

use super::cut;

pub(super) fn target(data: &[u8]) {
    let (template, rest) = cut(data);
    let (Ok(template), Ok(rest)) = (std::str::from_utf8(template), std::str::from_utf8(rest)) else { return };
    of_message(template);
    of_uri(template, rest);
}

fn of_message(text: &str) {
    let Ok(template) = Template::new(text) else { return };
    assert_eq!(template.as_str(), text);
    let json = serde_json::to_string(&template).expect("a template is a string");
    assert_eq!(serde_json::from_str::<Template>(&json).ok(), Some(template.clone()));
    let itself = |field: &str| (field.to_owned(), Value::from(format!("{{{field}}}")));
    let details: Map<String, Value> = template.fields().map(itself).collect();
    let rendered = template.render(&details);
    if !text.contains("{{") && !text.contains("}}") {
        assert_eq!(rendered, text, "a field that stands for itself changes nothing");
    }
    let lacking = template.render(&Map::new());
    assert!(lacking.matches('?').count() >= template.fields().count(), "{text}: {lacking}");
}

fn of_uri(text: &str, uri: &str) {
    let Ok(template) = UriTemplate::new(text) else { return };
    assert_eq!(template.as_str(), text);
    let names: Vec<&str> = template.variables().collect();
    let Some(found) = template.read(uri) else { return };
    assert_eq!(found.iter().map(|(name, _)| *name).collect::<Vec<_>>(), names, "{text} {uri}");
    if names.is_empty() {
        assert_eq!(text, uri, "without variables it stands for itself");
        return;
    }
    // Written with every byte of every value in percent signs, it reads the same, unless the text between the values
    // looks like such a byte.
    let mut written = text.to_owned();
    let mut between = text.to_owned();
    for (name, value) in &found {
        let encoded: String = value.bytes().map(|byte| format!("%{byte:02X}")).collect();
        for variable in [format!("{{{name}}}"), format!("{{+{name}}}")] {
            written = written.replace(&variable, &encoded);
            between = between.replace(&variable, "\n");
        }
    }
    let plain = between.split('\n').skip(1).all(|text| !text.contains(|c: char| c == '%' || c.is_ascii_hexdigit()));
    if plain {
        assert_eq!(template.read(&written), Some(found), "{text} {uri} {written}");
    }
}
