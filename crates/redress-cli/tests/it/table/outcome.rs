//! The normal form of an outcome: what no face may change.

use serde_json::{Value, json};

/// How a call ended, with the items that came before, without what differs from call to call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) items: Vec<Value>,
    pub(crate) end: Value,
}

impl Outcome {
    /// A call that gave this output.
    pub(crate) fn output(output: Value) -> Outcome {
        Outcome { items: Vec::new(), end: json!({"ok": true, "result": output}) }
    }

    /// A call that ended with this envelope.
    pub(crate) fn envelope(mut envelope: Value) -> Outcome {
        let members = envelope.as_object_mut().expect("an envelope is an object");
        let meta = members.remove("_meta").expect("every envelope has `_meta`");
        for member in ["request_id", "elapsed_ms", "estimated_tokens"] {
            assert!(meta.get(member).is_some(), "`_meta` lacks `{member}`: {meta}");
        }
        // Where a face sends the output alone there is no `_meta`; in a failure there is, and
        // what it estimates is then the same too.
        if members["ok"] == false {
            members.insert("estimated_tokens".to_owned(), meta["estimated_tokens"].clone());
        }
        Outcome { items: Vec::new(), end: envelope }
    }

    /// A stream that ended well.
    pub(crate) fn completed() -> Outcome {
        Outcome { items: Vec::new(), end: json!({"ok": true}) }
    }

    /// The same end, after these items.
    pub(crate) fn after(mut self, items: Vec<Value>) -> Outcome {
        self.items = items;
        self
    }

    /// The code of a bad ending.
    pub(crate) fn code(&self) -> Option<&str> {
        self.end["code"].as_str()
    }
}

/// Takes what a face adds to an envelope off it, after making sure that it says again what the
/// envelope says.
pub(crate) fn without(mut envelope: Value, added: &[(&str, &str)]) -> Value {
    for (member, same_as) in added {
        let said = envelope.as_object_mut().and_then(|members| members.remove(*member));
        assert_eq!(said.as_ref(), envelope.get(*same_as), "`{member}` says something else than `{same_as}`");
    }
    envelope
}
