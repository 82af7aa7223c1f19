//! Changes to a document, as an OpenAPI Overlay 1.1 says them (also 1.0).

use serde_json::Value;
use serde_json_path::JsonPath;

use crate::{
    Limits, ReadError,
    document::{Members, Node, parse, pointer},
};

/// How many actions an overlay may have.
const MAX_ACTIONS: usize = 1_000;
/// How long the path of an action may be, and how deep brackets may nest in it.
const LONGEST_PATH: usize = 2_000;
const DEEPEST_PATH: usize = 24;
/// How many values the actions of one overlay may bring in: an update goes to every place that a path finds.
const MAX_VALUES: usize = 2_000_000;

/// Why an overlay cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OverlayError {
    /// It is neither JSON nor YAML.
    #[error("the overlay cannot be parsed")]
    Unreadable(#[source] Box<ReadError>),
    /// It is no overlay of a version that is known.
    #[error("this is not an overlay of version 1: {reason}")]
    NotAnOverlay {
        /// What is missing or wrong.
        reason: String,
    },
    /// The path of an action is none.
    #[error("action {action} has a path that is not JSONPath: {reason}")]
    Path {
        /// Which action, from 1.
        action: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// An update does not fit what it is for.
    #[error("the update of action {action} does not fit what stands at `{pointer}`")]
    Misfit {
        /// Which action, from 1.
        action: usize,
        /// Where in the document.
        pointer: String,
    },
    /// What is copied has to be one thing.
    #[error("action {action} copies from a path that finds {found} places instead of one")]
    Copy {
        /// Which action, from 1.
        action: usize,
        /// How many there are.
        found: usize,
    },
    /// It brings in more than is kept.
    #[error("the overlay brings in more than {max} values")]
    TooLarge {
        /// The most values.
        max: usize,
    },
}

/// Changes to a document.
///
/// ```
/// use redress_import::{Overlay, ReadOptions, openapi};
///
/// let overlay = Overlay::parse(br#"
/// overlay: 1.1.0
/// info: {title: Better words, version: "1"}
/// actions:
///   - target: $.paths['/orders'].get
///     update: {summary: Every order that is open.}
///   - target: $.paths['/admin']
///     remove: true
/// "#)?;
/// let document = br#"{"openapi": "3.1.0", "info": {"title": "Shop", "version": "1"}, "paths": {
///     "/orders": {"get": {"summary": "orders", "responses": {}}}, "/admin": {"get": {"responses": {}}}}}"#;
/// let import = openapi::read(document, &ReadOptions { overlays: vec![overlay], ..ReadOptions::default() })?;
/// assert_eq!(import.operations.len(), 1);
/// assert_eq!(import.operations[0].operation.summary(), "Every order that is open.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Overlay {
    actions: Vec<Action>,
}

#[derive(Clone, Debug)]
struct Action {
    target: JsonPath,
    written: String,
    does: Does,
}

#[derive(Clone, Debug)]
enum Does {
    Update(Node),
    Copy(JsonPath),
    Remove,
}

impl Overlay {
    /// Reads an overlay, which is JSON or YAML.
    ///
    /// # Errors
    ///
    /// Where it is no overlay, or a path in it is no JSONPath.
    pub fn parse(bytes: &[u8]) -> Result<Overlay, OverlayError> {
        let node = parse(bytes, Limits::default()).map_err(|error| OverlayError::Unreadable(Box::new(error)))?.node;
        let refuse = |reason: &str| Err(OverlayError::NotAnOverlay { reason: reason.to_owned() });
        match node.scalar("overlay") {
            Some(version) if version == "1" || version.starts_with("1.") => {}
            Some(_) => return refuse("its version is another"),
            None => return refuse("it has no `overlay`"),
        }
        let Some(listed) = node.get("actions").and_then(Node::as_array) else { return refuse("it has no `actions`") };
        if listed.len() > MAX_ACTIONS {
            return refuse(&format!("it has more than {MAX_ACTIONS} actions"));
        }
        let actions: Result<Vec<Action>, OverlayError> =
            listed.iter().enumerate().map(|(place, action)| read(action, place + 1)).collect();
        Ok(Overlay { actions: actions? })
    }

