//! What operations are called: `namespace.name`, legal, unique, and the same however the document is ordered.
//!
//! A name comes from the operation itself (its id, its tag, its method and path) and never from its place. Where two would
//! be called alike, all of them are called by their methods and paths; where that is not enough, a fingerprint of those is
//! added. A name that is too long is cut, and then gets the fingerprint, so that what comes into the document later does not
//! change it.

use std::collections::{BTreeMap, BTreeSet};

use redress_contract::Name;
use sha2::{Digest, Sha256};

/// How many digits a fingerprint has.
const DIGITS: usize = 6;
/// The longest namespace, so that there is room for the name.
const LONGEST_NAMESPACE: usize = 28;

/// What a name is made from.
#[derive(Clone, Debug)]
pub(super) struct Named<'d> {
    pub(super) method: &'d str,
    pub(super) path: &'d str,
    pub(super) id: Option<&'d str>,
    pub(super) tag: Option<&'d str>,
}

/// The names of these operations, in their order.
pub(super) fn names(operations: &[Named<'_>], prefix: Option<&str>, reserved: &[String]) -> Vec<Name> {
    let prefix = prefix.map(snake).filter(|prefix| !prefix.is_empty());
    let whole = |namespace: &str, name: &str, key: &str| {
        let namespace = match &prefix {
            Some(prefix) => format!("{}.{namespace}", legal(prefix)),
            None if reserved.iter().any(|taken| taken == namespace) => format!("{namespace}_api"),
            None => namespace.to_owned(),
        };
        fitting(&namespace, name, key)
    };
    let mut made: Vec<String> = operations
        .iter()
        .map(|operation| match by_id(operation) {
            Some((namespace, name)) => whole(&namespace, &name, &key(operation)),
            None => whole(&namespace(operation), &by_path(operation), &key(operation)),
        })
        .collect();
    // Called alike by their ids: by their paths, then.
    for place in alike(&made) {
        if let (Some(operation), Some(name)) = (operations.get(place), made.get_mut(place)) {
            *name = whole(&namespace(operation), &by_path(operation), &key(operation));
        }
    }
    let mut length = DIGITS;
    loop {
        let alike = alike(&made);
        if alike.is_empty() {
            break;
        }
        for place in alike {
            if let (Some(operation), Some(name)) = (operations.get(place), made.get_mut(place)) {
                *name = suffixed(name, &fingerprint(&key(operation), length));
            }
        }
        length += 2;
        if length > 32 {
            // The same method and path twice, which no document that is a tree can hold.
            for (number, name) in made.iter_mut().enumerate() {
                *name = suffixed(name, &number.to_string());
            }
            break;
        }
    }
    made.iter().map(|name| Name::new(name).unwrap_or_else(|_| fallback(name))).collect()
}

/// Whatever a name was made from, what is made of it here is one.
fn fallback(text: &str) -> Name {
    let name = format!("api.operation_{}", fingerprint(text, 12));
    Name::new(&name).expect("lower-case letters, digits and underscores are a name")
}

fn key(operation: &Named<'_>) -> String {
    format!("{} {}", operation.method, operation.path)
}

/// The places of those that would be the same tool as another.
fn alike(names: &[String]) -> Vec<usize> {
    let mut tools: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (place, name) in names.iter().enumerate() {
        tools.entry(name.replace('.', "_")).or_default().push(place);
    }
    tools.into_values().filter(|places| places.len() > 1).flatten().collect()
}

/// Namespace and name, where the document says what it calls the operation.
fn by_id(operation: &Named<'_>) -> Option<(String, String)> {
    let id = operation.id?;
    // `repos/get-content` and `chat.postMessage` say both.
    if let Some((namespace, name)) = id.split_once(['/', '.', ':']) {
        let (namespace, name) = (snake(namespace), snake(name));
        if !namespace.is_empty() && !name.is_empty() {
            return Some((legal(&namespace), legal(&name)));
        }
    }
    let name = snake(id);
    // `get` alone says less than the path does.
    if name.is_empty() || ["get", "post", "put", "patch", "delete", "list"].contains(&name.as_str()) {
        return None;
    }
    Some((namespace(operation), legal(&name)))
}

/// The tag, or the first word of the path that says something.
fn namespace(operation: &Named<'_>) -> String {
    let tag = operation.tag.map(snake).filter(|tag| !tag.is_empty());
    let word = || {
        let words = operation.path.split('/').filter(|word| !word.starts_with('{'));
        words.map(snake).find(|word| !word.is_empty() && word != "api" && word != "rest" && !is_version(word))
    };
    legal(&tag.or_else(word).unwrap_or_else(|| "api".to_owned()))
}

fn is_version(word: &str) -> bool {
    word.strip_prefix('v').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
        || word.chars().all(|letter| letter.is_ascii_digit() || letter == '_')
}

/// `GET /files/{id}/content` is `get_files_by_id_content`.
fn by_path(operation: &Named<'_>) -> String {
    let mut words = vec![snake(operation.method)];
    for segment in operation.path.split(['/', '#', '?']).filter(|segment| !segment.is_empty()) {
        let mut rest = segment;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, behind) = after.split_once('}').unwrap_or((after, ""));
            words.push(snake(before));
            words.push(format!("by_{}", snake(name)));
            rest = behind;
        }
        words.push(snake(rest));
    }
    words.retain(|word| !word.is_empty());
    legal(&words.join("_"))
}

