//! The operations of JSON Patch (RFC 6902) that a fix is made of.

use serde_json::{Value, json};

use super::instance_path::{around, last};

/// One change to a document.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PatchOperation {
    /// Another value at a place.
    Replace { path: String, value: Value },
    /// The value under another name in the same object.
    Move { from: String, path: String },
}

impl PatchOperation {
    /// Makes the change; `None` if the document has no such place, or has one where there should
    /// be none.
    pub(super) fn apply(&self, document: &mut Value) -> Option<()> {
        match self {
            Self::Replace { path, value } => {
                *document.pointer_mut(path)? = value.clone();
            }
            Self::Move { from, path } => {
                let target = document.pointer(around(path))?.as_object()?;
                if target.contains_key(&last(path)?) {
                    return None;
                }
                let source = document.pointer_mut(around(from))?.as_object_mut()?;
                let value = source.remove(&last(from)?)?;
                let target = document.pointer_mut(around(path))?.as_object_mut()?;
                target.insert(last(path)?, value);
            }
        }
        Some(())
    }

    /// The change as an operation of a patch.
    pub(super) fn operation(&self) -> Value {
        match self {
            Self::Replace { path, value } => json!({"op": "replace", "path": path, "value": value}),
            Self::Move { from, path } => json!({"op": "move", "from": from, "path": path}),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_does_not_overwrite() {
        let change = PatchOperation::Move { from: "/a".to_owned(), path: "/b".to_owned() };
        let mut document = json!({"a": 1, "b": 2});
        assert_eq!(change.apply(&mut document), None);
        let mut document = json!({"a": 1});
        assert_eq!(change.apply(&mut document), Some(()));
        assert_eq!(document, json!({"b": 1}));
    }
}
