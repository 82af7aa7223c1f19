//! Names of operations in texts that people wrote, said as this protocol has them.

use std::borrow::Cow;

use redress_contract::Name;

/// What a name is to whoever reads a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spoken {
    /// No operation has it, so that it is a word like others.
    Other,
    /// An operation that the reader cannot call and is not told of.
    Closed,
    /// The operation behind this tool or prompt.
    Tool(String),
}

/// The text with every operation under the name of its tool. A sentence that speaks of an operation which its reader
/// cannot call is left out. What stands between backticks and is more than a word is a command or code, and stays.
///
/// ```
/// use redress_wire::mcp::{Spoken, spoken};
///
/// let read = |name: &str| match name {
///     "files.edit" => Spoken::Tool("files_edit".to_owned()),
///     "files.watch" => Spoken::Closed,
///     _ => Spoken::Other,
/// };
/// let text = "Writes a file. To change a part, use `files.edit`. Or see `files.watch`. Not v1.2.";
/// assert_eq!(spoken(text, &read), "Writes a file. To change a part, use `files_edit`. Not v1.2.");
/// ```
pub fn spoken<'a>(text: &'a str, read: &dyn Fn(&str) -> Spoken) -> Cow<'a, str> {
    if !text.contains('.') {
        return Cow::Borrowed(text);
    }
    let mut told = String::new();
    let mut changed = false;
    for sentence in sentences(text) {
        match renamed(sentence, read) {
            Some(Cow::Borrowed(same)) => told.push_str(same),
            Some(Cow::Owned(other)) => {
                changed = true;
                told.push_str(&other);
            }
            None => changed = true,
        }
    }
    if !changed {
        return Cow::Borrowed(text);
    }
    told.truncate(told.trim_end().len());
    Cow::Owned(told)
}

/// The names of operations that `text` may speak of.
pub(super) fn names(text: &str) -> impl Iterator<Item = &str> {
    let words = pieces(text).filter(|(_, is_code)| !is_code).flat_map(|(piece, _)| piece.split(|c| !is_of_name(c)));
    words.map(|word| word.trim_matches('.')).filter(|word| Name::new(word).is_ok())
}

/// What stands between backticks and what does not, in turn, and whether it is a command or code.
fn pieces(text: &str) -> impl Iterator<Item = (&str, bool)> {
    text.split('`').enumerate().map(|(place, piece)| (piece, place % 2 == 1 && piece.contains(char::is_whitespace)))
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '.')
}

/// The sentences of a text, each with the space behind it.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = rest.len();
        let mut before = ' ';
        for (place, c) in rest.char_indices() {
            // A line break ends a sentence where an empty line or a list goes on.
            let ends = c.is_whitespace() && matches!(before, '.' | '!' | '?' | '\n');
            if ends {
                let behind = rest.get(place..).unwrap_or_default();
                end = place + (behind.len() - behind.trim_start().len());
                break;
            }
            before = c;
        }
        let (sentence, behind) = rest.split_at_checked(end)?;
        rest = behind;
        Some(sentence)
    })
}

/// The sentence with tools' names; nothing where it speaks of what its reader is not told of.
fn renamed<'a>(sentence: &'a str, read: &dyn Fn(&str) -> Spoken) -> Option<Cow<'a, str>> {
    let mut told = Cow::Borrowed(sentence);
    for name in names(sentence) {
        match read(name) {
            Spoken::Other => {}
            Spoken::Closed => return None,
            Spoken::Tool(tool) => {
                let pieces = pieces(&told).map(|(piece, is_code)| {
                    if is_code { Cow::Borrowed(piece) } else { Cow::Owned(replaced(piece, name, &tool)) }
                });
                told = Cow::Owned(pieces.collect::<Vec<_>>().join("`"));
            }
        }
    }
    Some(told)
}

/// `text` with `tool` wherever the whole word `name` stands.
fn replaced(text: &str, name: &str, tool: &str) -> String {
    let mut told = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find(name) {
        let (before, found) = rest.split_at(place);
        let behind = found.get(name.len()..).unwrap_or_default();
        let alone = !before.ends_with(is_of_name)
            && !behind.starts_with(|c: char| is_of_name(c) && c != '.')
            // A full stop behind it ends the sentence; anything else is a longer name.
            && !behind.strip_prefix('.').is_some_and(|after| after.starts_with(is_of_name));
        told.push_str(before);
        told.push_str(if alone { tool } else { name });
        rest = behind;
    }
    told.push_str(rest);
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str) -> Spoken {
        match name {
            "files.read" | "files.read_all" => Spoken::Tool(name.replace('.', "_")),
            "files.remove" => Spoken::Closed,
            _ => Spoken::Other,
        }
    }

    #[test]
    fn only_whole_names_are_said_anew_and_only_their_sentences_left_out() {
        for (text, told) in [
            ("Use files.read.", "Use files_read."),
            ("Use `files.read_all`, or files.read", "Use `files_read_all`, or files_read"),
            ("See files.read.me and a.files.read", "See files.read.me and a.files.read"),
            ("One. Use files.remove first! Two.", "One. Two."),
            ("One.\nUse `files.remove`.\nTwo.", "One.\nTwo."),
            ("Only files.remove helps.", ""),
            (
                "Run `redress grant files.remove files.read` for files.read.",
                "Run `redress grant files.remove files.read` for files_read.",
            ),
            ("e.g. www.example.com, 1.5", "e.g. www.example.com, 1.5"),
            ("", ""),
        ] {
            assert_eq!(spoken(text, &read), told, "{text}");
        }
    }
}
