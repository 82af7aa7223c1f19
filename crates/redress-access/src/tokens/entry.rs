//! One token of the file.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::{
    AccessError,
    instant::{rfc3339, rfc3339_option},
};

/// What the file keeps of a token: everything but the token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct TokenEntry {
    /// What it is called, where it is listed and revoked.
    pub id: String,
    /// Whom it stands for.
    pub caller: String,
    /// What they may do with it.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The SHA-256 of the token, in hexadecimal digits.
    pub hash: String,
    /// When it was made.
    #[serde(with = "rfc3339")]
    pub created: SystemTime,
    /// When it ends, if it does.
    #[serde(default, with = "rfc3339_option", skip_serializing_if = "Option::is_none")]
    pub expires: Option<SystemTime>,
    /// What it is for, in the words of whoever made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl TokenEntry {
    /// Whether it has ended at `now`.
    pub fn has_expired(&self, now: SystemTime) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

/// A token that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewToken {
    /// Whom it stands for.
    pub caller: String,
    /// What they may do with it.
    pub scopes: Vec<String>,
    /// When it ends, if it does.
    pub expires: Option<SystemTime>,
    /// What it is for.
    pub note: Option<String>,
}

impl NewToken {
    /// A token for `caller`, with no scopes and no end.
    pub fn new(caller: impl Into<String>) -> NewToken {
        NewToken { caller: caller.into(), scopes: Vec::new(), expires: None, note: None }
    }

    /// The same token, with more scopes.
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> NewToken {
        self.scopes.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// The same token, which ends then.
    #[must_use]
    pub fn expires(mut self, at: SystemTime) -> NewToken {
        self.expires = Some(at);
        self
    }

    /// The same token, with a word on what it is for.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> NewToken {
        self.note = Some(note.into());
        self
    }

    /// What is shown in lists and sent in headers must be text that can be.
    pub(crate) fn check(&self) -> Result<(), AccessError> {
        if self.caller.trim().is_empty() {
            return Err(AccessError::CallerUnnamed);
        }
        let unprintable = |text: &str| text.chars().any(char::is_control);
        // A scope is a word without quotation marks and backslashes (RFC 6749, section 3.3).
        let word = |scope: &str| {
            !scope.is_empty() && scope.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e))
        };
        if unprintable(&self.caller) {
            return Err(AccessError::Unprintable { what: "caller" });
        }
        if !self.scopes.iter().all(|scope| word(scope)) {
            return Err(AccessError::Unprintable { what: "scope" });
        }
        if self.note.as_deref().is_some_and(unprintable) {
            return Err(AccessError::Unprintable { what: "note" });
        }
        Ok(())
    }
}
