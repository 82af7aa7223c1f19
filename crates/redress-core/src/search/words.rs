//! The words of texts: in lower case, without endings, without markup.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Words that say nothing of what is looked for.
const SILENT: &str = "a an the of to in on at by for from with and or that this these those is are was were be been it its my \
    me i we our us you your do does did have has had which what who whom whose how when where why can may will would should \
    could there their them they as out into up off all some any so if not no than then too one";

/// What a tag of HTML has at most; what is longer is no tag.
const MAX_TAG: usize = 200;

/// The words of a text, as they are compared.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    let mut made = Vec::new();
    for part in plain(text).split(|c: char| !c.is_alphanumeric()) {
        humps(part, &mut made);
    }
    made.into_iter().map(|word| stem(&word))
}

/// The words of a question that say what is looked for, each once; all of them, where none does.
pub(super) fn telling(question: &str) -> Vec<String> {
    static STEMS: LazyLock<HashSet<String>> = LazyLock::new(|| SILENT.split_whitespace().map(stem).collect());
    let mut seen = HashSet::new();
    let all: Vec<String> = words(question).filter(|word| seen.insert(word.clone())).collect();
    let told: Vec<String> = all.iter().filter(|word| !STEMS.contains(*word)).cloned().collect();
    if told.is_empty() { all } else { told }
}

/// The text without tags of HTML and without the addresses of Markdown's links.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['<', ']']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        out.push(' ');
        let close = match from.as_bytes() {
            [b'<', next, ..] if next.is_ascii_alphabetic() || *next == b'/' => {
                from.find('>').filter(|end| *end < MAX_TAG)
            }
            [b']', b'(', ..] => from.find(')'),
            _ => None,
        };
        rest = from.get(close.map_or(1, |end| end + 1)..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// The words of `camelCase`, in lower case.
fn humps(part: &str, made: &mut Vec<String>) {
    let mut word = String::new();
    let mut was_small = false;
    for c in part.chars() {
        if c.is_uppercase() && was_small && !word.is_empty() {
            made.push(std::mem::take(&mut word));
        }
        was_small = !c.is_uppercase();
        word.extend(c.to_lowercase());
    }
    if !word.is_empty() {
        made.push(word);
    }
}

/// The word without the endings of plural and tense. It is the same function for what is looked for and for where it is
/// looked for, so that it matters little where it cuts.
pub(super) fn stem(word: &str) -> String {
    if !word.is_ascii() {
        return word.to_owned();
    }
    let mut stem = word.to_owned();
    let ends = |word: &str, ends: &[&str]| ends.iter().any(|end| word.ends_with(end));
    if stem.len() > 4 && stem.ends_with("ies") {
        stem.truncate(stem.len() - 3);
        stem.push('y');
    } else if stem.len() > 4 && ends(&stem, &["sses", "shes", "ches", "xes", "zes"]) {
        stem.truncate(stem.len() - 2);
    } else if stem.len() > 3 && stem.ends_with('s') && !ends(&stem, &["ss", "us", "is"]) {
        stem.truncate(stem.len() - 1);
    }
    for end in ["ing", "ed"] {
        let Some(base) = stem.strip_suffix(end) else { continue };
        if base.len() >= 3 && base.contains(['a', 'e', 'i', 'o', 'u', 'y']) {
            let last = base.chars().next_back();
            let is_doubled = base.len() > 3 && last.is_some() && base.chars().rev().nth(1) == last;
            let keeps = last.is_some_and(|last| "lsz".contains(last));
            stem.truncate(base.len() - usize::from(is_doubled && !keeps));
            break;
        }
    }
    if stem.len() > 4 && stem.ends_with('e') {
        stem.truncate(stem.len() - 1);
    }
    stem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_markup_and_humps_do_not_matter() {
        let same = |one: &str, other: &str| assert_eq!(stem(one), stem(other), "{one} {other}");
        same("file", "files");
        same("entry", "entries");
        same("search", "searches");
        same("stop", "stopped");
        same("change", "changing");
        same("create", "created");
        let made: Vec<String> =
            words("<p>Gets the <code>merchantId</code>, see [here](https://a.example/b).</p>").collect();
        assert_eq!(made, ["get", "the", "merchant", "id", "see", "here"]);
        assert_eq!(words("a < b").collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(words("Größe ÄNDERN").collect::<Vec<_>>(), ["größe", "ändern"]);
    }

    #[test]
    fn what_is_said_in_every_question_is_not_looked_for() {
        assert_eq!(telling("which files are in the folder, the folder of mine?"), ["file", "folder", "mine"]);
        assert_eq!(telling("who am I"), ["am"]);
        assert_eq!(telling("what is it"), ["what", "is", "it"]);
    }
}
