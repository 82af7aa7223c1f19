//! What the caller can do about a failure.

use serde::{Deserialize, Serialize};

use crate::{Done, Name, Verification};

/// What the caller can do about a failure: a verb that a program can follow and a hint
/// that a person or a model can read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "RecoveryDocument")]
pub struct Recovery {
    #[serde(flatten)]
    verb: Verb,
    hint: String,
}

/// What to do, in a closed set of words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case")]
pub enum Verb {
    /// Change the input at `pointer` and call again.
    FixInput {
        /// An RFC 6901 pointer into the input.
        pointer: String,
    },
    /// Call another operation, whose input is partly bound to the failure's details.
    Call {
        /// The operation to call.
        operation: Name,
        /// Which of its input members come from which details.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        bind: Vec<Binding>,
        /// Why, in a few words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// Call a query that shows whether the effect took place: then stop, else call again.
    Verify {
        /// The query to call.
        operation: Name,
        /// Which of its input members come from which details.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        bind: Vec<Binding>,
        /// Why, in a few words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// How its answer shows that the effect took place.
        done: Done,
    },
    /// Wait, then call again.
    Wait,
    /// Ask the person on whose behalf the call is made.
    AskUser,
    /// Obtain a scope.
    GetAccess {
        /// The scope that is missing.
        scope: String,
    },
    /// Do not go on.
    Stop,
}

impl Verb {
    /// Every verb as it is spelled on the wire.
    pub const WORDS: [&'static str; 7] = ["fix_input", "call", "verify", "wait", "ask_user", "get_access", "stop"];

    /// The verb as it is spelled on the wire.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Verb::FixInput { .. } => "fix_input",
            Verb::Call { .. } => "call",
            Verb::Verify { .. } => "verify",
            Verb::Wait => "wait",
            Verb::AskUser => "ask_user",
            Verb::GetAccess { .. } => "get_access",
            Verb::Stop => "stop",
        }
    }
}

/// One member of the next call's input, taken from the failure's details.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Binding {
    /// The member of the next operation's input.
    pub field: String,
    /// The failure's public field whose value it gets.
    pub from: String,
}

/// A recovery as a document holds it. serde refuses members that a verb does not have only
/// where verb and hint are read as one.
#[derive(Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case", deny_unknown_fields)]
enum RecoveryDocument {
    FixInput {
        pointer: String,
        hint: String,
    },
    Call {
        operation: Name,
        #[serde(default)]
        bind: Vec<Binding>,
        #[serde(default)]
        why: Option<String>,
        hint: String,
    },
    Verify {
        operation: Name,
        #[serde(default)]
        bind: Vec<Binding>,
        #[serde(default)]
        why: Option<String>,
        done: Done,
        hint: String,
    },
    Wait {
        hint: String,
    },
    AskUser {
        hint: String,
    },
    GetAccess {
        scope: String,
        hint: String,
    },
    Stop {
        hint: String,
    },
}

impl From<RecoveryDocument> for Recovery {
    fn from(document: RecoveryDocument) -> Recovery {
        match document {
            RecoveryDocument::FixInput { pointer, hint } => Recovery::fix_input(pointer, hint),
            RecoveryDocument::Call { operation, bind, why, hint } => {
                Recovery::new(Verb::Call { operation, bind, why }, hint)
            }
            RecoveryDocument::Verify { operation, bind, why, done, hint } => {
                Recovery::new(Verb::Verify { operation, bind, why, done }, hint)
            }
            RecoveryDocument::Wait { hint } => Recovery::wait(hint),
            RecoveryDocument::AskUser { hint } => Recovery::ask_user(hint),
            RecoveryDocument::GetAccess { scope, hint } => Recovery::get_access(scope, hint),
            RecoveryDocument::Stop { hint } => Recovery::stop(hint),
        }
    }
}

impl From<Verification> for Recovery {
    fn from(verification: Verification) -> Recovery {
        let (verb, hint) = verification.into_parts();
        Recovery { verb, hint }
    }
}

impl Recovery {
    /// The fewest words a hint may have: fewer cannot tell anybody what to do.
    pub const HINT_WORDS: usize = 5;

    /// A verb with its hint.
    pub fn new(verb: Verb, hint: impl Into<String>) -> Recovery {
        Recovery { verb, hint: hint.into() }
    }

