//! Operations that are declared in a crate's sources and were never added to its registry.
//!
//! A function that nobody adds is no mistake to the compiler. What is declared is in the sources, and what is registered is
//! in the registry, so a test that has both can compare them. The sources are read as tokens, not as a program: an
//! attribute that a macro writes is not seen.

use std::{
    fmt, fs, io,
    iter::Peekable,
    path::{Path, PathBuf},
    str::CharIndices,
};

use crate::Registry;

/// Asserts that every operation which this crate's `src` declares is in the registry.
///
/// ```text
/// #[test]
/// fn no_operation_is_forgotten() {
///     redress::testing::assert_registered!(helpdesk::registry());
/// }
/// ```
///
/// Operations that are not for this registry are named after it: `assert_registered!(registry, except "admin.wipe")`.
#[doc(hidden)]
#[macro_export]
macro_rules! __assert_registered {
    ($registry:expr $(, except $($name:literal),+)? $(,)?) => {
        $crate::testing::expect_registered(
            &$registry,
            ::core::concat!(::core::env!("CARGO_MANIFEST_DIR"), "/src"),
            &[$($($name),+)?],
        )
    };
}

/// An operation that is declared and not registered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unregistered {
    /// Its name.
    pub name: String,
    /// The file in which it is declared.
    pub file: PathBuf,
    /// The line of its attribute.
    pub line: usize,
}

impl fmt::Display for Unregistered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is declared at {}:{}, and not registered", self.name, self.file.display(), self.line)
    }
}

/// The operations that the Rust files below `folder` declare, outside of `#[cfg(test)]`, and that `registry` does not have.
pub fn unregistered(registry: &Registry, folder: impl AsRef<Path>) -> io::Result<Vec<Unregistered>> {
    let mut missing = Vec::new();
    let mut folders = vec![folder.as_ref().to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            if kind.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                for (name, line) in declared(&fs::read_to_string(&path)?) {
                    if registry.contract().operation(&name).is_none() {
                        missing.push(Unregistered { name, file: path.clone(), line });
                    }
                }
            }
        }
    }
    missing.sort_by(|one, other| (&one.file, one.line).cmp(&(&other.file, other.line)));
    Ok(missing)
}

/// Asserts that nothing below `folder` is forgotten.
///
/// # Panics
///
/// When something is, or the folder cannot be read.
#[doc(hidden)]
#[track_caller]
pub fn expect_registered(registry: &Registry, folder: &str, except: &[&str]) {
    let missing = match unregistered(registry, folder) {
        Ok(missing) => missing,
        Err(error) => panic!("the sources in {folder} cannot be read: {error}"),
    };
    let missing: Vec<String> = missing
        .iter()
        .filter(|missing| !except.contains(&missing.name.as_str()))
        .map(|missing| format!("\n  {missing}: write `.add(…)`"))
        .collect();
    assert!(missing.is_empty(), "{} operation(s) were forgotten{}", missing.len(), missing.concat());
}

/// What an attribute is made of, as far as it matters here.
#[derive(Debug, PartialEq, Eq)]
enum AttributeToken {
    Word(String),
    Text(String),
    Mark(char),
}

