//! A path as callers write it: relative (or absolute below the folder that is served), `/`-separated, UTF-8, and the same on every platform.
//!
//! Why so: docs/decisions/0072-what-an-agent-tries-works.md.

use std::path::Path;

use crate::failures::{Invalid, Outside, PathFailure};
use crate::temporary;

/// How long a path may be, in bytes.
const MAX_LENGTH: usize = 4_096;
/// How long one name may be, in bytes.
const LONGEST_NAME: usize = 255;
/// How many names a path may have.
pub(crate) const MAX_DEPTH: usize = 64;

/// A path that names something in the folder, if anything: no name in it is `..`, empty or
/// one that a file system could read as something else.
///
/// That it is well written does not keep it inside, since a link may lead out; the folder
/// handle does that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct WirePath(String);

impl WirePath {
    /// Reads a path as a caller wrote it.
    pub(crate) fn parse(text: &str) -> Result<WirePath, PathFailure> {
        if text.len() > MAX_LENGTH {
            return Err(PathFailure::invalid(Invalid::TooLong));
        }
        let mut letters = text.chars();
        let drive = letters.next().is_some_and(|letter| letter.is_ascii_alphabetic()) && letters.next() == Some(':');
        if text.starts_with(['/', '\\']) || drive {
            return Err(PathFailure::outside(Outside::Absolute));
        }
        if text.split(['/', '\\']).any(|name| name == "..") {
            return Err(PathFailure::outside(Outside::Parent));
        }
        let names: Vec<&str> = text.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
        if names.len() > MAX_DEPTH {
            return Err(PathFailure::invalid(Invalid::TooDeep));
        }
        for name in &names {
            judge(name).map_err(PathFailure::invalid)?;
        }
        Ok(WirePath(names.join("/")))
    }

    /// The folder itself.
    pub(crate) fn top() -> WirePath {
        WirePath(String::new())
    }

    /// Reads a path as a caller wrote it: relative, or absolute below one of `roots`, which are the ways to write the
    /// folder itself, without a `/` at their end. It is taken apart by its letters and by nothing else: what it then
    /// leads to, the folder handle says. `/` alone is the folder.
    pub(crate) fn parse_below(text: &str, roots: &[String]) -> Result<WirePath, PathFailure> {
        if text == "/" {
            return Ok(WirePath::top());
        }
        let below =
            |root: &String| text.strip_prefix(root.as_str()).filter(|rest| rest.is_empty() || rest.starts_with('/'));
        let absolute = text.starts_with('/') && text.len() <= MAX_LENGTH;
        match roots.iter().filter(|_| absolute).find_map(below) {
            Some(rest) => WirePath::parse(rest.trim_start_matches('/')),
            None => WirePath::parse(text),
        }
    }

    /// The path of `name` in this folder, unless callers could not write it.
    pub(crate) fn child(&self, name: &str) -> Option<WirePath> {
        judge(name).ok()?;
        let path = if self.is_top() { name.to_owned() } else { format!("{}/{name}", self.0) };
        (path.len() <= MAX_LENGTH).then_some(WirePath(path))
    }

    /// Whether it is the folder itself.
    pub(crate) fn is_top(&self) -> bool {
        self.0.is_empty()
    }

    /// The path as callers see it; `.` for the folder itself.
    pub(crate) fn as_str(&self) -> &str {
        if self.is_top() { "." } else { &self.0 }
    }

    /// The path, for the folder handle and nothing else.
    pub(crate) fn as_path(&self) -> &Path {
        Path::new(self.as_str())
    }

    /// The folder that it is in; the top is in itself.
    pub(crate) fn folder(&self) -> WirePath {
        WirePath(self.0.rsplit_once('/').map(|(folder, _)| folder.to_owned()).unwrap_or_default())
    }

    /// Its last name; empty for the folder itself.
    pub(crate) fn name(&self) -> &str {
        self.0.rsplit_once('/').map_or(&self.0, |(_, name)| name)
    }

    /// Its names, outermost first.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|name| !name.is_empty())
    }

    /// Whether `other` is this path or lies below it.
    pub(crate) fn holds(&self, other: &WirePath) -> bool {
        self.is_top() || other.0 == self.0 || other.0.strip_prefix(&self.0).is_some_and(|rest| rest.starts_with('/'))
    }
}

