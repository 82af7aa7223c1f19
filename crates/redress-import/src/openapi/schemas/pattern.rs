//! Regular expressions that every reader of a schema compiles.
//!
//! JSON Schema means ECMA-262, and documents hold what their authors' own languages understand: inline flags, anchors of
//! Perl, classes of POSIX, escapes that Unicode mode refuses. One such pattern makes strict clients refuse the whole list
//! of tools. What can be said in ECMA-262 is said so; the rest is left out, which admits more and refuses nothing.

use std::collections::HashMap;

/// The longest pattern that is looked at.
const MAX_LENGTH: usize = 2_000;

/// Patterns that were looked at, with what became of them.
#[derive(Default)]
pub(super) struct Patterns {
    known: HashMap<String, Option<String>>,
}

impl Patterns {
    /// The pattern as every reader compiles it, or none where there is no such.
    pub(super) fn portable(&mut self, pattern: &str) -> Option<String> {
        if pattern.len() > MAX_LENGTH {
            return None;
        }
        if let Some(known) = self.known.get(pattern) {
            return known.clone();
        }
        // Behind a slash nothing can begin, so that these slashes stand around the pattern as programs write it.
        let is_delimited = pattern.starts_with("/^") && without_slashes(pattern).0 != pattern;
        let made = if !is_delimited && compiles(pattern) {
            Some(pattern.to_owned())
        } else {
            translated(pattern).filter(|translated| compiles(translated))
        };
        self.known.insert(pattern.to_owned(), made.clone());
        made
    }
}

/// Whether clients (ECMA-262 in Unicode mode) and our own validator compile it.
fn compiles(pattern: &str) -> bool {
    let unicode = regress::Flags { unicode: true, ..regress::Flags::default() };
    if regress::Regex::with_flags(pattern, unicode).is_err() {
        return false;
    }
    jsonschema::options().build(&serde_json::json!({"pattern": pattern})).is_ok()
}

/// The pattern as ECMA-262 writes it, where that is known.
fn translated(pattern: &str) -> Option<String> {
    let (body, mut any_case) = without_slashes(pattern);
    let mut rest = body;
    while let Some((flags, behind)) = leading_flags(rest) {
        if flags.contains('x') || flags.contains('s') || flags.contains('m') {
            return None;
        }
        any_case |= flags.contains('i');
        rest = behind;
    }
    let mut made = String::with_capacity(rest.len());
    let mut letters = rest.chars().peekable();
    let mut in_class = false;
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next()? {
                'A' if !in_class => made.push('^'),
                'z' | 'Z' if !in_class => made.push('$'),
                'h' => made.push_str(if in_class { " \\t" } else { "[ \\t]" }),
                'a' => made.push_str("\\x07"),
                'e' => made.push_str("\\x1b"),
                'Q' | 'E' | 'G' | 'K' | 'R' | 'X' => return None,
                // In a class a hyphen may be escaped; elsewhere it stands for itself.
                '-' => made.push_str(if in_class { "\\-" } else { "-" }),
                plain if is_syntax(plain) || plain.is_ascii_alphanumeric() => {
                    made.push('\\');
                    made.push(plain);
                }
                other => made.push(other),
            },
            '[' if in_class => {
                let rest: String = letters.clone().take(12).collect();
                match posix_class(&rest) {
                    Some((members, length)) => {
                        made.push_str(members);
                        letters.by_ref().take(length).for_each(|_| {});
                    }
                    None => made.push_str("\\["),
                }
            }
            '[' => {
                in_class = true;
                made.push('[');
                if letters.next_if_eq(&'^').is_some() {
                    made.push('^');
                }
                // Elsewhere a bracket right at the beginning is one of the members.
                if letters.next_if_eq(&']').is_some() {
                    made.push_str("\\]");
                }
            }
            ']' if in_class => {
                in_class = false;
                made.push(']');
            }
            ']' => made.push_str("\\]"),
            '(' if !in_class && letters.peek() == Some(&'?') => {
                let rest: String = letters.clone().skip(1).take(2).collect();
                match rest.as_str() {
                    "P<" => {
                        letters.next();
                        letters.next();
                        made.push_str("(?");
                    }
                    // Atomic groups, comments and conditions have no other spelling.
                    other if other.starts_with(['>', '#', '(', 'P', '&', '|']) => return None,
                    _ => made.push('('),
                }
            }
            // Possessive: it matches less than the plain one, never more.
            '+' if !in_class && made.ends_with(['+', '*', '?', '}']) && !made.ends_with("\\+") => {}
            '{' if !in_class && !is_count(letters.clone()) => made.push_str("\\{"),
            '}' if !in_class && !closes_count(&made) => made.push_str("\\}"),
            plain if any_case && plain.is_ascii_alphabetic() => {
                let (lower, upper) = (plain.to_ascii_lowercase(), plain.to_ascii_uppercase());
                if in_class {
                    // A range of letters cannot be doubled letter by letter.
                    if letters.peek() == Some(&'-') || made.ends_with('-') {
                        return ranges_in_any_case(rest);
                    }
                    made.extend([lower, upper]);
                } else {
                    made.extend(['[', lower, upper, ']']);
                }
            }
            other => made.push(other),
        }
    }
    (!in_class).then_some(made)
}

