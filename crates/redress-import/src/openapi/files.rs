//! Files beside the document: which it refers to, and how they become part of it.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Limits, ReadError,
    document::{Members, Node, parse, pointer},
};

use super::source::FILES;

/// The files that references lead to, relative to the document, that are not among `files` yet. Once these are given too,
/// they may refer to more: ask again until there are none. An address (`https://…`) is told like a file; whether it is
/// got is for the caller to say.
///
/// ```
/// use redress_import::openapi;
///
/// let document = br##"{"openapi": "3.1.0", "paths": {"/a": {"$ref": "paths/a.yaml#/a"}}}"##;
/// assert_eq!(openapi::needs(document, &Default::default())?, ["paths/a.yaml"]);
/// # Ok::<(), redress_import::ReadError>(())
/// ```
///
/// # Errors
///
/// Where the document or one of the files cannot be parsed.
pub fn needs(document: &[u8], files: &BTreeMap<String, Vec<u8>>) -> Result<Vec<String>, ReadError> {
    let limits = Limits::default();
    let root = parse(document, limits)?.node;
    let mut wanted = BTreeSet::new();
    references(&root, &mut |reference| wanted.extend(file_of(reference, "")));
    for (name, bytes) in files {
        let file = parsed(name, bytes, limits)?;
        references(&file, &mut |reference| wanted.extend(file_of(reference, name)));
    }
    Ok(wanted.into_iter().filter(|name| !files.contains_key(name)).collect())
}

/// Puts `files` into the tree of the document, and makes the references lead there.
pub(super) fn join(root: &mut Node, files: &BTreeMap<String, Vec<u8>>, limits: Limits) -> Result<(), ReadError> {
    if files.is_empty() {
        return Ok(());
    }
    let mut joined = Members::new();
    redirect(root, "", files);
    for (name, bytes) in files {
        let mut file = parsed(name, bytes, limits)?;
        redirect(&mut file, name, files);
        joined.insert(name.as_str(), file);
    }
    if let Node::Object(members) = root {
        members.insert(FILES, Node::Object(joined));
    }
    Ok(())
}

fn parsed(name: &str, bytes: &[u8], limits: Limits) -> Result<Node, ReadError> {
    let refused = |source| ReadError::File { name: name.to_owned(), source: Box::new(source) };
    parse(bytes, limits).map(|parsed| parsed.node).map_err(refused)
}

/// Shows every reference of the tree.
fn references(node: &Node, each: &mut impl FnMut(&str)) {
    match node {
        Node::Object(members) => {
            if let Some(reference) = node.text("$ref") {
                each(reference);
            }
            members.iter().for_each(|(_, inner)| references(inner, each));
        }
        Node::Array(items) => items.iter().for_each(|inner| references(inner, each)),
        Node::Null | Node::Bool(_) | Node::Number(_) | Node::String(_) => {}
    }
}

/// Makes references to files, and those within a file, lead to where the files stand in the tree.
fn redirect(node: &mut Node, own: &str, files: &BTreeMap<String, Vec<u8>>) {
    match node {
        Node::Object(members) => {
            if let Some(Node::String(reference)) = members.get_mut("$ref") {
                let (_, fragment) = reference.split_once('#').unwrap_or((reference, ""));
                let fragment = pointer::from_fragment(fragment).into_owned();
                let file = match file_of(reference, own) {
                    Some(file) => Some(file).filter(|file| files.contains_key(file)),
                    // A reference within a file stays in it.
                    None => Some(own.to_owned()).filter(|own| !own.is_empty() && reference.starts_with('#')),
                };
                if let Some(file) = file.filter(|_| fragment.is_empty() || fragment.starts_with('/')) {
                    let place = pointer::joined(&pointer::joined("", FILES), &file);
                    *reference = format!("#{place}{fragment}").into();
                }
            }
            members.iter_mut().for_each(|(_, inner)| redirect(inner, own, files));
        }
        Node::Array(items) => items.iter_mut().for_each(|inner| redirect(inner, own, files)),
        Node::Null | Node::Bool(_) | Node::Number(_) | Node::String(_) => {}
    }
}

/// The file that a reference in the file `own` leads to, relative to the document; none where it stays in its file.
fn file_of(reference: &str, own: &str) -> Option<String> {
    let (file, _) = reference.split_once('#').unwrap_or((reference, ""));
    if file.is_empty() {
        return None;
    }
    if file.contains("://") || file.starts_with('/') {
        return Some(file.to_owned());
    }
    // The bare name of a schema is no file.
    if !file.contains(['/', '.']) {
        return None;
    }
    if let Some((scheme, rest)) = own.split_once("://") {
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        return Some(format!("{scheme}://{host}/{}", relative(file, path)));
    }
    Some(relative(file, own))
}

/// The path of `file` as seen from where `own` is seen from.
fn relative(file: &str, own: &str) -> String {
    let folder = own.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut way: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in file.split('/') {
        match part {
            "" | "." => {}
            ".." if way.last().is_some_and(|last| *last != "..") => {
                way.pop();
            }
            other => way.push(other),
        }
    }
    way.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_relative_to_the_file_that_it_stands_in() {
        for (reference, own, file) in [
            ("a.yaml#/x", "", Some("a.yaml")),
            ("./a.yaml", "", Some("a.yaml")),
            ("../a.yaml", "paths/b.yaml", Some("a.yaml")),
            ("../../a.yaml", "paths/b.yaml", Some("../a.yaml")),
            ("c/d.json#/x", "paths/b.yaml", Some("paths/c/d.json")),
            ("#/x", "paths/b.yaml", None),
            ("Pet", "", None),
            ("https://example.com/a.yaml#/x", "b.yaml", Some("https://example.com/a.yaml")),
            ("../c.yaml", "https://example.com/a/b.yaml", Some("https://example.com/c.yaml")),
        ] {
            assert_eq!(file_of(reference, own).as_deref(), file, "{reference} in {own}");
        }
    }
}
