//! The document that everything is read from: one tree, its files put into it, references followed within it.

use std::{collections::HashMap, sync::OnceLock};

use crate::{
    ReadError,
    document::{Node, pointer},
};

/// How many references may lead to one another before something stands there.
const MAX_HOPS: usize = 32;

/// Where files beside the document stand in the tree.
pub(super) const FILES: &str = "x-redress-files";

/// Which generation of OpenAPI a document says that it is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Generation {
    /// 2.0, which is Swagger.
    Two,
    /// 3.0, 3.1, 3.2, and whatever comes and still says `openapi: 3`.
    Three,
}

/// One tree with everything in it.
#[derive(Debug)]
pub(crate) struct Source {
    pub(super) root: Node,
    /// What the document says that it is written in.
    pub(super) version: String,
    names: OnceLock<HashMap<String, String>>,
}

/// A place in the document.
#[derive(Clone, Debug)]
pub(super) struct Located<'d> {
    pub(super) node: &'d Node,
    pub(super) pointer: String,
}

/// Why a reference leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Broken {
    pub(super) reference: String,
    pub(super) why: &'static str,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let short: String = self.reference.chars().take(120).collect();
        write!(f, "the reference `{short}` {}", self.why)
    }
}

/// The generation and the version that a document names.
pub(super) fn version(root: &Node) -> Result<(Generation, String), ReadError> {
    let refuse = |reason: &str| Err(ReadError::NotOpenapi { reason: reason.to_owned() });
    let Some(_) = root.as_object() else { return refuse("it is no object") };
    if let Some(version) = root.scalar("openapi") {
        return match version.split('.').next() {
            Some("3") => Ok((Generation::Three, version)),
            Some(_) | None => refuse(&format!("its version is `{}`", version.chars().take(40).collect::<String>())),
        };
    }
    if let Some(version) = root.scalar("swagger") {
        let version = if version == "2" { "2.0".to_owned() } else { version };
        return match version.split('.').next() {
            Some("2") => Ok((Generation::Two, version)),
            Some(_) | None => refuse(&format!("its version is `{}`", version.chars().take(40).collect::<String>())),
        };
    }
    refuse("it has neither `openapi` nor `swagger`")
}

impl Source {
    pub(super) fn new(root: Node, version: String) -> Source {
        Source { root, version, names: OnceLock::new() }
    }

    /// The pointer that a reference leads to, whether or not something is there.
    pub(super) fn target(&self, reference: &str) -> Result<String, Broken> {
        let broken = |why| Broken { reference: reference.to_owned(), why };
        if let Some(fragment) = reference.strip_prefix('#') {
            let fragment = pointer::from_fragment(fragment);
            if fragment.is_empty() || fragment.starts_with('/') {
                return Ok(fragment.into_owned());
            }
            return self.named(reference).ok_or_else(|| broken("names an anchor that the document does not have"));
        }
        if let Some(found) = self.named(reference) {
            return Ok(found);
        }
        // Old documents, and people, write the bare name of a schema.
        let bare = pointer::joined("/components/schemas", reference);
        if self.root.at(&bare).is_some() {
            return Ok(bare);
        }
        Err(broken(if reference.contains("://") {
            "leads to an address, and no document was given for it"
        } else {
            "leads to a file that was not given"
        }))
    }

    /// What is called so by an `$id` or an anchor, which is looked through only where somebody asks for one.
    fn named(&self, reference: &str) -> Option<String> {
        let names = self.names.get_or_init(|| {
            let mut names = HashMap::new();
            collect_names(&self.root, &mut String::new(), "", &mut names);
            names
        });
        if names.is_empty() {
            return None;
        }
        if let Some(found) = names.get(reference) {
            return Some(found.clone());
        }
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let base = names.get(uri).or_else(|| {
            let tail = format!("/{}", uri.trim_start_matches("./"));
            names.iter().filter(|(name, _)| name.ends_with(&tail)).map(|(_, place)| place).min()
        })?;
        let fragment = pointer::from_fragment(fragment);
        if fragment.is_empty() || fragment.starts_with('/') {
            return Some(format!("{base}{fragment}"));
        }
        names.get(&format!("#{fragment}")).cloned()
    }

    /// What a reference leads to, through further references.
    pub(super) fn resolve(&self, reference: &str) -> Result<Located<'_>, Broken> {
        let broken = |why| Broken { reference: reference.to_owned(), why };
        let mut pointer = self.target(reference)?;
        for _ in 0..MAX_HOPS {
            let (node, place) = self.step(&pointer).ok_or_else(|| broken("leads to nothing"))?;
            match node.text("$ref") {
                Some(next) => pointer = self.target(next)?,
                None => return Ok(Located { node, pointer: place }),
            }
        }
        Err(broken("leads in a circle"))
    }

    /// What stands at a pointer; a reference there is left alone.
    pub(super) fn locate(&self, pointer: &str) -> Result<Located<'_>, Broken> {
        let found = self.step(pointer).map(|(node, pointer)| Located { node, pointer });
        found.ok_or_else(|| Broken { reference: format!("#{pointer}"), why: "leads to nothing" })
    }

    /// What stands at a pointer. Where the way leads through a reference, it goes on behind it.
    fn step(&self, wanted: &str) -> Option<(&Node, String)> {
        if let Some(node) = self.root.at(wanted) {
            return Some((node, wanted.to_owned()));
        }
        let mut place = String::new();
        let mut node = &self.root;
        let mut hops = 0;
        for segment in pointer::segments(wanted)? {
            while let (Some(next), None) = (node.text("$ref"), node.get(&segment)) {
                hops += 1;
                if hops > MAX_HOPS {
                    return None;
                }
                place = self.target(next).ok()?;
                node = self.root.at(&place)?;
            }
            node = match node {
                Node::Object(members) => members.get(&segment)?,
                Node::Array(items) => items.get(pointer::index(&segment)?)?,
                Node::Null | Node::Bool(_) | Node::Number(_) | Node::String(_) => return None,
            };
            pointer::push(&mut place, &segment);
        }
        Some((node, place))
    }

    /// The node itself, or what it refers to.
    pub(super) fn follow<'d>(&'d self, node: &'d Node, pointer: &str) -> Result<Located<'d>, Broken> {
        match node.text("$ref") {
            Some(reference) => self.resolve(reference),
            None => Ok(Located { node, pointer: pointer.to_owned() }),
        }
    }
}

/// Gathers what parts of the document are called: `$id`, `$anchor`, `$dynamicAnchor` and `$self`.
fn collect_names(node: &Node, place: &mut String, base: &str, names: &mut HashMap<String, String>) {
    let length = place.len();
    match node {
        Node::Object(members) => {
            let own = node.text("$id").or_else(|| node.text("$self"));
            if let Some(id) = own {
                names.entry(id.trim_end_matches('#').to_owned()).or_insert_with(|| place.clone());
            }
            let base = own.unwrap_or(base);
            for keyword in ["$anchor", "$dynamicAnchor"] {
                if let Some(anchor) = node.text(keyword) {
                    names.entry(format!("#{anchor}")).or_insert_with(|| place.clone());
                    names.entry(format!("{base}#{anchor}")).or_insert_with(|| place.clone());
                }
            }
            for (name, inner) in members.iter() {
                pointer::push(place, name);
                collect_names(inner, place, base, names);
                place.truncate(length);
            }
        }
        Node::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                pointer::push(place, &index.to_string());
                collect_names(inner, place, base, names);
                place.truncate(length);
            }
        }
        Node::Null | Node::Bool(_) | Node::Number(_) | Node::String(_) => {}
    }
}