/// The names in `#[operation(… name = "…")]`, each with its line.
fn declared(source: &str) -> Vec<(String, usize)> {
    let tokens = tokens(source);
    let mut found = Vec::new();
    let mut place = 0;
    while place < tokens.len() {
        let Some((words, after)) = attribute(&tokens, place) else {
            place += 1;
            continue;
        };
        let line = tokens.get(place).map_or(0, |(_, line)| *line);
        place = after;
        let is = |token: &AttributeToken, word: &str| matches!(token, AttributeToken::Word(found) if found == word);
        if words.iter().any(|(token, _)| is(token, "cfg")) && words.iter().any(|(token, _)| is(token, "test")) {
            place = past_item(&tokens, after);
            continue;
        }
        // The path before the words in parentheses: `operation`, or `redress::operation`.
        let path: Vec<_> = words.iter().take_while(|(token, _)| *token != AttributeToken::Mark('(')).collect();
        if !path.last().is_some_and(|(token, _)| is(token, "operation")) {
            continue;
        }
        let mut depth = 0_usize;
        let mut window = words.iter().map(|(token, _)| token).peekable();
        while let Some(token) = window.next() {
            match token {
                AttributeToken::Mark('(') => depth += 1,
                AttributeToken::Mark(')') => depth = depth.saturating_sub(1),
                AttributeToken::Word(word) if word == "name" && depth == 1 => {
                    if window.next_if(|token| **token == AttributeToken::Mark('=')).is_some()
                        && let Some(AttributeToken::Text(name)) = window.next()
                    {
                        found.push((name.clone(), line));
                    }
                }
                AttributeToken::Word(_) | AttributeToken::Text(_) | AttributeToken::Mark(_) => {}
            }
        }
    }
    found
}

/// The tokens inside of `#[…]` at `place`, and where it ends.
fn attribute(tokens: &[(AttributeToken, usize)], place: usize) -> Option<(&[(AttributeToken, usize)], usize)> {
    let mark = |at: usize, mark: char| tokens.get(at).is_some_and(|(token, _)| *token == AttributeToken::Mark(mark));
    if !mark(place, '#') || !mark(place + 1, '[') {
        return None;
    }
    let end = closing(tokens, place + 1, '[', ']');
    // One that never closes is none.
    (end < tokens.len()).then_some(())?;
    Some((tokens.get(place + 2..end)?, end + 1))
}

/// Where what opens at `from` closes; the end of the file, where it does not.
fn closing(tokens: &[(AttributeToken, usize)], from: usize, open: char, close: char) -> usize {
    let mut depth = 0_usize;
    for (at, (token, _)) in tokens.iter().enumerate().skip(from) {
        if *token == AttributeToken::Mark(open) {
            depth += 1;
        } else if *token == AttributeToken::Mark(close) {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return at;
            }
        }
    }
    tokens.len()
}

/// Where the item ends that begins at `from`: behind its braces, or its semicolon.
fn past_item(tokens: &[(AttributeToken, usize)], from: usize) -> usize {
    for (at, (token, _)) in tokens.iter().enumerate().skip(from) {
        match token {
            AttributeToken::Mark(';') => return at + 1,
            AttributeToken::Mark('{') => return closing(tokens, at, '{', '}') + 1,
            AttributeToken::Mark(_) | AttributeToken::Word(_) | AttributeToken::Text(_) => {}
        }
    }
    tokens.len()
}

/// The tokens of a source, without comments, characters and numbers.
fn tokens(source: &str) -> Vec<(AttributeToken, usize)> {
    let mut tokens = Vec::new();
    let mut chars = source.char_indices().peekable();
    let mut line = 1;
    while let Some((at, c)) = chars.next() {
        let begun = line;
        match c {
            '\n' => line += 1,
            '/' if chars.next_if(|(_, next)| *next == '/').is_some() => {
                while chars.next_if(|(_, next)| *next != '\n').is_some() {}
            }
            '/' if chars.next_if(|(_, next)| *next == '*').is_some() => line += comment(&mut chars),
            '"' => {
                let (text, lines) = text(&mut chars);
                line += lines;
                tokens.push((AttributeToken::Text(text), begun));
            }
            'r' if raw(source, at).is_some() => {
                let Some((text, bytes)) = raw(source, at) else { continue };
                line += text.matches('\n').count();
                while chars.next_if(|(next, _)| *next < at + bytes).is_some() {}
                tokens.push((AttributeToken::Text(text.to_owned()), begun));
            }
            // A character, or a lifetime: `'a'`, `'\n'`, `'static`.
            '\'' => {
                let rest = source.get(at + 1..).unwrap_or_default();
                let mut ahead = rest.char_indices();
                let first = ahead.next().map(|(_, first)| first);
                let closes = ahead.next().is_some_and(|(_, second)| second == '\'');
                if first == Some('\\') {
                    chars.next();
                    chars.next();
                    while chars.next_if(|(_, next)| *next != '\'').is_some() {}
                    chars.next();
                } else if closes {
                    chars.next();
                    chars.next();
                }
            }
            c if c == '_' || c.is_alphabetic() => {
                let mut word = c.to_string();
                while let Some((_, next)) = chars.next_if(|(_, next)| *next == '_' || next.is_alphanumeric()) {
                    word.push(next);
                }
                tokens.push((AttributeToken::Word(word), begun));
            }
            c if c.is_whitespace() || c.is_alphanumeric() => {}
            c => tokens.push((AttributeToken::Mark(c), begun)),
        }
    }
    tokens
}