/// Words in lower case with underscores between them: `listHTTPCalls-v2` is `list_http_calls_v2`.
pub(super) fn snake(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let mut made = String::with_capacity(text.len() + 8);
    for (place, letter) in letters.iter().enumerate() {
        if !letter.is_ascii_alphanumeric() {
            if !made.ends_with('_') {
                made.push('_');
            }
            continue;
        }
        let before = place.checked_sub(1).and_then(|place| letters.get(place));
        let after = letters.get(place + 1);
        let begins = letter.is_ascii_uppercase()
            && before.is_some_and(|before| {
                before.is_ascii_lowercase()
                    || before.is_ascii_digit()
                    || (before.is_ascii_uppercase() && after.is_some_and(char::is_ascii_lowercase))
            });
        if begins && !made.ends_with('_') {
            made.push('_');
        }
        made.push(letter.to_ascii_lowercase());
    }
    made.trim_matches('_').to_owned()
}

/// A word that may stand in a name: it begins with a letter.
fn legal(word: &str) -> String {
    if word.starts_with(|first: char| first.is_ascii_lowercase()) { word.to_owned() } else { format!("n{word}") }
}

/// The whole name, cut where it would be too long.
fn fitting(namespace: &str, name: &str, key: &str) -> String {
    let namespace = match namespace.get(..LONGEST_NAMESPACE) {
        Some(cut) if namespace.len() > LONGEST_NAMESPACE => cut.trim_end_matches(['_', '.']),
        Some(_) | None => namespace,
    };
    let whole = format!("{namespace}.{name}");
    if whole.len() <= Name::MAX { whole } else { suffixed(&whole, &fingerprint(key, DIGITS)) }
}

/// A name with something behind it, cut before that.
fn suffixed(name: &str, suffix: &str) -> String {
    let room = Name::MAX - suffix.len() - 1;
    let cut = name.get(..room.min(name.len())).unwrap_or(name).trim_end_matches('_');
    format!("{cut}_{suffix}")
}

/// The first digits of a hash, which are the same everywhere and for ever.
pub(super) fn fingerprint(text: &str, digits: usize) -> String {
    let hash = Sha256::digest(text.as_bytes());
    hash.iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .take(digits)
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

/// Members of an input are called as models and hosts can write them: letters, digits, `_`, `.` and `-`, at most 64.
pub(super) fn member(text: &str) -> String {
    const MAX_LENGTH: usize = 64;
    let mut made = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '-' | '_' => made.push(letter),
            ']' | ')' | '}' => {}
            _ if made.ends_with('_') || made.is_empty() => {}
            _ => made.push('_'),
        }
    }
    let made = made.trim_end_matches(['_', '.']);
    let made = if made.is_empty() { format!("p_{}", fingerprint(text, DIGITS)) } else { made.to_owned() };
    if made.len() <= MAX_LENGTH {
        return made;
    }
    let cut = made.get(..MAX_LENGTH - DIGITS - 1).unwrap_or_default();
    format!("{cut}_{}", fingerprint(text, DIGITS))
}