/// Whether `name` may be one name of a path. What some file system reads as another name, a
/// person cannot see or tell from a separator is refused everywhere, so that a
/// path means the same on each platform.
fn judge(name: &str) -> Result<(), Invalid> {
    if name.len() > LONGEST_NAME {
        return Err(Invalid::TooLong);
    }
    if name.contains('\\') {
        return Err(Invalid::Backslash);
    }
    if name.chars().any(char::is_control) {
        return Err(Invalid::ControlCharacter);
    }
    if name.chars().any(is_odd) {
        return Err(Invalid::OddCharacter);
    }
    if name.ends_with(['.', ' ']) || (cfg!(windows) && is_device(name)) {
        return Err(Invalid::OddName);
    }
    if temporary::is_temporary(name) {
        return Err(Invalid::Reserved);
    }
    Ok(())
}

/// Characters that are invisible, turn text around, or look like a dot, a slash or a backslash.
fn is_odd(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{2024}' | '\u{2025}' | '\u{fe52}' | '\u{ff0e}' | '\u{ff61}'
        | '\u{2044}' | '\u{2215}' | '\u{29f8}' | '\u{ff0f}'
        | '\u{2216}' | '\u{29f5}' | '\u{29f9}' | '\u{fe68}' | '\u{ff3c}'
        | '\u{fff0}'..='\u{ffff}' | '\u{e0000}'..='\u{e0fff}')
}

/// Names that Windows keeps for devices, and the mark of its alternate streams.
fn is_device(name: &str) -> bool {
    let stem = name.split(['.', ' ']).next().unwrap_or_default().to_ascii_uppercase();
    let numbered =
        ["COM", "LPT"].iter().any(|port| stem.strip_prefix(port).is_some_and(|rest| rest.chars().count() == 1));
    name.contains(':') || ["CON", "PRN", "AUX", "NUL"].contains(&stem.as_str()) || numbered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_written_one_way() {
        for (text, path) in [("", "."), (".", "."), ("./", "."), ("a", "a"), ("./a//b/", "a/b"), ("ä/ß.txt", "ä/ß.txt")]
        {
            assert_eq!(WirePath::parse(text).unwrap().as_str(), path, "{text}");
        }
    }

    #[test]
    fn an_absolute_path_is_one_below_a_root_and_nothing_that_looks_like_it() {
        let roots = ["/srv/root".to_owned(), "/private/srv/root".to_owned()];
        let read = |text: &str| WirePath::parse_below(text, &roots).map(|path| path.as_str().to_owned());
        for (text, path) in [
            ("/", "."),
            ("/srv/root", "."),
            ("/srv/root/", "."),
            ("/srv/root/a/b", "a/b"),
            ("/srv/root//a/./b/", "a/b"),
            ("/private/srv/root/a", "a"),
            ("a/b", "a/b"),
            ("srv/root/a", "srv/root/a"),
        ] {
            assert_eq!(read(text).unwrap(), path, "{text}");
        }
        let refused = |text: &str| match read(text) {
            Err(PathFailure::PathOutside { reason }) => format!("{reason:?}"),
            Err(PathFailure::PathInvalid { reason }) => format!("{reason:?}"),
            other => panic!("{text:?} is {other:?}"),
        };
        for (text, reason) in [
            ("/srv/root2/a", "Absolute"),
            ("/srv/roo", "Absolute"),
            ("/srv/ROOT/a", "Absolute"),
            ("/srv", "Absolute"),
            ("//", "Absolute"),
            ("//srv/root/a", "Absolute"),
            ("/srv//root/a", "Absolute"),
            ("/srv/./root/a", "Absolute"),
            ("/srv/x/../root/a", "Absolute"),
            ("/srv/root\\a", "Absolute"),
            ("\\srv\\root\\a", "Absolute"),
            ("/srv/root\0/a", "Absolute"),
            ("/srv/root/..", "Parent"),
            ("/srv/root/../root2/a", "Parent"),
            ("/srv/root/a\\..\\b", "Parent"),
            ("/srv/root/C:/a", "Absolute"),
            ("/srv/root/a\\b", "Backslash"),
            ("/srv/root/a\0", "ControlCharacter"),
            ("/srv/root/\u{2024}\u{2024}/a", "OddCharacter"),
        ] {
            assert_eq!(refused(text), reason, "{text:?}");
        }
        assert_eq!(refused(&format!("/srv/root/{}", "a/".repeat(2_100))), "TooLong");
        assert_eq!(WirePath::parse_below("/etc/a", &["".to_owned()]).unwrap().as_str(), "etc/a", "all is served");
    }

    #[test]
    fn folder_and_name_take_it_apart() {
        let path = WirePath::parse("a/b/c").unwrap();
        assert_eq!((path.folder().as_str(), path.name()), ("a/b", "c"));
        let top = WirePath::parse("").unwrap();
        assert_eq!((top.folder().as_str(), top.name()), (".", ""));
        assert!(path.folder().holds(&path) && !path.holds(&WirePath::parse("a/b/cd").unwrap()));
    }
}
