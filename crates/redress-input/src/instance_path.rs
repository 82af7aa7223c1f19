//! Places in a document, as JSON Pointers (RFC 6901).

use std::borrow::Cow;

use serde_json::Value;

/// Lengthens a pointer by one name.
pub(super) fn push(pointer: &mut String, name: &str) {
    pointer.push('/');
    pointer.push_str(&escape(name));
}

/// One step of the way to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathStep<'a> {
    Name(&'a str),
    Index(usize),
}

impl<'a> PathStep<'a> {
    fn name(self) -> Cow<'a, str> {
        match self {
            Self::Name(name) => Cow::Borrowed(name),
            Self::Index(index) => Cow::Owned(index.to_string()),
        }
    }
}

/// The value that `steps` lead to.
pub(super) fn value_at<'a>(document: &'a Value, steps: &[PathStep<'_>]) -> Option<&'a Value> {
    steps.iter().try_fold(document, |value, step| match step {
        PathStep::Name(name) => value.get(name),
        PathStep::Index(index) => value.get(index),
    })
}

/// The pointer to where `steps` lead, and from there to `name`; `None` if it is longer than `max` bytes.
pub(super) fn pointer_to(steps: &[PathStep<'_>], name: Option<&str>, max: usize) -> Option<String> {
    let mut pointer = String::new();
    for name in steps.iter().map(|step| step.name()).chain(name.map(Cow::Borrowed)) {
        if pointer.len() + name.len() >= max {
            return None;
        }
        push(&mut pointer, &name);
    }
    (pointer.len() <= max).then_some(pointer)
}

/// The way to a place as it may be shown.
///
/// A pointer holds the names of fields, and for an unknown field that is a name the caller made up. So a
/// segment is cut at 64 characters and loses its control characters, and a long pointer ends
/// early, at the nearest place around the one it means.
pub(super) fn shown_at(steps: &[PathStep<'_>], name: Option<&str>) -> String {
    show(steps.iter().map(|step| step.name()).chain(name.map(Cow::Borrowed)))
}

/// A pointer as it may be shown, see [`shown_at`].
pub(super) fn shown(pointer: &str) -> String {
    show(pointer.split('/').skip(1).map(|segment| Cow::Owned(unescape(segment))))
}

fn show<'a>(names: impl Iterator<Item = Cow<'a, str>>) -> String {
    const SEGMENT: usize = 64;
    const WHOLE: usize = 512;
    let mut shown = String::new();
    for name in names {
        let name: String = name.chars().take(SEGMENT).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
        let before = shown.len();
        push(&mut shown, &name);
        if shown.len() > WHOLE {
            shown.truncate(before);
            break;
        }
    }
    shown
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
        assert_eq!(shown(&format!("/{}", "x".repeat(1000))).chars().count(), 65);
        assert!(shown(&"/abc".repeat(1000)).len() <= 512);
    }

    #[test]
    fn a_pointer_is_no_longer_than_asked_for() {
        let steps = [PathStep::Name("ab"), PathStep::Index(1)];
        assert_eq!(pointer_to(&steps, Some("c"), 7).as_deref(), Some("/ab/1/c"));
        assert_eq!(pointer_to(&steps, Some("c"), 6), None);
        assert_eq!(pointer_to(&[PathStep::Name("~~~")], None, 4), None);
    }

    #[test]
    fn names_with_slashes_survive() {
        let pointer = pointer_to(&[], Some("a/b~c"), 100).unwrap();
        assert_eq!(pointer, "/a~1b~0c");
        assert_eq!(last(&pointer).as_deref(), Some("a/b~c"));
        assert_eq!(around(&pointer), "");
    }
}
