//! A whole service, as a value.

use serde::{Deserialize, Serialize};

use crate::{Caller, Name, OperationDeclaration};

/// The operations of a service, in the order they were declared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contract {
    operations: Vec<OperationDeclaration>,
}

impl Contract {
    /// A contract of these operations.
    pub fn new(operations: impl IntoIterator<Item = OperationDeclaration>) -> Contract {
        Contract { operations: operations.into_iter().collect() }
    }

    /// Every operation, the internal ones included.
    pub fn operations(&self) -> &[OperationDeclaration] {
        &self.operations
    }

    /// The operation of this name or alias, in any form that the wire may use.
    pub fn operation(&self, name: &str) -> Option<&OperationDeclaration> {
        let name = Name::from_wire(name);
        self.operations
            .iter()
            .find(|operation| *operation.name() == *name || operation.aliases().iter().any(|alias| *alias == *name))
    }

    /// The operations `caller` may call from outside, in the order they were declared.
    ///
    /// ```
    /// use redress_contract::{Access, Caller, Contract, OperationDeclaration};
    ///
    /// let refund = OperationDeclaration::mutation("orders.refund").with_access(Access::caller().scope("refund"));
    /// let status = OperationDeclaration::query("orders.status").with_access(Access::anyone());
    /// let contract = Contract::new([refund, status]);
    ///
    /// let open: Vec<&str> = contract.open_to(None).map(|operation| operation.name().as_str()).collect();
    /// assert_eq!(open, ["orders.status"]);
    /// assert_eq!(contract.open_to(Some(&Caller::local())).count(), 2);
    /// ```
    pub fn open_to(&self, caller: Option<&Caller>) -> impl Iterator<Item = &OperationDeclaration> {
        self.operations
            .iter()
            .filter(move |operation| operation.is_external() && operation.access().admit(caller).is_ok())
    }
}
