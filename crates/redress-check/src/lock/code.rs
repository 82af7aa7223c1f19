//! What became of codes: they are only ever added.

use redress_contract::{Code, Kind};
use serde::{Deserialize, Serialize};

use super::Lock;

/// What became of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CodeState {
    /// Some operation declares it.
    Active,
    /// It is set aside for something to come.
    Reserved,
    /// It was declared once. It never means anything else.
    Retired,
}

/// A code in a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedCode {
    /// What became of it.
    pub state: CodeState,
    /// The kind that it has, or last had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// Why it is reserved or retired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl LockedCode {
    pub(super) fn active(kind: Kind) -> LockedCode {
        LockedCode { state: CodeState::Active, kind: Some(kind), reason: None }
    }
}

/// Why a code cannot be reserved or retired.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodeTaken {
    /// It is in the lock already.
    #[error("the code `{code}` is in the lock already")]
    Known {
        /// The code.
        code: Code,
    },
    /// An operation declares it.
    #[error("the code `{code}` is declared by `{operation}`, so it cannot be retired")]
    Declared {
        /// The code.
        code: Code,
        /// An operation that declares it.
        operation: String,
    },
    /// The lock does not have it.
    #[error("the code `{code}` is not in the lock")]
    Unknown {
        /// The code.
        code: Code,
    },
}

impl Lock {
    /// The lock as the successor of `before`: what was known of codes then stays known, and a code that no operation
    /// declares any more is retired.
    #[must_use]
    pub fn succeeding(mut self, before: &Lock) -> Lock {
        for (code, known) in &before.codes {
            let is_declared = self.codes.get(code).is_some_and(|code| code.state == CodeState::Active);
            if is_declared {
                continue;
            }
            let state = match known.state {
                CodeState::Active | CodeState::Retired => CodeState::Retired,
                CodeState::Reserved => CodeState::Reserved,
            };
            self.codes.insert(code.clone(), LockedCode { state, ..known.clone() });
        }
        self
    }

    /// Sets a code aside for something to come.
    ///
    /// # Errors
    ///
    /// Where the lock has it already.
    pub fn reserve(&mut self, code: Code, reason: impl Into<String>) -> Result<(), CodeTaken> {
        if self.codes.contains_key(&code) {
            return Err(CodeTaken::Known { code });
        }
        let reason = Some(reason.into());
        self.codes.insert(code, LockedCode { state: CodeState::Reserved, kind: None, reason });
        Ok(())
    }

    /// Retires a code for good.
    ///
    /// # Errors
    ///
    /// Where an operation declares it, or the lock does not have it.
    pub fn retire(&mut self, code: &Code, reason: impl Into<String>) -> Result<(), CodeTaken> {
        let declaring = self.operations.values().find(|operation| operation.failure(code.as_str()).is_some());
        if let Some(operation) = declaring {
            return Err(CodeTaken::Declared { code: code.clone(), operation: operation.name().to_string() });
        }
        let Some(known) = self.codes.get_mut(code) else { return Err(CodeTaken::Unknown { code: code.clone() }) };
        known.state = CodeState::Retired;
        known.reason = Some(reason.into());
        Ok(())
    }
}
