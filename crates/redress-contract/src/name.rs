//! The grammar of operation names and the forms accepted on the wire.

use std::{borrow::Cow, fmt, sync::Arc};

use serde::{Deserialize, Serialize, Serializer};

/// The name of an operation: `namespace.name`, lower snake segments, two or more.
///
/// Cloning is cheap.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Name(Arc<str>);

/// Why a text is not an operation's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not an operation name: write two or more lower-case segments joined by dots, such as `files.read`"
)]
pub struct NameError {
    /// What was given.
    pub text: String,
}

impl Name {
    /// The longest a name may be; MCP hosts cut tool names above this.
    pub const MAX: usize = 64;

    /// Reads a name in its own spelling, `files.read`.
    pub fn new(text: &str) -> Result<Name, NameError> {
        if is_name(text) { Ok(Name(text.into())) } else { Err(NameError { text: text.to_owned() }) }
    }

    /// A name that the caller keeps as it is, to report what is wrong with it later.
    pub(crate) fn unchecked(text: &str) -> Name {
        Name(text.into())
    }

    /// The dotted spelling of a name in any form that the wire may use:
    /// `fs.read_file`, `fs/read_file` or `/fs/read_file`.
    ///
    /// ```
    /// use redress_contract::Name;
    ///
    /// assert_eq!(Name::from_wire("/fs/read_file"), "fs.read_file");
    /// assert_eq!(Name::from_wire("fs.read_file"), "fs.read_file");
    /// ```
    pub fn from_wire(text: &str) -> Cow<'_, str> {
        let bare = text.strip_prefix('/').unwrap_or(text);
        if bare.contains('/') { Cow::Owned(bare.replace('/', ".")) } else { Cow::Borrowed(bare) }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first segment, which has one owner.
    pub fn namespace(&self) -> &str {
        self.0.split('.').next().unwrap_or_default()
    }

    /// The name as an MCP tool is called.
    pub fn tool(&self) -> String {
        self.0.replace('.', "_")
    }

    /// Whether the text obeys the grammar; only a declaration that has not been
    /// checked yet can hold one that does not.
    pub fn is_well_formed(&self) -> bool {
        is_name(&self.0)
    }
}

fn is_name(text: &str) -> bool {
    text.len() <= Name::MAX
        && text.contains('.')
        && text.split('.').all(|segment| {
            segment.starts_with(|c: char| c.is_ascii_lowercase())
                && segment.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        })
}

impl TryFrom<String> for Name {
    type Error = NameError;

    fn try_from(text: String) -> Result<Name, NameError> {
        Name::new(&text)
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_two_or_more_lower_snake_segments() {
        for good in ["files.read", "fs.read_file", "a.b.c", "a1.b_2"] {
            assert!(Name::new(good).is_ok(), "{good}");
        }
        let long = format!("a.{}", "b".repeat(63));
        for bad in
            ["", "read", "files.", ".read", "Files.read", "files.Read", "files/read", "a..b", "a.1b", "a.b-c", &long]
        {
            assert!(Name::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_first_segment_is_the_namespace_and_underscores_make_the_tool() {
        let name = Name::new("fs.sub.read_file").unwrap();
        assert_eq!((name.namespace(), name.tool().as_str()), ("fs", "fs_sub_read_file"));
    }
}