/// Different names for members that would have the same one: with their places before them, and if that is not enough,
/// with a number behind them, by their names on the wire.
pub(super) fn members(wanted: &[(&str, &str)]) -> Vec<String> {
    let mut made: Vec<String> = wanted.iter().map(|(_, name)| member(name)).collect();
    let twice = |made: &[String]| -> BTreeSet<usize> {
        let mut seen: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (place, name) in made.iter().enumerate() {
            seen.entry(name).or_default().push(place);
        }
        seen.into_values().filter(|places| places.len() > 1).flatten().collect()
    };
    for place in twice(&made) {
        if let (Some(name), Some((prefix, wire))) = (made.get_mut(place), wanted.get(place)) {
            *name = member(&format!("{prefix}.{wire}"));
        }
    }
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut order: Vec<usize> = (0..made.len()).collect();
    order.sort_by_key(|place| wanted.get(*place));
    for place in order {
        let Some(name) = made.get_mut(place) else { continue };
        let plain = name.clone();
        let mut number = 1;
        while !taken.insert(name.clone()) {
            number += 1;
            *name = format!("{}_{number}", plain.get(..60).unwrap_or(&plain));
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(rows: &[(&'static str, &'static str, Option<&'static str>, Option<&'static str>)]) -> Vec<String> {
        let rows: Vec<Named<'_>> =
            rows.iter().map(|(method, path, id, tag)| Named { method, path, id: *id, tag: *tag }).collect();
        names(&rows, None, &["files".to_owned()]).iter().map(Name::to_string).collect()
    }

    #[test]
    fn a_name_says_what_the_document_says() {
        let rows = [
            ("GET", "/repos/{owner}/{repo}", Some("repos/get"), Some("repos")),
            ("GET", "/v1/account", Some("GetAccount"), None),
            ("POST", "/files/{id}", None, Some("Files")),
            ("GET", "/{id}", Some("get"), None),
            ("GET", "/2fa", Some("2FA status"), None),
            ("GET", "/x", Some("日本"), Some("日本")),
        ];
        assert_eq!(
            called(&rows),
            [
                "repos.get",
                "account.get_account",
                "files_api.post_files_by_id",
                "api.get_by_id",
                "n2fa.n2_fa_status",
                "x.get_x"
            ]
        );
    }

    #[test]
    fn names_are_unique_legal_and_the_same_in_any_order() {
        let long = "a".repeat(90);
        let longer = format!("/things/{long}/b");
        let rows = [
            Named { method: "GET", path: "/a", id: Some("list_things"), tag: Some("t") },
            Named { method: "GET", path: "/b", id: Some("listThings"), tag: Some("t") },
            Named { method: "GET", path: "/t/c", id: Some("c"), tag: Some("t_get_t") },
            Named { method: "GET", path: "/t-c", id: None, tag: Some("t") },
            Named { method: "GET", path: &longer, id: None, tag: None },
            Named { method: "PUT", path: &longer, id: None, tag: None },
        ];
        let straight = names(&rows, None, &[]);
        let turned: Vec<Named<'_>> = rows.iter().rev().cloned().collect();
        let mut turned = names(&turned, None, &[]);
        turned.reverse();
        assert_eq!(straight, turned);
        let tools: BTreeSet<String> = straight.iter().map(Name::tool).collect();
        assert_eq!(tools.len(), rows.len());
        assert!(straight.iter().all(Name::is_well_formed), "{straight:?}");
        assert_eq!(names(&rows[..1], Some("Git Hub"), &[])[0], "git_hub.t.list_things");
    }

    #[test]
    fn members_have_names_that_hosts_take_and_a_place_only_where_two_are_alike() {
        let wanted =
            [("path", "id"), ("body", "id"), ("query", "filter[name]"), ("query", "$top"), ("header", "X-Trace")];
        assert_eq!(members(&wanted), ["path.id", "body.id", "filter_name", "top", "X-Trace"]);
        assert_eq!(
            members(&[("query", "a[]"), ("query", "a")]),
            ["query.a", "query.a_2"].map(str::to_owned).to_vec().into_iter().rev().collect::<Vec<_>>()
        );
    }
}
