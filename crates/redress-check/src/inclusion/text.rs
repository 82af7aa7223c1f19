//! Texts of a format or a pattern.

/// One text of each format that is known.
const FORMATS: [(&str, &str); 16] = [
    ("date-time", "2024-02-29T12:30:00Z"),
    ("date", "2024-02-29"),
    ("time", "12:30:00Z"),
    ("duration", "P1D"),
    ("email", "ada@example.org"),
    ("idn-email", "ada@example.org"),
    ("hostname", "example.org"),
    ("idn-hostname", "example.org"),
    ("ipv4", "192.0.2.1"),
    ("ipv6", "2001:db8::1"),
    ("uri", "https://example.org/a"),
    ("uri-reference", "/a"),
    ("iri", "https://example.org/a"),
    ("uuid", "123e4567-e89b-42d3-a456-426614174000"),
    ("json-pointer", "/a/0"),
    ("regex", "^a$"),
];

/// A text of a format.
pub(super) fn by_format(format: &str) -> Option<&'static str> {
    FORMATS.iter().find(|(known, _)| *known == format).map(|(_, text)| *text)
}

/// How many letters are made of a pattern.
const MAX_LONG: usize = 200;

/// Texts that a plain pattern matches: letters, classes, dots, counts and alternatives at the top. Others give nothing.
pub(super) fn by_pattern(pattern: &str) -> Vec<String> {
    let bare = pattern.strip_prefix('^').unwrap_or(pattern);
    let bare = bare.strip_suffix('$').unwrap_or(bare);
    let bare = bare
        .strip_prefix('(')
        .and_then(|inner| inner.strip_suffix(')'))
        .filter(|inner| !inner.contains(['(', ')']))
        .unwrap_or(bare);
    bare.split('|').filter_map(|one| written(one, false).into_iter().chain(written(one, true)).next()).collect()
}

/// The shortest text that a sequence matches, or one that is longer by one at the first count that is open.
fn written(pattern: &str, longer: bool) -> Option<String> {
    let mut made = String::new();
    let mut rest = pattern.chars().peekable();
    let mut is_longer = longer;
    while let Some(next) = rest.next() {
        let letter = match next {
            '[' => {
                let class: String = rest.by_ref().take_while(|letter| *letter != ']').collect();
                member(&class)?
            }
            '\\' => match rest.next()? {
                'd' => '0',
                'w' => 'a',
                's' => ' ',
                'S' | 'D' | 'W' => return None,
                other if other.is_alphanumeric() => return None,
                other => other,
            },
            '.' => 'a',
            '(' | ')' | '^' | '$' | '*' | '+' | '?' | '{' | '}' => return None,
            other => other,
        };
        let (least, is_open) = match rest.peek() {
            Some('*') => (0, true),
            Some('+') => (1, true),
            Some('?') => (0, true),
            Some('{') => {
                rest.next();
                let count: String = rest.by_ref().take_while(|letter| *letter != '}').collect();
                let least: usize = count.split(',').next()?.parse().ok()?;
                let times = if is_longer && count.contains(',') { least + 1 } else { least };
                made.extend(std::iter::repeat_n(letter, times.min(MAX_LONG)));
                continue;
            }
            _ => {
                made.push(letter);
                continue;
            }
        };
        rest.next();
        let times = if is_longer && is_open { least + 1 } else { least };
        is_longer = false;
        made.extend(std::iter::repeat_n(letter, times));
    }
    Some(made)
}

/// One letter of a class.
fn member(class: &str) -> Option<char> {
    let mut letters = class.chars();
    match letters.next()? {
        '^' => ['a', '0', '-', ' '].into_iter().find(|letter| !class.contains(*letter) && !class.contains("a-z")),
        '\\' => match letters.next()? {
            'd' => Some('0'),
            'w' => Some('a'),
            's' => Some(' '),
            other => Some(other),
        },
        first => Some(first),
    }
}
