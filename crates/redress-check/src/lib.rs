//! What is *wrong* in a contract, and what *changes* between two: the lock that a contract is kept as, a catalogue of rules
//! about changes, and the breaks that somebody has agreed to.
//!
//! **Invariant:** this crate is pure. It is given contracts, documents and bytes, and gives values: it opens no file and no
//! socket, reads no clock, and runs nothing. It never says `compatible` of what it has not proved, and every witness that it
//! gives has been judged by a validator.
//!
//! ```
//! use redress_check::{Bump, Lock, changes};
//! use redress_contract::{Contract, OperationDeclaration};
//! use serde_json::json;
//!
//! let list = |max: u32| {
//!     let limit = json!({"type": "integer", "minimum": 1, "maximum": max});
//!     let input = json!({"type": "object", "properties": {"limit": limit}});
//!     Lock::of(&Contract::new([OperationDeclaration::query("orders.list").with_input(input)]))
//! };
//! let found = changes(&list(100), &list(50));
//! assert_eq!(found[0].rule().id(), "bound-narrowed");
//! assert_eq!(found[0].address(), "orders.list/input/limit");
//! let witness = found[0].witness().map(|witness| &witness.value["limit"]);
//! assert!(witness.is_some_and(|limit| limit.as_i64() > Some(50)));
//! assert_eq!(Bump::of(found.iter().map(|change| change.compatibility())), Bump::Major);
//! ```

mod acceptance;
mod changes;
mod inclusion;
mod lint;
mod lock;

pub use acceptance::{Acceptance, AcceptanceError, Acceptances, JudgedChanges};
pub use changes::{Bump, ChangeRule, Compatibility, ContractChange, Witness, change_rule, change_rules, changes};
pub use lint::{Grade, LintRule, grades, lint, lint_rule, lint_rules};
pub use lock::{CodeState, CodeTaken, Lock, LockError, LockedCode, MAX_LOCK, SharedSchemas};

#[cfg(doctest)]
#[doc = include_str!("../../../docs/contract-gate.md")]
struct ContractGateGuide;
