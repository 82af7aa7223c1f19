//! How much of a declaration one caller is told.
//!
//! Why so: docs/decisions/0056-what-a-caller-is-told-of-a-declaration.md.

use crate::{Caller, FailureDeclaration, Name, OperationDeclaration, Recovery, RecoveryStep};

/// How much of a declaration one caller is told: of what an operation is made inside, nothing without the scope for
/// it; of other operations, only those that the caller could call.
///
/// ```
/// use redress_contract::{Caller, Disclosure, OperationDeclaration, Reach};
///
/// let refund = OperationDeclaration::mutation("orders.refund").with_call("ledger.book").with_authority("ledger:write");
/// let anyone = Disclosure::to(None, &|_| Reach::Unknown);
/// assert!(refund.disclosed(&anyone).calls().is_empty());
///
/// let auditor = Caller::new("eve").scope(Disclosure::INTERNALS);
/// let whole = Disclosure::to(Some(&auditor), &|_| Reach::Unknown);
/// assert_eq!(refund.disclosed(&whole), refund);
/// ```
pub struct Disclosure<'a> {
    internals: bool,
    reach: &'a dyn Fn(&str) -> Reach,
}

/// What an operation of some name is to a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// There is none.
    Unknown,
    /// There is one, which the caller cannot call, and so is not told of.
    Closed,
    /// The caller is shown it, and does not call it by its name: a prompt or a document of MCP.
    Listed,
    /// The caller could call it now.
    Open,
}

impl<'a> Disclosure<'a> {
    /// The scope with which a caller is told what operations are made of inside: what they call, with which authority,
    /// and what completes their arguments.
    pub const INTERNALS: &'static str = "internals:read";

    /// What `caller` is told, for whom other operations are what `reach` says.
    pub fn to(caller: Option<&Caller>, reach: &'a dyn Fn(&str) -> Reach) -> Disclosure<'a> {
        Disclosure { internals: Disclosure::shows_internals(caller), reach }
    }

    /// Whether `caller` is told what operations are made of inside.
    pub fn shows_internals(caller: Option<&Caller>) -> bool {
        caller.is_some_and(|caller| caller.has(Disclosure::INTERNALS))
    }

    fn is_open(&self, name: &Name) -> bool {
        (self.reach)(name.as_str()) == Reach::Open
    }
}

impl std::fmt::Debug for Disclosure<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Disclosure").field("internals", &self.internals).finish_non_exhaustive()
    }
}

impl OperationDeclaration {
    /// The declaration as far as it is told.
    #[must_use]
    pub fn disclosed(&self, disclosure: &Disclosure<'_>) -> OperationDeclaration {
        let told = if disclosure.internals { self.clone() } else { self.clone().without_internals() };
        let deprecated = told.deprecated().cloned().map(|mut deprecation| {
            deprecation.replaced_by.take_if(|name| (disclosure.reach)(name.as_str()) == Reach::Closed);
            deprecation
        });
        let failures: Vec<FailureDeclaration> =
            told.failures().iter().map(|failure| failure.disclosed(disclosure)).collect();
        let told = told.without_failures().with_failures(failures);
        let told = match told.verification() {
            Some(verification) if !disclosure.is_open(verification.target()) => told.without_verification(),
            Some(_) | None => told,
        };
        match deprecated {
            Some(deprecation) => told.with_deprecated(deprecation),
            None => told,
        }
    }

    /// The names of other operations that its declaration sends a caller to.
    pub fn points_to(&self) -> impl Iterator<Item = &str> {
        let targets = self.failures().iter().filter_map(|failure| failure.recovery()?.target()).map(Name::as_str);
        let targets = targets.chain(self.verification().map(|verification| verification.target().as_str()));
        targets.chain(self.deprecated().and_then(|deprecation| deprecation.replaced_by.as_deref()))
    }
}

impl FailureDeclaration {
    /// The declaration as far as it is told.
    #[must_use]
    pub fn disclosed(&self, disclosure: &Disclosure<'_>) -> FailureDeclaration {
        match self.recovery() {
            Some(recovery) => self.clone().with_recovery(recovery.disclosed(disclosure)),
            None => self.clone(),
        }
    }
}

impl Recovery {
    /// The recovery as far as it is told. One that sends the caller to an operation which it cannot call asks the person
    /// behind the call instead: what the hint says still helps, and somebody else has to do it.
    #[must_use]
    pub fn disclosed(&self, disclosure: &Disclosure<'_>) -> Recovery {
        match self.target() {
            Some(target) if !disclosure.is_open(target) => Recovery::ask_user(self.hint()),
            Some(_) | None => self.clone(),
        }
    }
}

