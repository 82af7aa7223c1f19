//! Who may call an operation.

use serde::{Deserialize, Serialize};

use crate::{CONSENT_GRANT, Caller};

/// Who may call an operation. A caller is required unless it says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// Open to everyone, the anonymous included.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    anyone: bool,
    /// Scopes of which the caller needs every one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    all: Vec<String>,
    /// Scopes of which the caller needs one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    any: Vec<String>,
    /// A person must also have agreed that the caller calls this operation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    consent: bool,
    /// A check of the operation decides by what is asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    check: bool,
}

/// Why a caller may not call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied {
    /// There is no caller, and one is needed.
    NoCaller,
    /// The caller lacks these scopes: every one of them, or one of them.
    Scopes {
        /// The scopes that would open the operation.
        missing: Vec<String>,
        /// Whether one of them is enough.
        one_is_enough: bool,
    },
}

impl Access {
    /// Any caller whose identity is known.
    pub fn caller() -> Access {
        Access::default()
    }

    /// Everyone, the anonymous included.
    pub fn anyone() -> Access {
        Access { anyone: true, ..Access::default() }
    }

    /// Adds a scope that the caller must have.
    #[must_use]
    pub fn scope(mut self, scope: impl Into<String>) -> Access {
        self.all.push(scope.into());
        self
    }

    /// Adds a scope of which the caller must have at least one.
    #[must_use]
    pub fn any_scope(mut self, scope: impl Into<String>) -> Access {
        self.any.push(scope.into());
        self
    }

    /// Demands a person's consent as well.
    #[must_use]
    pub fn consent(mut self) -> Access {
        self.consent = true;
        self
    }

    /// Says that a check decides, too: whether this caller may have what this input asks for.
    #[must_use]
    pub fn check(mut self) -> Access {
        self.check = true;
        self
    }

    /// Whether the anonymous may call.
    pub fn is_open(&self) -> bool {
        self.anyone
    }

    /// Whether a person's consent is needed.
    pub fn needs_consent(&self) -> bool {
        self.consent
    }

    /// Whether a check decides by what is asked for, after the scopes and the input's schema.
    pub fn is_checked(&self) -> bool {
        self.check
    }

    /// Whether it is for persons alone: it asks for the scope by which consents are granted. Such an operation is no
    /// tool of an agent, no next action leads to it, and no other operation calls it.
    ///
    /// ```
    /// use redress_contract::{Access, CONSENT_GRANT};
    ///
    /// assert!(Access::caller().scope(CONSENT_GRANT).is_for_persons());
    /// assert!(!Access::caller().consent().is_for_persons());
    /// ```
    pub fn is_for_persons(&self) -> bool {
        self.all.iter().chain(&self.any).any(|scope| scope == CONSENT_GRANT)
    }

    /// The scopes of which every one is needed.
    pub fn all_scopes(&self) -> &[String] {
        &self.all
    }

    /// The scopes of which one is needed.
    pub fn any_scopes(&self) -> &[String] {
        &self.any
    }

    /// Whether the declaration contradicts itself: open to everyone, and yet asking for
    /// scopes or consent that only a known caller can have.
    pub fn is_contradictory(&self) -> bool {
        self.anyone && (self.consent || !self.all.is_empty() || !self.any.is_empty())
    }

    /// Lets `caller` pass, or says why not. Consent is a question for the consent store, and what the
    /// input asks for one for the operation's check.
    pub fn admit(&self, caller: Option<&Caller>) -> Result<(), Denied> {
        if self.anyone {
            return Ok(());
        }
        let Some(caller) = caller else { return Err(Denied::NoCaller) };
        if !self.all.iter().all(|scope| caller.has(scope)) {
            let missing = self.all.iter().filter(|scope| !caller.has(scope)).cloned().collect();
            return Err(Denied::Scopes { missing, one_is_enough: false });
        }
        if self.any.is_empty() || self.any.iter().any(|scope| caller.has(scope)) {
            Ok(())
        } else {
            Err(Denied::Scopes { missing: self.any.clone(), one_is_enough: true })
        }
    }

    /// Whether everyone who may call something with `self` may also call something with
    /// `other`: what a recovery that names another operation has to prove.
    pub fn implies(&self, other: &Access) -> bool {
        if other.anyone {
            return true;
        }
        if self.anyone {
            return false;
        }
        let all = other.all.iter().all(|scope| self.all.contains(scope));
        let any = other.any.is_empty()
            || other.any.iter().any(|scope| self.all.contains(scope))
            || (!self.any.is_empty() && self.any.iter().all(|scope| other.any.contains(scope)));
        all && any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_is_required_by_default() {
        assert_eq!(Access::default().admit(None), Err(Denied::NoCaller));
        assert_eq!(Access::default().admit(Some(&Caller::new("ada"))), Ok(()));
        assert_eq!(Access::anyone().admit(None), Ok(()));
    }

    #[test]
    fn all_scopes_are_needed_and_one_of_any() {
        let access = Access::caller().scope("a").scope("b").any_scope("x").any_scope("y");
        let ada = Caller::new("ada").scopes(["a", "b"]);
        assert_eq!(
            access.admit(Some(&Caller::new("ada").scope("a"))),
            Err(Denied::Scopes { missing: vec!["b".into()], one_is_enough: false })
        );
        assert!(matches!(access.admit(Some(&ada)), Err(Denied::Scopes { one_is_enough: true, .. })));
        assert_eq!(access.admit(Some(&ada.scope("y"))), Ok(()));
    }

    #[test]
    fn access_implies_only_what_asks_for_no_more() {
        let read = Access::caller().scope("read");
        let both = Access::caller().scope("read").scope("write");
        assert!(both.implies(&read) && !read.implies(&both));
        assert!(read.implies(&Access::anyone()) && !Access::anyone().implies(&read));
        let one = Access::caller().any_scope("read").any_scope("list");
        assert!(read.implies(&one) && !one.implies(&read));
        assert!(one.implies(&one) && one.implies(&one.clone().any_scope("more")));
    }
}
