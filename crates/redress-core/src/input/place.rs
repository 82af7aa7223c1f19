//! Places in a document, as JSON Pointers (RFC 6901).

use serde_json::Value;

/// The pointer to `name` below `at`.
pub(super) fn below(at: &str, name: &str) -> String {
    format!("{at}/{}", escape(name))
}

/// The pointer as it may be shown.
///
/// A pointer holds the names of fields, and for an unknown field that is a name the caller made up. So a
/// segment is cut at 64 characters and loses its control characters, and a long pointer ends
/// early, at the nearest place around the one it means.
pub(super) fn shown(pointer: &str) -> String {
    const SEGMENT: usize = 64;
    const WHOLE: usize = 512;
    let mut shown = String::new();
    for segment in pointer.split('/').skip(1) {
        let name: String =
            unescape(segment).chars().take(SEGMENT).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
        let longer = below(&shown, &name);
        if longer.len() > WHOLE {
            break;
        }
        shown = longer;
    }
    shown
}

/// The schema that `path`, the schema path of an error, leads to; it goes through local references.
pub(super) fn schema_at<'a>(root: &'a Value, path: &str) -> Option<&'a Value> {
    // A chain of references longer than this leads nowhere new.
    const STEPS: usize = 512;
    let mut schema = root;
    for segment in path.split('/').skip(1).take(STEPS) {
        let name = unescape(segment);
        schema = match schema {
            Value::Object(keywords) => {
                let next = keywords.get(&name)?;
                match next.as_str() {
                    Some(reference) if name == "$ref" => root.pointer(reference.strip_prefix('#')?)?,
                    _ => next,
                }
            }
            Value::Array(schemas) => schemas.get(name.parse::<usize>().ok()?)?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        };
    }
    Some(schema)
}

/// The pointer without its last segment.
pub(super) fn around(pointer: &str) -> &str {
    pointer.rsplit_once('/').map_or("", |(around, _)| around)
}

/// The last segment of a pointer, as a name.
pub(super) fn last(pointer: &str) -> Option<String> {
    pointer.rsplit_once('/').map(|(_, last)| unescape(last))
}

fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn unescape(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_pointer_is_short_and_printable() {
        assert_eq!(shown("/a/b~1c"), "/a/b~1c");
        assert_eq!(shown("/a\u{0}b"), "/a\u{fffd}b");
        assert_eq!(shown(&below("", &"x".repeat(1000))).chars().count(), 65);
        assert!(shown(&"/abc".repeat(1000)).len() <= 512);
    }

    #[test]
    fn names_with_slashes_survive() {
        let pointer = below("", "a/b~c");
        assert_eq!(pointer, "/a~1b~0c");
        assert_eq!(last(&pointer).as_deref(), Some("a/b~c"));
        assert_eq!(around(&pointer), "");
    }
}
