//! How a caller finds out whether a mutation took place that ended without saying so.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{Binding, Name};

/// How a caller finds out whether a mutation took place: a query to call, and how its answer shows it.
///
/// As the recovery of a failure, its bindings take the failure's public fields. Of an operation, they take
/// the members of the input, since a call that is cut off has no details.
///
/// ```
/// use redress_contract::Verification;
/// use serde_json::json;
///
/// let verification = Verification::new("orders.get", "/status", "Look at the order before you pay it again.")
///     .is("paid")
///     .bind("id", "order");
/// assert!(verification.done().shown_by(&json!({"id": "a-1", "status": "paid"})));
/// assert!(!verification.done().shown_by(&json!({"id": "a-1", "status": "open"})));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verification {
    operation: Name,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    bind: Vec<Binding>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    done: Done,
    hint: String,
}

/// How the answer of a query shows that an effect took place. An answer that is a failure shows nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Done {
    /// An RFC 6901 pointer into the output.
    pub pointer: String,
    /// What stands there then. Without it, anything but null does.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub is: Option<Value>,
}

/// A null that is written is a value like any other, for a rule to refuse.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl Done {
    /// Whether `output`, the answer of the query, shows that the effect took place.
    pub fn shown_by(&self, output: &Value) -> bool {
        match (output.pointer(&self.pointer), &self.is) {
            (Some(found), Some(is)) => found == is,
            (Some(found), None) => !found.is_null(),
            (None, _) => false,
        }
    }
}

/// As a person reads it: `/status is "paid"`.
impl std::fmt::Display for Done {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.is {
            Some(is) => write!(f, "{} is {is}", self.pointer),
            None => write!(f, "{} is there", self.pointer),
        }
    }
}

impl Verification {
    /// Calls `operation`, whose answer shows by what it has at `pointer` that the effect took place.
    pub fn new(operation: &str, pointer: impl Into<String>, hint: impl Into<String>) -> Verification {
        Verification {
            operation: Name::unchecked(operation),
            bind: Vec::new(),
            why: None,
            done: Done { pointer: pointer.into(), is: None },
            hint: hint.into(),
        }
    }

    /// Says which value shows it.
    #[must_use]
    pub fn is(mut self, value: impl Into<Value>) -> Verification {
        self.done.is = Some(value.into());
        self
    }

    /// Gives the query's input member `field` the value of the failure's field, or of the operation's input
    /// member, `from`.
    #[must_use]
    pub fn bind(mut self, field: impl Into<String>, from: impl Into<String>) -> Verification {
        self.bind.push(Binding { field: field.into(), from: from.into() });
        self
    }

    /// Says in a few words why the query helps.
    #[must_use]
    pub fn why(mut self, text: impl Into<String>) -> Verification {
        self.why = Some(text.into());
        self
    }

    /// The query to call.
    pub fn target(&self) -> &Name {
        &self.operation
    }

    /// Which of its input members come from where.
    pub fn bindings(&self) -> &[Binding] {
        &self.bind
    }

    /// Why, in a few words.
    pub fn reason(&self) -> Option<&str> {
        self.why.as_deref()
    }

    /// How its answer shows that the effect took place.
    pub fn done(&self) -> &Done {
        &self.done
    }

    /// What to do, told to a person or a model.
    pub fn hint(&self) -> &str {
        &self.hint
    }

    /// The verb and the hint that a recovery is made of.
    pub(crate) fn into_parts(self) -> (crate::Verb, String) {
        let Verification { operation, bind, why, done, hint } = self;
        (crate::Verb::Verify { operation, bind, why, done }, hint)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_shows_it_by_the_value_at_the_pointer() {
        let done = |is: Option<Value>| Done { pointer: "/file/exists".to_owned(), is };
        let rows = [
            (json!({"file": {"exists": true}}), done(Some(json!(true))), true),
            (json!({"file": {"exists": false}}), done(Some(json!(true))), false),
            (json!({"file": {"exists": "true"}}), done(Some(json!(true))), false),
            (json!({"file": {}}), done(Some(json!(false))), false),
            (json!({"file": {"exists": false}}), done(None), true),
            (json!({"file": {"exists": null}}), done(None), false),
            (json!({"file": {}}), done(None), false),
            (json!([]), done(None), false),
        ];
        for (output, done, shown) in rows {
            assert_eq!(done.shown_by(&output), shown, "{done} in {output}");
        }
    }

    #[test]
    fn a_null_that_is_written_does_not_become_nothing() {
        let done: Done = serde_json::from_value(json!({"pointer": "/a", "is": null})).unwrap();
        assert_eq!(done.is, Some(Value::Null));
        let done: Done = serde_json::from_value(json!({"pointer": "/a"})).unwrap();
        assert_eq!(done.is, None);
    }
}