    /// Change the input at `pointer`.
    pub fn fix_input(pointer: impl Into<String>, hint: impl Into<String>) -> Recovery {
        Recovery::new(Verb::FixInput { pointer: pointer.into() }, hint)
    }

    /// Call `operation` first.
    pub fn call(operation: &str, hint: impl Into<String>) -> Recovery {
        let operation = Name::unchecked(operation);
        Recovery::new(Verb::Call { operation, bind: Vec::new(), why: None }, hint)
    }

    /// Wait, then call again.
    pub fn wait(hint: impl Into<String>) -> Recovery {
        Recovery::new(Verb::Wait, hint)
    }

    /// Ask the person behind the call.
    pub fn ask_user(hint: impl Into<String>) -> Recovery {
        Recovery::new(Verb::AskUser, hint)
    }

    /// Call `operation`, a query whose answer shows by what it has at `pointer` that the effect took place.
    /// A [`Verification`] says which value shows it.
    pub fn verify(operation: &str, pointer: impl Into<String>, hint: impl Into<String>) -> Recovery {
        Verification::new(operation, pointer, hint).into()
    }

    /// Obtain `scope`.
    pub fn get_access(scope: impl Into<String>, hint: impl Into<String>) -> Recovery {
        Recovery::new(Verb::GetAccess { scope: scope.into() }, hint)
    }

    /// Do not go on.
    pub fn stop(hint: impl Into<String>) -> Recovery {
        Recovery::new(Verb::Stop, hint)
    }

    /// Gives the next call's input member `field` the value of the failure's field `from`.
    /// Only a recovery that calls has bindings; on any other this changes nothing.
    #[must_use]
    pub fn bind(mut self, field: impl Into<String>, from: impl Into<String>) -> Recovery {
        if let Verb::Call { bind, .. } | Verb::Verify { bind, .. } = &mut self.verb {
            bind.push(Binding { field: field.into(), from: from.into() });
        }
        self
    }

    /// Says in a few words why the next call helps.
    #[must_use]
    pub fn why(mut self, text: impl Into<String>) -> Recovery {
        if let Verb::Call { why, .. } | Verb::Verify { why, .. } = &mut self.verb {
            *why = Some(text.into());
        }
        self
    }

    /// What to do.
    pub fn verb(&self) -> &Verb {
        &self.verb
    }

    /// What to do, told to a person or a model.
    pub fn hint(&self) -> &str {
        &self.hint
    }

    /// The operation to call, where the verb is `call` or `verify`.
    pub fn target(&self) -> Option<&Name> {
        match &self.verb {
            Verb::Call { operation, .. } | Verb::Verify { operation, .. } => Some(operation),
            Verb::FixInput { .. } | Verb::Wait | Verb::AskUser | Verb::GetAccess { .. } | Verb::Stop => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn every_verb_is_read_as_it_is_written() {
        const HINT: &str = "Do what helps here, then go on.";
        let all = [
            Recovery::fix_input("/path", HINT),
            Recovery::call("files.list", HINT).bind("path", "folder").why("see what is there"),
            Verification::new("files.check", "/exists", HINT).is(false).bind("path", "path").why("see").into(),
            Recovery::wait(HINT),
            Recovery::ask_user(HINT),
            Recovery::get_access("files:write", HINT),
            Recovery::stop(HINT),
        ];
        assert_eq!(all.each_ref().map(|recovery| recovery.verb().as_str()), Verb::WORDS);
        for recovery in all {
            let written = serde_json::to_value(&recovery).unwrap();
            assert_eq!(written["verb"], recovery.verb().as_str());
            assert_eq!(serde_json::from_value::<Recovery>(written).unwrap(), recovery);
        }
    }

    #[test]
    fn a_verification_says_where_its_answer_shows_it() {
        let read = |json: Value| serde_json::from_value::<Recovery>(json).is_ok();
        let whole = json!({"verb": "verify", "operation": "files.check", "done": {"pointer": "/exists", "is": true},
            "hint": "Look whether the file is there."});
        assert!(read(whole.clone()));
        let mut without = whole.clone();
        without.as_object_mut().unwrap().remove("done");
        assert!(!read(without));
        let mut more = whole;
        more["done"]["equals"] = json!(true);
        assert!(!read(more));
    }
}