impl RecoveryStep {
    /// The operation that it sends the caller to.
    pub fn target(&self) -> Option<&Name> {
        match self {
            RecoveryStep::Call { operation } | RecoveryStep::Verify { operation, .. } => Some(operation),
            RecoveryStep::FixInput { .. }
            | RecoveryStep::Wait
            | RecoveryStep::AskUser
            | RecoveryStep::GetAccess { .. }
            | RecoveryStep::Stop => None,
        }
    }

    /// Whether whoever follows it makes the same call once more.
    pub fn repeats(&self) -> bool {
        match self {
            RecoveryStep::FixInput { .. } | RecoveryStep::Wait | RecoveryStep::GetAccess { .. } => true,
            RecoveryStep::Call { .. } | RecoveryStep::Verify { .. } | RecoveryStep::AskUser | RecoveryStep::Stop => {
                false
            }
        }
    }

    /// The step of one who cannot call where it leads: the same that [`Recovery::disclosed`] declares.
    pub fn without_target() -> RecoveryStep {
        RecoveryStep::AskUser
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::{Access, Deprecation, Example, ExampleEnding, Kind, Streaming};

    /// Members that say what an operation is made of inside.
    const INTERNAL: [&str; 4] = ["authority", "calls", "calls_as_caller", "completions"];

    fn whole() -> OperationDeclaration {
        let failure = |code: &str, target: &str| {
            FailureDeclaration::new(code, Kind::NotFound)
                .with_recovery(Recovery::call(target, "Look there and then come again."))
        };
        let operation = OperationDeclaration::mutation("orders.refund")
            .with_summary("Refund an order.")
            .with_description("At length.")
            .with_access(Access::caller().scope("orders:refund"))
            .with_deadline(Duration::from_secs(1))
            .with_max_input(10)
            .with_max_output(10)
            .with_idempotency_key()
            .with_tag("orders")
            .with_since("1.0.0")
            .with_deprecated(Deprecation { replaced_by: Some("ledger.book".to_owned()), ..Deprecation::default() })
            .with_alias("orders.give_back")
            .with_example(Example { input: json!({}), ending: ExampleEnding::Output(json!(1)) })
            .with_call("ledger.book")
            .with_authority("ledger:write")
            .with_callers_authority()
            .with_completion("order", "ledger.offer")
            .with_streaming(Streaming::default())
            .with_blocks();
        operation.prompt().fails(failure("OPEN", "orders.list")).fails(failure("CLOSED", "ledger.book"))
    }

    fn members(operation: &OperationDeclaration) -> Vec<String> {
        serde_json::to_value(operation).unwrap().as_object().unwrap().keys().cloned().collect()
    }

    fn reach(name: &str) -> Reach {
        match name {
            "orders.list" => Reach::Open,
            "ledger.book" => Reach::Closed,
            _ => Reach::Unknown,
        }
    }

    /// Every member of a declaration is here or in `INTERNAL`, so that a new one has to be put into one of them.
    #[test]
    fn what_is_internal_is_absent_without_the_scope_and_everything_else_is_there() {
        let public = [
            "access",
            "aliases",
            "content",
            "deadline_ms",
            "deprecated",
            "description",
            "examples",
            "failures",
            "gives",
            "idempotency_key",
            "input",
            "max_input",
            "max_output",
            "name",
            "origin",
            "output",
            "role",
            "shape",
            "since",
            "streaming",
            "summary",
            "tags",
            "visibility",
        ];
        let mut all: Vec<&str> = public.into_iter().chain(INTERNAL).collect();
        all.sort_unstable();
        assert_eq!(members(&whole()), all);
        let stranger = Caller::new("ada").scope("orders:refund");
        for caller in [None, Some(&stranger)] {
            assert_eq!(members(&whole().disclosed(&Disclosure::to(caller, &reach))), public);
        }
        let auditor = Caller::new("eve").scope("internals:read");
        assert_eq!(members(&whole().disclosed(&Disclosure::to(Some(&auditor), &reach))), all);
    }

    #[test]
    fn what_a_caller_cannot_call_is_named_nowhere() {
        let told = whole().disclosed(&Disclosure::to(None, &reach));
        assert!(!serde_json::to_string(&told).unwrap().contains("ledger"));
        assert_eq!(told.points_to().collect::<Vec<_>>(), ["orders.list"]);
        let recovery = |code: &str| told.failure(code).and_then(FailureDeclaration::recovery).unwrap().clone();
        assert_eq!(recovery("OPEN"), Recovery::call("orders.list", "Look there and then come again."));
        assert_eq!(recovery("CLOSED"), Recovery::ask_user("Look there and then come again."));
    }

    #[test]
    fn a_successor_that_is_no_operation_here_stays() {
        let elsewhere = Deprecation { replaced_by: Some("the new service".to_owned()), ..Deprecation::default() };
        let told = whole().with_deprecated(elsewhere.clone()).disclosed(&Disclosure::to(None, &reach));
        assert_eq!(told.deprecated(), Some(&elsewhere));
    }
}
