//! A guard that an extension brings: its codes are written bare, and leave with the namespace.

use std::sync::Arc;

use redress_contract::{Code, FailureDeclaration, OperationDeclaration};

use crate::{Guard, GuardBroken, GuardedCall, Veto, WhenBroken, author::handler::BoxFuture};

/// A guard with its codes in the namespace of its extension.
pub(super) struct OwnedGuard {
    namespace: String,
    guard: Arc<dyn Guard>,
    /// The codes of the whole extension, as they are written: a parent may be any of them.
    own: Arc<[Code]>,
}

impl OwnedGuard {
    pub(super) fn new(namespace: &str, guard: Arc<dyn Guard>, own: Arc<[Code]>) -> OwnedGuard {
        OwnedGuard { namespace: namespace.to_owned(), guard, own }
    }
}

impl Guard for OwnedGuard {
    fn name(&self) -> &str {
        self.guard.name()
    }

    fn failures(&self) -> Vec<FailureDeclaration> {
        let is_own = |code: &Code| self.own.contains(code);
        self.guard.failures().into_iter().map(|failure| failure.in_namespace(&self.namespace, is_own)).collect()
    }

    fn covers(&self, operation: &OperationDeclaration) -> bool {
        self.guard.covers(operation)
    }

    fn when_broken(&self) -> WhenBroken {
        self.guard.when_broken()
    }

    fn check<'a>(&'a self, call: &'a GuardedCall<'a>) -> BoxFuture<'a, Result<Option<Veto>, GuardBroken>> {
        Box::pin(async move {
            let veto = self.guard.check(call).await?;
            Ok(veto.map(|veto| match veto.code.contains('.') {
                true => veto,
                false => Veto { code: format!("{}.{}", self.namespace, veto.code), ..veto },
            }))
        })
    }
}
