//! What the caller can do about a failure.

use serde::{Deserialize, Serialize};

use crate::Name;

/// What the caller can do about a failure: a verb that a program can follow and a hint
/// that a person or a model can read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Document")]
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
enum Document {
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

impl From<Document> for Recovery {
    fn from(document: Document) -> Recovery {
        match document {
            Document::FixInput { pointer, hint } => Recovery::fix_input(pointer, hint),
            Document::Call { operation, bind, why, hint } => Recovery::new(Verb::Call { operation, bind, why }, hint),
            Document::Wait { hint } => Recovery::wait(hint),
            Document::AskUser { hint } => Recovery::ask_user(hint),
            Document::GetAccess { scope, hint } => Recovery::get_access(scope, hint),
            Document::Stop { hint } => Recovery::stop(hint),
        }
    }
}

impl Recovery {
    /// The fewest words a hint may have: fewer cannot tell anybody what to do (M-04).
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
        if let Verb::Call { bind, .. } = &mut self.verb {
            bind.push(Binding { field: field.into(), from: from.into() });
        }
        self
    }

    /// Says in a few words why the next call helps.
    #[must_use]
    pub fn why(mut self, text: impl Into<String>) -> Recovery {
        if let Verb::Call { why, .. } = &mut self.verb {
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

    /// The operation to call, where the verb is `call`.
    pub fn target(&self) -> Option<&Name> {
        match &self.verb {
            Verb::Call { operation, .. } => Some(operation),
            Verb::FixInput { .. } | Verb::Wait | Verb::AskUser | Verb::GetAccess { .. } | Verb::Stop => None,
        }
    }
}
