//! The file as it was written, to tell with its line what is wrong in it.

use std::{
    io,
    ops::Range,
    path::{Path, PathBuf},
};

use serde_json::Value;
use toml::de::{DeTable, DeValue};

use crate::{error::CliError, near::nearest};

/// How many of the same name elsewhere are worth showing.
const SHOWN: usize = 3;
/// The most bytes of a configuration.
const MAX_SIZE: u64 = 1 << 20;

/// A configuration file: where it is and what is written in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfigDocument {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

impl ConfigDocument {
    /// What is in the file at `path`.
    pub(crate) fn at(path: &Path) -> Result<ConfigDocument, CliError> {
        ConfigDocument::of(path, ConfigDocument::content(path))
    }

    /// What is in the file at `path`, as bytes.
    pub(crate) fn content(path: &Path) -> io::Result<Vec<u8>> {
        redress_disk::read(path, MAX_SIZE)
    }

    /// The file at `path` with this in it.
    pub(crate) fn of(path: &Path, content: io::Result<Vec<u8>>) -> Result<ConfigDocument, CliError> {
        let text =
            content.and_then(|bytes| String::from_utf8(bytes).map_err(|error| io::Error::other(error.utf8_error())));
        let unreadable = |cause| CliError::FileUnreadable { path: path.display().to_string(), cause };
        Ok(ConfigDocument { path: path.to_owned(), text: text.map_err(unreadable)? })
    }

    /// What is wrong with the value at `key`, such as `access.jwt.issuer`. Where it is not written, the line is that of
    /// the table it would be in.
    pub(crate) fn wrong(&self, key: &str, says: impl Into<String>) -> CliError {
        CliError::ConfigInvalid { path: self.path.display().to_string(), line: self.line_of(key), says: says.into() }
    }

    /// The file, and the line of `key` where it or its table is written.
    pub(crate) fn place(&self, key: &str) -> String {
        let line = self.line_of(key).map(|line| format!(", line {line}")).unwrap_or_default();
        format!("{}{line}", self.path.display())
    }

    fn line_of(&self, key: &str) -> Option<usize> {
        let document = DeTable::parse(&self.text).ok()?;
        Some(self.line(&span(document.get_ref(), key)?))
    }

    /// What the parser says is wrong.
    pub(crate) fn unread(&self, error: &toml::de::Error) -> CliError {
        CliError::ConfigInvalid {
            path: self.path.display().to_string(),
            line: error.span().map(|span| self.line(&span)),
            says: in_words(&error.message().trim_end_matches('\n').replace('\n', ", ")),
        }
    }

    /// Refuses a key that `schema` has nothing to say about, with those that could have been meant.
    pub(crate) fn only_known(&self, schema: &Value) -> Result<(), CliError> {
        let document = DeTable::parse(&self.text).map_err(|error| self.unread(&error))?;
        let Some((table, key, span)) = stranger(document.get_ref(), schema, "") else { return Ok(()) };
        let similar = meant(&table, &key, &paths(schema));
        let (path, line) = (self.path.display().to_string(), self.line(&span));
        Err(CliError::ConfigUnknownKey { path, line, key: under(&table, &key), similar })
    }

    fn line(&self, span: &Range<usize>) -> usize {
        self.text.get(..span.start).unwrap_or(&self.text).matches('\n').count() + 1
    }
}

/// What a message says of a type of Rust, in words of the file.
fn in_words(message: &str) -> String {
    let Some((before, expected)) = message.rsplit_once("expected ") else { return message.to_owned() };
    let (min, word) = match expected.strip_prefix("a nonzero ") {
        Some(word) => (1, word),
        None => (0, expected),
    };
    let max = match word {
        "u8" => u64::from(u8::MAX),
        "u16" => u64::from(u16::MAX),
        "u32" => u64::from(u32::MAX),
        "u64" | "usize" => return format!("{before}expected a whole number, {min} or more"),
        _ => return message.to_owned(),
    };
    format!("{before}expected a whole number from {min} to {max}")
}

/// Where the last part of `key` that is written stands.
fn span(table: &DeTable<'_>, key: &str) -> Option<Range<usize>> {
    let (first, rest) = key.split_once('.').map_or((key, None), |(first, rest)| (first, Some(rest)));
    let (name, value) = table.iter().find(|(name, _)| name.get_ref() == first)?;
    let deeper = rest.and_then(|rest| span(table_in(value.get_ref())?, rest));
    Some(deeper.unwrap_or(name.span()))
}

fn table_in<'a, 'de>(value: &'a DeValue<'de>) -> Option<&'a DeTable<'de>> {
    if let DeValue::Table(table) = value { Some(table) } else { None }
}

/// The first key that nothing is known about, with its table.
fn stranger(table: &DeTable<'_>, schema: &Value, at: &str) -> Option<(String, String, Range<usize>)> {
    // A table of free names, such as that of the profiles, says nothing about them.
    let properties = properties(schema)?;
    for (key, value) in table.iter() {
        let name = key.get_ref().as_ref();
        let Some(inner) = properties.get(name) else {
            return Some((at.to_owned(), name.to_owned(), key.span()));
        };
        let path = under(at, name);
        let listed = || {
            let DeValue::Array(items) = value.get_ref() else { return None };
            items.iter().find_map(|item| stranger(table_in(item.get_ref())?, inner.get("items")?, &path))
        };
        let found = table_in(value.get_ref()).and_then(|table| stranger(table, inner, &path)).or_else(listed);
        if found.is_some() {
            return found;
        }
    }
    None
}

/// What a table may hold; nothing where it may hold anything.
fn properties(schema: &Value) -> Option<&serde_json::Map<String, Value>> {
    let choices = schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    [schema].into_iter().chain(choices).find_map(|schema| schema.get("properties")?.as_object())
}

/// Every path that the file may hold, tables too.
pub(crate) fn paths(schema: &Value) -> Vec<String> {
    fn gather(schema: &Value, at: &str, paths: &mut Vec<String>) {
        for (name, inner) in properties(schema).into_iter().flatten() {
            let path = under(at, name);
            paths.push(path.clone());
            gather(inner.get("items").unwrap_or(inner), &path, paths);
        }
    }
    let mut paths = Vec::new();
    gather(schema, "", &mut paths);
    paths
}

/// What `key` in `table` may have been meant as: the same key of another table, where there is one, else one that is
/// near in the same table, and outside of any table one that is near anywhere.
fn meant(table: &str, key: &str, known: &[String]) -> Vec<String> {
    let elsewhere: Vec<String> = known.iter().filter(|path| last(path) == key).take(SHOWN).cloned().collect();
    if !elsewhere.is_empty() {
        return elsewhere;
    }
    let candidates = || known.iter().filter(|path| table.is_empty() || **path == under(table, last(path)));
    let near = nearest(key, candidates().map(|path| last(path)));
    let mut meant: Vec<String> =
        near.iter().filter_map(|near| candidates().find(|path| last(path) == near)).cloned().collect();
    meant.dedup();
    meant
}

fn last(path: &str) -> &str {
    path.rsplit_once('.').map_or(path, |(_, last)| last)
}

fn under(table: &str, key: &str) -> String {
    if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") }
}
