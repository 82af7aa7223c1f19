//! A rule about changes, and what it says.

use std::{cmp::Ordering, fmt};

use serde::{Serialize, Serializer, ser::SerializeStruct};
use serde_json::Value;

use super::{Compatibility, FailurePair, LockPair, OperationPair, SchemaPair, schema::Shift};
use crate::inclusion::Facet;

/// A rule about changes: one row of the catalogue.
pub struct ChangeRule {
    pub(crate) id: &'static str,
    pub(crate) since: &'static str,
    /// The worst that it says.
    pub(crate) worst: Compatibility,
    pub(crate) page: &'static str,
    pub(crate) check: ChangeCheck,
}

/// What a rule looks at.
pub(crate) enum ChangeCheck {
    /// The contracts as a whole.
    Locks(fn(&LockPair<'_>, &mut ChangesOf)),
    /// An operation that is in both.
    Operation(fn(&OperationPair<'_>, &mut ChangesOf)),
    /// A failure that an operation has in both.
    Failure(fn(&FailurePair<'_>, &mut ChangesOf)),
    /// What an operation takes, gives or tells of a failure.
    Schema(fn(&SchemaPair<'_>, &mut ChangesOf)),
    /// The same, in one respect.
    Facet(Facet, Shift),
}

impl ChangeRule {
    /// Its stable id.
    pub fn id(&self) -> &'static str {
        self.id
    }

    /// The version since which it exists.
    pub fn since(&self) -> &'static str {
        self.since
    }

    /// The worst that it says of a change.
    pub fn worst(&self) -> Compatibility {
        self.worst
    }

    /// Its page, in Markdown.
    pub fn page(&self) -> &'static str {
        self.page
    }
}

impl fmt::Debug for ChangeRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

/// A value that shows a break: admitted on one side and refused on the other, as a validator has found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Witness {
    /// The value.
    pub value: Value,
    /// Whether the earlier schema admits it.
    pub admitted_before: bool,
    /// Whether the later schema admits it.
    pub admitted_after: bool,
}

/// One change.
#[derive(Clone, Debug)]
pub struct ContractChange {
    rule: &'static ChangeRule,
    address: String,
    compatibility: Compatibility,
    says: String,
    help: String,
    witness: Option<Witness>,
}

impl ContractChange {
    /// The rule that names it.
    pub fn rule(&self) -> &'static ChangeRule {
        self.rule
    }

    /// What changed: `orders.refund`, `orders.refund/input/amount`, `orders.refund/ORDER_MISSING`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What it means for those who call.
    pub fn compatibility(&self) -> Compatibility {
        self.compatibility
    }

    /// What changed, in a sentence.
    pub fn says(&self) -> &str {
        &self.says
    }

    /// What can be done about it.
    pub fn help(&self) -> &str {
        &self.help
    }

    /// A value that shows it.
    pub fn witness(&self) -> Option<&Witness> {
        self.witness.as_ref()
    }

    fn key(&self) -> (Compatibility, &str, &str, &str) {
        (self.compatibility, &self.address, self.rule.id, &self.says)
    }
}

impl PartialEq for ContractChange {
    fn eq(&self, other: &ContractChange) -> bool {
        self.key() == other.key()
    }
}

impl Eq for ContractChange {}

impl PartialOrd for ContractChange {
    fn partial_cmp(&self, other: &ContractChange) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ContractChange {
    fn cmp(&self, other: &ContractChange) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl fmt::Display for ContractChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}: {}", self.compatibility, self.rule.id, self.address, self.says)?;
        if let Some(witness) = &self.witness {
            let (admitted, refused) = if witness.admitted_before { ("before", "now") } else { ("now", "before") };
            write!(f, "\n  witness: {} (admitted {admitted}, not {refused})", witness.value)?;
        }
        write!(f, "\n  help: {}", self.help)
    }
}

impl Serialize for ContractChange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut made = serializer.serialize_struct("ContractChange", 6)?;
        made.serialize_field("rule", self.rule.id)?;
        made.serialize_field("address", &self.address)?;
        made.serialize_field("compatibility", &self.compatibility)?;
        made.serialize_field("says", &self.says)?;
        made.serialize_field("help", &self.help)?;
        match &self.witness {
            Some(witness) => made.serialize_field("witness", witness)?,
            None => made.skip_field("witness")?,
        }
        made.end()
    }
}

/// What one rule has found.
pub(crate) struct ChangesOf {
    rule: &'static ChangeRule,
    pub(crate) found: Vec<ContractChange>,
}

impl ChangesOf {
    pub(crate) fn new(rule: &'static ChangeRule) -> ChangesOf {
        ChangesOf { rule, found: Vec::new() }
    }

    /// Notes a change.
    pub(crate) fn push(
        &mut self,
        compatibility: Compatibility,
        address: impl Into<String>,
        says: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push_shown(compatibility, address, says, help, None);
    }

    /// Notes a change with a value that shows it.
    pub(crate) fn push_shown(
        &mut self,
        compatibility: Compatibility,
        address: impl Into<String>,
        says: impl Into<String>,
        help: impl Into<String>,
        witness: Option<Witness>,
    ) {
        let (address, says, help) = (address.into(), says.into(), help.into());
        self.found.push(ContractChange { rule: self.rule, address, compatibility, says, help, witness });
    }
}
