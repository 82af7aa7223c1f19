//! What changed between two contracts, each change named by a rule and judged for those who call.

mod catalogue;
mod code;
mod compatibility;
mod failure;
mod member;
mod operation;
mod pairs;
mod rule;
mod schema;

use std::collections::BTreeSet;

pub use catalogue::{change_rule, change_rules};
pub use compatibility::{Bump, Compatibility};
pub use rule::{ChangeRule, ContractChange, Witness};

pub(crate) use pairs::{FailurePair, Flow, LockPair, OperationPair, SchemaPair};
pub(crate) use rule::{ChangeCheck, ChangesOf};

use crate::Lock;

/// What changed from one lock to the next, the worst first.
///
/// ```
/// use redress_check::{Compatibility, Lock, changes};
/// use redress_contract::{Contract, FailureDeclaration, Kind, OperationDeclaration};
///
/// let refund = OperationDeclaration::mutation("orders.refund");
/// let before = Lock::of(&Contract::new([refund.clone()]));
/// let after = refund.fails(FailureDeclaration::new("ALREADY_REFUNDED", Kind::Conflict));
/// let found = changes(&before, &Lock::of(&Contract::new([after])));
/// assert_eq!(found[0].rule().id(), "failure-added");
/// assert_eq!(found[0].compatibility(), Compatibility::Breaking);
/// ```
pub fn changes(before: &Lock, after: &Lock) -> Vec<ContractChange> {
    let locks = LockPair::new(before, after);
    let mut found: BTreeSet<ContractChange> = BTreeSet::new();
    let rules: Vec<&'static ChangeRule> = change_rules().collect();
    let mut run = |run: &dyn Fn(&'static ChangeRule, &mut ChangesOf)| {
        for rule in &rules {
            let mut changes = ChangesOf::new(rule);
            run(rule, &mut changes);
            found.extend(changes.found);
        }
    };
    run(&|rule, changes| {
        if let ChangeCheck::Locks(check) = rule.check {
            check(&locks, changes);
        }
    });
    for operation in locks.operations.iter().filter(|pair| pair.before != pair.after || !locks.shares_all()) {
        run(&|rule, changes| {
            if let ChangeCheck::Operation(check) = rule.check {
                check(operation, changes);
            }
        });
        for failure in operation.failures() {
            run(&|rule, changes| {
                if let ChangeCheck::Failure(check) = rule.check {
                    check(&failure, changes);
                }
            });
        }
        for schemas in operation.schemas(&locks) {
            let schemas = SchemaPair::compared(&schemas);
            run(&|rule, changes| match rule.check {
                ChangeCheck::Schema(check) => check(&schemas, changes),
                ChangeCheck::Facet(facet, way) => schema::compare(facet, way, &schemas, changes),
                ChangeCheck::Locks(_) | ChangeCheck::Operation(_) | ChangeCheck::Failure(_) => {}
            });
        }
    }
    found.into_iter().collect()
}
