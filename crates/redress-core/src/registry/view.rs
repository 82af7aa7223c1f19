//! What one face, or one caller, is shown of a registry.

use std::sync::Arc;

use redress_contract::{Caller, Contract, Disclosure, FailureDeclaration, Name, OperationDeclaration, Reach};

use super::{RegisteredOperation, Registry, RegistryInner};
use crate::similar;

/// What a face shows of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shown {
    /// Nothing: there is no such operation.
    No,
    /// It is there, and is not called by its name: a prompt or a document of MCP.
    Listed,
    /// It is there, and is called by its name.
    Callable,
}

impl Registry {
    /// The same registry as a face sees it that shows only some operations: from outside, the others do not exist, and no
    /// failure, list or declaration names them. Below a call every operation is there as before.
    ///
    /// ```
    /// use redress_core::{Operation, Registry, Request, Shown, contract};
    /// use serde_json::json;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let open = |name: &str| contract::OperationDeclaration::query(name).with_access(contract::Access::anyone());
    /// let one = |name: &str| Operation::dynamic(open(name)).with_handler(|_, _| async { Ok(json!(1)) });
    /// let whole = Registry::builder().add(one("lab.alpha")).add(one("lab.beta")).build().unwrap();
    ///
    /// let part = whole.view(|operation| if *operation.name() == "lab.beta" { Shown::No } else { Shown::Callable });
    /// assert_eq!((whole.open_to(None).count(), part.open_to(None).count()), (2, 1));
    /// assert_eq!(part.call("lab.beta", Request::default()).await.code(), Some("NOT_FOUND"));
    /// # });
    /// ```
    #[must_use]
    pub fn view(&self, shown: impl Fn(&OperationDeclaration) -> Shown) -> Registry {
        let shown = self.0.entries.iter().map(|entry| shown(&entry.declaration).min(self.shows(entry))).collect();
        Registry(Arc::new(RegistryInner { view: Some(shown), ..RegistryInner::clone(&self.0) }))
    }

    /// What is shown of an operation, whoever asks.
    pub(crate) fn shows(&self, entry: &RegisteredOperation) -> Shown {
        match &self.0.view {
            None => Shown::Callable,
            Some(view) => view.get(entry.place).copied().unwrap_or(Shown::No),
        }
    }

    /// Whether the operation exists for `caller`, from outside and now.
    pub(super) fn is_open(&self, entry: &RegisteredOperation, caller: Option<&Caller>) -> bool {
        !entry.is_hidden()
            && self.shows(entry) != Shown::No
            && entry.declaration.is_external()
            && entry.declaration.access().admit(caller).is_ok()
    }

    /// The names nearest to one that does not exist, of the operations that exist for `caller` and that `also` lets through.
    pub(crate) fn near_names(
        &self,
        wanted: &str,
        caller: Option<&Caller>,
        also: impl Fn(&OperationDeclaration) -> bool,
    ) -> Vec<String> {
        let sketched = self.0.entries.iter().map(|entry| (entry.sketch, entry));
        similar::nearest_of(wanted, sketched, |entry| {
            let shown = self.is_open(entry, caller) && also(&entry.declaration);
            shown.then(|| entry.declaration.name().as_str())
        })
    }

    /// The operation that `caller` could call by this name now, from outside.
    pub(crate) fn callable(&self, name: &str, caller: Option<&Caller>) -> Option<&Arc<RegisteredOperation>> {
        self.find(name).filter(|entry| self.is_open(entry, caller) && self.shows(entry) == Shown::Callable)
    }

    /// The operations that `caller` may call from outside, each as far as this caller is told of it: without what it is
    /// made of inside, unless the caller has the scope [`Disclosure::INTERNALS`], and without the names of operations that
    /// the caller could not call. Whatever shows declarations to callers shows these.
    pub fn disclosed_to(&self, caller: Option<&Caller>) -> Contract {
        Contract::new(self.open_to(caller).map(|operation| self.disclose(operation, caller)))
    }

    /// The same, of the operations alone that declare `code`.
    pub fn disclosed_with(&self, code: &str, caller: Option<&Caller>) -> Contract {
        let with_code = self.open_to(caller).filter(|operation| operation.failure(code).is_some());
        Contract::new(with_code.map(|operation| self.disclose(operation, caller)))
    }

    /// The operation of this name or alias, or behind the tool of this name, as far as `caller` is told of it; nothing
    /// where it does not exist for them.
    pub fn disclosed_operation(&self, name: &str, caller: Option<&Caller>) -> Option<OperationDeclaration> {
        let entry = self.find(name).or_else(|| self.behind_tool(name));
        let entry = entry.filter(|entry| self.is_open(entry, caller))?;
        Some(self.disclose(&entry.declaration, caller))
    }

    /// The declaration of a code that no operation has for itself, the engine's own or an extension's, as far as `caller`
    /// is told of it.
    pub fn disclosed_code(&self, code: &str, caller: Option<&Caller>) -> Option<FailureDeclaration> {
        let declares = |operation: &OperationDeclaration| operation.failure(code).is_some();
        let failure = self.failure(code).filter(|_| !self.0.contract.operations().iter().any(declares))?;
        Some(failure.disclosed(&Disclosure::to(caller, &|name| self.reach(name, caller))))
    }

    /// The declarations of the codes that belong to extensions as a whole and to no operation, as far as `caller` is told
    /// of them.
    pub fn disclosed_codes(&self, caller: Option<&Caller>) -> Vec<FailureDeclaration> {
        self.0.codes.iter().filter_map(|failure| self.disclosed_code(failure.code().as_str(), caller)).collect()
    }

    /// The operation whose tool has this name: `files_read` is that of `files.read`. No two share one.
    pub(crate) fn behind_tool(&self, name: &str) -> Option<&Arc<RegisteredOperation>> {
        let fits = |known: &Name| {
            known.as_str().len() == name.len()
                && known.as_str().bytes().map(|byte| if byte == b'.' { b'_' } else { byte }).eq(name.bytes())
        };
        let named = |entry: &&Arc<RegisteredOperation>| {
            fits(entry.declaration.name()) || entry.declaration.aliases().iter().any(fits)
        };
        self.0.entries.iter().find(named)
    }

    fn disclose(&self, operation: &OperationDeclaration, caller: Option<&Caller>) -> OperationDeclaration {
        operation.disclosed(&Disclosure::to(caller, &|name| self.reach(name, caller)))
    }

    fn reach(&self, name: &str, caller: Option<&Caller>) -> Reach {
        match self.find(name).map(|entry| (self.is_open(entry, caller), self.shows(entry))) {
            None => Reach::Unknown,
            Some((false, _) | (true, Shown::No)) => Reach::Closed,
            Some((true, Shown::Listed)) => Reach::Listed,
            Some((true, Shown::Callable)) => Reach::Open,
        }
    }
}
