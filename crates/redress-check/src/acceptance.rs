//! Breaks that somebody has agreed to, each with a reason and an owner.

use serde::{Deserialize, Serialize};

use crate::{Compatibility, ContractChange};

/// One break that somebody has agreed to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acceptance {
    /// The rule that names the change.
    pub rule: String,
    /// What changed, as the finding writes it.
    pub address: String,
    /// Why it is done all the same.
    pub reason: String,
    /// Who answers for it.
    pub owner: String,
}

/// What somebody has agreed to.
///
/// ```
/// use redress_check::Acceptances;
///
/// let accepted = Acceptances::read(br#"{"accepted": [{
///     "rule": "failure-added", "address": "orders.refund/ALREADY_REFUNDED",
///     "reason": "the one client was changed with it", "owner": "payments"}]}"#)?;
/// let judged = accepted.apply(Vec::new());
/// assert_eq!(judged.stale.len(), 1, "it matches nothing any more, and says so");
/// # Ok::<(), redress_check::AcceptanceError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acceptances {
    accepted: Vec<Acceptance>,
}

/// Changes, sorted by whether somebody has agreed to them.
#[derive(Clone, Debug, Default, Serialize)]
pub struct JudgedChanges {
    /// What nobody has agreed to.
    pub open: Vec<ContractChange>,
    /// What somebody has agreed to.
    pub accepted: Vec<ContractChange>,
    /// What was agreed to and is not there, or passes by itself: it has to be taken out.
    pub stale: Vec<Acceptance>,
}

impl JudgedChanges {
    /// Whether a gate lets them pass: nothing is open that stops it, and nothing is stale.
    pub fn passes(&self) -> bool {
        self.stale.is_empty() && self.open.iter().all(|change| change.compatibility().passes())
    }
}

/// Why acceptances could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AcceptanceError {
    /// They are not what they should be.
    #[error("the acceptances are not a JSON object with a list `accepted` of rule, address, reason and owner")]
    Content(#[from] serde_json::Error),
    /// There are more bytes than are read.
    #[error("the acceptances have {size} bytes, and at most {max} are read")]
    TooLarge {
        /// How many bytes there are.
        size: usize,
        /// The most that are read.
        max: usize,
    },
    /// One does not say why, or who.
    #[error("the acceptance of `{rule}` at `{address}` has no {lacks}")]
    Empty {
        /// The rule.
        rule: String,
        /// The address.
        address: String,
        /// The member that is empty.
        lacks: &'static str,
    },
    /// One is of a rule that there is not.
    #[error("there is no rule `{rule}`")]
    Rule {
        /// The rule.
        rule: String,
    },
}

/// The most bytes that are read.
const MAX_BYTES: usize = 1 << 20;

impl Acceptances {
    /// Reads what somebody has agreed to.
    ///
    /// # Errors
    ///
    /// Where it is not what it should be, or one has no reason or no owner.
    pub fn read(document: &[u8]) -> Result<Acceptances, AcceptanceError> {
        if document.len() > MAX_BYTES {
            return Err(AcceptanceError::TooLarge { size: document.len(), max: MAX_BYTES });
        }
        let read: Acceptances = serde_json::from_slice(document)?;
        for one in &read.accepted {
            for (lacks, text) in [("reason", &one.reason), ("owner", &one.owner)] {
                if text.trim().is_empty() {
                    let (rule, address) = (one.rule.clone(), one.address.clone());
                    return Err(AcceptanceError::Empty { rule, address, lacks });
                }
            }
            if crate::change_rule(&one.rule).is_none() {
                return Err(AcceptanceError::Rule { rule: one.rule.clone() });
            }
        }
        Ok(read)
    }

    /// Sorts changes by whether they were agreed to. What is forbidden, nobody can agree to; what passes by itself, nobody
    /// has to.
    pub fn apply(&self, changes: Vec<ContractChange>) -> JudgedChanges {
        let mut judged = JudgedChanges::default();
        let mut used = vec![false; self.accepted.len()];
        for change in changes {
            let at = self
                .accepted
                .iter()
                .position(|one| one.rule == change.rule().id() && one.address == change.address())
                .filter(|_| matches!(change.compatibility(), Compatibility::Breaking | Compatibility::Undecided));
            match at {
                Some(at) => {
                    used[at] = true;
                    judged.accepted.push(change);
                }
                None => judged.open.push(change),
            }
        }
        let stale = self.accepted.iter().zip(used).filter(|(_, used)| !used);
        judged.stale = stale.map(|(one, _)| one.clone()).collect();
        judged
    }
}
