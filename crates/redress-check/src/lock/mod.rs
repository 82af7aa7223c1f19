//! The contract as it is kept: one canonical document with a hash.
//!
//! The same contract gives the same bytes: members and lists that have no order are sorted, and there is no date, path or
//! name of a machine in it. Codes are only ever added; one that is not declared any more stays as a tombstone.

mod canonical;
mod code;
mod import;
mod read;

use std::collections::BTreeMap;

use redress_contract::{Code, Contract, FailureDeclaration, Name, OperationDeclaration};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use code::{CodeState, CodeTaken, LockedCode};
pub use read::{LockError, MAX_LOCK};

/// Schemas that several of a lock refer to as `#/$defs/NAME`, by name.
pub type SharedSchemas = BTreeMap<String, Value>;

/// A contract as it is kept.
///
/// ```
/// use redress_check::Lock;
/// use redress_contract::{Contract, FailureDeclaration, Kind, OperationDeclaration};
///
/// let read = OperationDeclaration::query("files.read").fails(FailureDeclaration::new("FILE_MISSING", Kind::NotFound));
/// let lock = Lock::of(&Contract::new([read]));
/// assert_eq!(Lock::read(lock.to_json().as_bytes())?, lock);
/// # Ok::<(), redress_check::LockError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    pub(crate) codes: BTreeMap<Code, LockedCode>,
    pub(crate) operations: BTreeMap<Name, OperationDeclaration>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) schemas: SharedSchemas,
}

impl Lock {
    /// What a contract is kept as. Of two operations with one name the last is kept; a registry has no such.
    pub fn of(contract: &Contract) -> Lock {
        Lock::made(contract.operations().iter().cloned(), SharedSchemas::new())
    }

    fn made(operations: impl IntoIterator<Item = OperationDeclaration>, schemas: SharedSchemas) -> Lock {
        let mut lock = Lock { schemas, ..Lock::default() };
        for operation in operations {
            // Schemas that refer to what all share stand as they are; the others stand on their own.
            let operation = if lock.schemas.is_empty() { operation.bundled() } else { operation };
            let mut failures: Vec<FailureDeclaration> = operation.failures().to_vec();
            failures.sort_by(|one, other| one.code().cmp(other.code()));
            for failure in &failures {
                lock.codes.insert(failure.code().clone(), LockedCode::active(failure.kind()));
            }
            let operation = operation.without_failures().with_failures(failures);
            lock.operations.insert(operation.name().clone(), operation);
        }
        lock.canonical()
    }

    /// The operations, by name.
    pub fn operations(&self) -> impl Iterator<Item = &OperationDeclaration> {
        self.operations.values()
    }

    /// The operation of this name; an alias is not one.
    pub fn operation(&self, name: &str) -> Option<&OperationDeclaration> {
        self.operations.values().find(|operation| *operation.name() == *name)
    }

    /// Every code that was ever declared or set aside, with what became of it.
    pub fn codes(&self) -> impl Iterator<Item = (&Code, &LockedCode)> {
        self.codes.iter()
    }

    /// The schemas that operations share.
    pub fn schemas(&self) -> &SharedSchemas {
        &self.schemas
    }
}
