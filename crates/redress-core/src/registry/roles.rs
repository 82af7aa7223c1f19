//! Prompts and documents: the operations that have such a role, found as such.

use redress_contract::{Caller, OperationDeclaration, Role};
use serde_json::{Map, Value};

use super::Registry;

impl Registry {
    /// The prompts that `caller` may use.
    pub fn prompts(&self, caller: Option<&Caller>) -> impl Iterator<Item = &OperationDeclaration> {
        self.open_to(caller).filter(|operation| *operation.role() == Role::Prompt)
    }

    /// The documents that `caller` may read: those at one URI, and the templates of many.
    pub fn resources(&self, caller: Option<&Caller>) -> impl Iterator<Item = &OperationDeclaration> {
        self.open_to(caller).filter(|operation| operation.uri().is_some())
    }

    /// The operation that gives the document at `uri`, and its input: what the variables of
    /// the template stand for. A document of its own comes before any template.
    ///
    /// Whether the caller may read it is for the call to say, which is made by
    /// [`call`](Registry::call) or [`converse`](Registry::converse) like any other.
    pub fn resource(&self, uri: &str) -> Option<(&OperationDeclaration, Vec<u8>)> {
        let named = |template: bool| {
            self.shown().filter_map(move |operation| {
                let found = operation.uri().filter(|uri| uri.is_template() == template)?.read(uri)?;
                Some((operation, found))
            })
        };
        let (operation, found) = named(false).chain(named(true)).next()?;
        let input: Map<String, Value> =
            found.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
        Some((operation, Value::Object(input).to_string().into_bytes()))
    }
}