/// The whole pattern with `a-z` and `A-Z` doubled first, so that what is left is single letters.
fn ranges_in_any_case(rest: &str) -> Option<String> {
    if rest.contains("\u{0}") {
        return None;
    }
    // Only the two whole ranges are known to mean letters of either case.
    let held =
        rest.replace("A-Za-z", "\u{0}").replace("a-zA-Z", "\u{0}").replace("a-z", "\u{0}").replace("A-Z", "\u{0}");
    let made = translated(&format!("(?i){held}"))?;
    Some(made.replace('\u{0}', "a-zA-Z"))
}

/// The pattern between slashes, as programs write it, and whether it says that case does not matter.
fn without_slashes(pattern: &str) -> (&str, bool) {
    let between = pattern.strip_prefix('/').and_then(|rest| rest.rsplit_once('/'));
    match between.filter(|(_, flags)| flags.chars().all(|flag| "gimsuy".contains(flag))) {
        Some((body, flags)) if !flags.contains(['m', 's']) => (body, flags.contains('i')),
        Some(_) | None => (pattern, false),
    }
}

/// The flags at the very beginning: `(?i)`.
fn leading_flags(pattern: &str) -> Option<(&str, &str)> {
    let (flags, behind) = pattern.strip_prefix("(?")?.split_once(')')?;
    (!flags.is_empty() && flags.bytes().all(|flag| b"imsxuU".contains(&flag))).then_some((flags, behind))
}

/// What has a meaning of its own in ECMA-262, and so may be escaped.
fn is_syntax(letter: char) -> bool {
    "^$\\.*+?()[]{}|/".contains(letter)
}

/// The members of a class of POSIX (`[:alpha:]` without its first bracket), and how many letters it takes.
fn posix_class(rest: &str) -> Option<(&'static str, usize)> {
    const CLASSES: [(&str, &str); 10] = [
        (":alnum:]", "a-zA-Z0-9"),
        (":alpha:]", "a-zA-Z"),
        (":blank:]", " \\t"),
        (":digit:]", "0-9"),
        (":lower:]", "a-z"),
        (":punct:]", "!-\\/:-@\\[-`\\{-~"),
        (":space:]", "\\s"),
        (":upper:]", "A-Z"),
        (":word:]", "\\w"),
        (":xdigit:]", "0-9a-fA-F"),
    ];
    CLASSES.into_iter().find(|(name, _)| rest.starts_with(name)).map(|(name, members)| (members, name.len()))
}

/// Whether what follows a brace is `2}`, `2,}` or `2,3}`.
fn is_count(letters: impl Iterator<Item = char>) -> bool {
    let mut digits = 0;
    for letter in letters.take(16) {
        match letter {
            '0'..='9' => digits += 1,
            ',' if digits > 0 => {}
            '}' => return digits > 0,
            _ => return false,
        }
    }
    false
}

fn closes_count(made: &str) -> bool {
    let Some((before, inside)) = made.rsplit_once('{') else { return false };
    let is_inside = inside.starts_with(|first: char| first.is_ascii_digit())
        && inside.chars().all(|letter| letter.is_ascii_digit() || letter == ',');
    let named = before.ends_with("\\p") || before.ends_with("\\P") || before.ends_with("\\u");
    named || (is_inside && !before.ends_with('\\'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_said_in_ecma_262_is_said_so_and_the_rest_is_left_out() {
        let mut patterns = Patterns::default();
        for (given, made) in [
            ("^[a-z]+$", Some("^[a-z]+$")),
            ("(?i)^ab1$", Some("^[aA][bB]1$")),
            ("(?i)^[a-z_]+$", Some("^[a-zA-Z_]+$")),
            (r"\A\d+\z", Some(r"^\d+$")),
            (r"^[[:alpha:]_]+$", Some("^[a-zA-Z_]+$")),
            (r"^a\-b\_c\@d$", Some("^a-b_c@d$")),
            ("(?P<year>[0-9]{4})", Some("(?<year>[0-9]{4})")),
            ("/^[A-Z]{2}$/i", Some("^[a-zA-Z]{2}$")),
            ("/^x+$/", Some("^x+$")),
            ("^{name}$", Some(r"^\{name\}$")),
            ("a++b", Some("a+b")),
            ("(?>a)b", None),
            ("[", None),
            ("(", None),
            ("*", None),
        ] {
            assert_eq!(patterns.portable(given).as_deref(), made, "{given}");
        }
        assert_eq!(patterns.portable(&"a".repeat(MAX_LENGTH + 1)), None);
    }
}