/// Reads past a block comment, which may hold others, and says over how many lines it went.
fn comment(chars: &mut Peekable<CharIndices<'_>>) -> usize {
    let (mut depth, mut lines) = (1_usize, 0);
    while let Some((_, c)) = chars.next() {
        match c {
            '\n' => lines += 1,
            '*' if chars.next_if(|(_, next)| *next == '/').is_some() => depth -= 1,
            '/' if chars.next_if(|(_, next)| *next == '*').is_some() => depth += 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    lines
}

/// Reads a text to its end. What is escaped in it is left out: no name of an operation has any.
fn text(chars: &mut Peekable<CharIndices<'_>>) -> (String, usize) {
    let (mut text, mut lines) = (String::new(), 0);
    while let Some((_, c)) = chars.next() {
        match c {
            '"' => break,
            '\\' => {
                lines += usize::from(chars.next().is_some_and(|(_, escaped)| escaped == '\n'));
            }
            c => {
                lines += usize::from(c == '\n');
                text.push(c);
            }
        }
    }
    (text, lines)
}

/// The raw text that begins at `at`, and how many bytes of the source it takes.
fn raw(source: &str, at: usize) -> Option<(&str, usize)> {
    let from = source.get(at + 1..)?;
    let inner = from.trim_start_matches('#');
    let hashes = from.len() - inner.len();
    let inner = inner.strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let end = inner.find(&close)?;
    Some((inner.get(..end)?, 1 + hashes + 1 + end + close.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_declared_is_found_and_what_only_looks_so_is_not() {
        let source = r####"
            // #[operation(query, name = "comments.line")]
            /* #[operation(query, name = "comments.block")] /* inner */ */
            /// #[operation(query, name = "comments.doc")]
            const TEXT: &str = "#[operation(query, name = \"texts.plain\")]";
            const RAW: &str = r#"#[operation(query, name = "texts.raw")]"#;
            fn lifetimes<'a>(c: char) -> bool { c == '"' || c == '\'' || c == '\u{22}' }
            #[operation(query, name = "tickets.get", access(scopes = "tickets:read"))]
            async fn get() {}
            #[allow(dead_code)]
            #[redress::operation(
                mutation,
                example(input = r#"{"name": "x"}"#, failure = "GONE"),
                name = "tickets.close", // the name
            )]
            async fn close() {}
            #[cfg(test)]
            mod tests {
                #[operation(query, name = "tests.only")]
                async fn only() {}
            }
            #[cfg(test)]
            mod elsewhere;
            #[operation(query, name = "tickets.last")]
            async fn last() {}
            #[derive(Debug)]
            struct Named { name: &'static str }
        "####;
        let found = declared(source);
        assert_eq!(
            found.iter().map(|(name, line)| (name.as_str(), *line)).collect::<Vec<_>>(),
            [("tickets.get", 8), ("tickets.close", 11), ("tickets.last", 24)]
        );
    }

    #[test]
    fn a_source_that_breaks_off_is_read_to_its_end() {
        for source in ["#[operation(name = \"a", "#[", "#[cfg(test)] mod x {", "'", "r#\"", "/*", "#[operation(name ="]
        {
            assert_eq!(declared(source), [], "{source}");
        }
    }
}
