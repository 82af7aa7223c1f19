//! What is wrong, or unwise, in one contract.

mod ambiguous_tools;
mod anyone_mutation;
mod code_two_meanings;
mod deprecated_without_replacement;
mod effect_without_verify;
mod error_contract_code_unknown_error;
mod error_contract_empty;
mod error_contract_recovery_min_words;
mod error_contract_recovery_required;
mod error_contract_when_required;
mod eval_operation;
mod grade;
mod hint_unknown_operation;
mod long_description;
mod message_without_detail;
mod no_description;
mod no_output_schema;
mod no_pagination;
mod rule;
mod secret_detail;
mod short_description;
mod undescribed_member;
mod unguarded_destructive;
mod vague_hint;

use redress_contract::{FailureDeclaration, Finding, OperationDeclaration};

pub use grade::{Grade, grades};
pub use rule::LintRule;
pub(crate) use rule::LintsOf;

use crate::Lock;

/// Every rule about one contract.
static RULES: [&LintRule; 22] = [
    &error_contract_empty::ERROR_CONTRACT_EMPTY,
    &error_contract_when_required::ERROR_CONTRACT_WHEN_REQUIRED,
    &error_contract_recovery_required::ERROR_CONTRACT_RECOVERY_REQUIRED,
    &error_contract_recovery_min_words::ERROR_CONTRACT_RECOVERY_MIN_WORDS,
    &error_contract_code_unknown_error::ERROR_CONTRACT_CODE_UNKNOWN_ERROR,
    &no_description::NO_DESCRIPTION,
    &long_description::LONG_DESCRIPTION,
    &short_description::SHORT_DESCRIPTION,
    &undescribed_member::UNDESCRIBED_MEMBER,
    &no_output_schema::NO_OUTPUT_SCHEMA,
    &no_pagination::NO_PAGINATION,
    &anyone_mutation::ANYONE_MUTATION,
    &unguarded_destructive::UNGUARDED_DESTRUCTIVE,
    &eval_operation::EVAL_OPERATION,
    &effect_without_verify::EFFECT_WITHOUT_VERIFY,
    &secret_detail::SECRET_DETAIL,
    &message_without_detail::MESSAGE_WITHOUT_DETAIL,
    &hint_unknown_operation::HINT_UNKNOWN_OPERATION,
    &vague_hint::VAGUE_HINT,
    &code_two_meanings::CODE_TWO_MEANINGS,
    &ambiguous_tools::AMBIGUOUS_TOOLS,
    &deprecated_without_replacement::DEPRECATED_WITHOUT_REPLACEMENT,
];

/// Every rule about one contract, failures first.
pub fn lint_rules() -> impl Iterator<Item = &'static LintRule> {
    RULES.iter().copied()
}

/// The rule of this id.
pub fn lint_rule(id: &str) -> Option<&'static LintRule> {
    lint_rules().find(|rule| rule.id() == id)
}

/// What the rules say of a contract, in the order of what they speak of.
///
/// ```
/// use redress_check::{Lock, lint};
/// use redress_contract::{Access, Contract, OperationDeclaration};
///
/// let refund = OperationDeclaration::mutation("orders.refund").with_access(Access::anyone());
/// let found = lint(&Lock::of(&Contract::new([refund])));
/// assert!(found.iter().any(|finding| finding.rule() == "anyone-mutation"));
/// ```
pub fn lint(lock: &Lock) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for rule in lint_rules() {
        let mut lints = LintsOf::new(rule);
        (rule.check)(lock, &mut lints);
        found.extend(lints.found);
    }
    found.sort_by(|one, other| {
        (one.subject(), one.rule(), one.says()).cmp(&(other.subject(), other.rule(), other.says()))
    });
    found
}

/// Every failure that an operation itself declares; those of layers are the layer's.
fn failures(lock: &Lock) -> impl Iterator<Item = (&OperationDeclaration, &FailureDeclaration)> {
    lock.operations().flat_map(|operation| {
        let own = operation.failures().iter().filter(|failure| failure.layer().is_none());
        own.map(move |failure| (operation, failure))
    })
}

/// `orders.refund/ORDER_MISSING`.
fn address(operation: &OperationDeclaration, failure: &FailureDeclaration) -> String {
    format!("{}/{}", operation.name(), failure.code())
}