    /// Makes the changes, and gives back the paths that found nothing.
    pub(crate) fn apply(&self, root: &mut Node) -> Result<Vec<String>, OverlayError> {
        let mut idle = Vec::new();
        // The library for paths reads another kind of tree, which is kept the same action by action.
        let mut mirror = root.to_value();
        let mut left = MAX_VALUES;
        for (place, action) in self.actions.iter().enumerate() {
            let number = place + 1;
            let mut places: Vec<String> =
                action.target.query_located(&mirror).dedup().locations().map(|path| path.to_json_pointer()).collect();
            if places.is_empty() {
                idle.push(action.written.clone());
                continue;
            }
            let update = match &action.does {
                Does::Remove => {
                    remove(root, &mut mirror, &mut places);
                    continue;
                }
                Does::Update(update) => update.clone(),
                Does::Copy(from) => {
                    let found = from.query(&mirror).all();
                    match found.as_slice() {
                        [one] => Node::from(*one),
                        several => return Err(OverlayError::Copy { action: number, found: several.len() }),
                    }
                }
            };
            let cost = values(&update).saturating_mul(places.len());
            left = left.checked_sub(cost).ok_or(OverlayError::TooLarge { max: MAX_VALUES })?;
            for pointer in places {
                let misfit = || OverlayError::Misfit { action: number, pointer: pointer.clone() };
                let node = root.at_mut(&pointer).ok_or_else(misfit)?;
                merge(node, &update, false).ok_or_else(misfit)?;
                if let Some(mirrored) = mirror.pointer_mut(&pointer) {
                    *mirrored = node.to_value();
                }
            }
        }
        Ok(idle)
    }
}

fn read(action: &Node, number: usize) -> Result<Action, OverlayError> {
    let written = action.text("target").unwrap_or_default().to_owned();
    let target = path(&written, number)?;
    let does = match (action.says("remove"), action.get("update"), action.text("copy")) {
        (true, _, _) => Does::Remove,
        (false, Some(update), _) => Does::Update(update.clone()),
        (false, None, Some(from)) => Does::Copy(path(from, number)?),
        (false, None, None) => Does::Update(Node::Object(Members::new())),
    };
    Ok(Action { target, written, does })
}

fn path(text: &str, action: usize) -> Result<JsonPath, OverlayError> {
    let refuse = |reason: String| OverlayError::Path { action, reason };
    if text.len() > LONGEST_PATH {
        return Err(refuse(format!("it has {} bytes, and at most {LONGEST_PATH} are read", text.len())));
    }
    let mut depth = 0_usize;
    for letter in text.chars() {
        match letter {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST_PATH {
            return Err(refuse("its brackets nest too deep".to_owned()));
        }
    }
    JsonPath::parse(text).map_err(|error| refuse(error.to_string()))
}

/// Merges an update into what stands there: objects member by member, lists one behind the other, anything else in the
/// place of what was there. At the place itself a list takes the update as one more item.
fn merge(node: &mut Node, update: &Node, within: bool) -> Option<()> {
    match (node, update) {
        (Node::Object(members), Node::Object(more)) => {
            for (name, update) in more.iter() {
                match members.get_mut(name) {
                    Some(known) => merge(known, update, true)?,
                    None => drop(members.insert(name, update.clone())),
                }
            }
        }
        (Node::Array(items), Node::Array(more)) => items.extend(more.iter().cloned()),
        (Node::Array(items), one) if !within => items.push(one.clone()),
        // A list or an object at the place itself cannot become something else; a member can.
        (Node::Object(_), _) if !within => return None,
        (known, update) => *known = update.clone(),
    }
    Some(())
}

/// Removes what stands at these places, the last first, so that the places before keep theirs.
fn remove(root: &mut Node, mirror: &mut Value, places: &mut [String]) {
    let key = |place: &String| -> Vec<(usize, String)> {
        let names = pointer::segments(place).into_iter().flatten();
        names.map(|name| (pointer::index(&name).unwrap_or(usize::MAX), name.into_owned())).collect()
    };
    places.sort_by_cached_key(key);
    for place in places.iter().rev() {
        let Some((above, _)) = place.rsplit_once('/') else { continue };
        let name = pointer::last(place);
        match root.at_mut(above) {
            Some(Node::Object(members)) => drop(members.remove(&name)),
            Some(Node::Array(items)) => {
                if let Some(index) = pointer::index(&name).filter(|index| *index < items.len()) {
                    items.remove(index);
                }
            }
            Some(_) | None => {}
        }
        match mirror.pointer_mut(above) {
            Some(Value::Object(members)) => drop(members.remove(&*name)),
            Some(Value::Array(items)) => {
                if let Some(index) = pointer::index(&name).filter(|index| *index < items.len()) {
                    items.remove(index);
                }
            }
            Some(_) | None => {}
        }
    }
}

fn values(node: &Node) -> usize {
    match node {
        Node::Array(items) => 1 + items.iter().map(values).sum::<usize>(),
        Node::Object(members) => 1 + members.iter().map(|(_, inner)| values(inner)).sum::<usize>(),
        Node::Null | Node::Bool(_) | Node::Number(_) | Node::String(_) => 1,
    }
}
