//! One token of the file.

use std::time::SystemTime;

use redress_core::Secret;
use serde::{Deserialize, Serialize};

use super::text;
use crate::{
    AccessError, TokenHash,
    instant::{self, rfc3339, rfc3339_option},
    names,
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

    /// Draws the token for whoever keeps its hash elsewhere than in a file, such as in the configuration.
    ///
    /// ```
    /// use redress_access::NewToken;
    ///
    /// let (token, hash) = NewToken::new("ada").scopes(["files:read"]).draw().unwrap();
    /// assert!(token.expose().starts_with("rd_") && hash.sha256.len() == 64);
    /// ```
    pub fn draw(self) -> Result<(Secret, TokenHash), AccessError> {
        self.check()?;
        let (_, token) = text::draw()?;
        let NewToken { caller, scopes, expires, note: _ } = self;
        let sha256 = redress_core::hex(&text::hash(token.expose()));
        Ok((token, TokenHash { caller, scopes, sha256, expires: expires.map(instant::whole) }))
    }

    pub(crate) fn check(&self) -> Result<(), AccessError> {
        names::check(&self.caller, &self.scopes)?;
        if !self.note.as_deref().is_none_or(names::is_printable) {
            return Err(AccessError::Unprintable { what: "note" });
        }
        if self.expires.is_some_and(|end| instant::seconds(end) > instant::LAST) {
            return Err(AccessError::EndsTooLate);
        }
        Ok(())
    }
}
