//! Find, visibility and shape: what is called, and whether it can be called like this.

use std::sync::Arc;

use redress_contract::{EngineCode, Name, OperationDeclaration, Shape, Similar};

use super::{Call, CallInput, FailedCall};
use crate::{Shown, registry::RegisteredOperation};

impl Call {
    /// Finds the operation, under its name or an alias, in any form that the wire may use.
    /// An internal one does not exist for callers from outside, nor one that their face does not show, nor for agents
    /// one that is for persons.
    pub(super) fn find(&self, call_input: &CallInput<'_>) -> Option<Arc<RegisteredOperation>> {
        let entry = self.ctx.registry.find(call_input.name).filter(|entry| !entry.is_hidden())?;
        if !self.is_for_this_face(&entry.declaration) {
            return None;
        }
        let exists = || entry.declaration.is_external() && self.ctx.registry.shows(entry) != Shown::No;
        (self.ctx.parent.is_some() || exists()).then(|| Arc::clone(entry))
    }

    fn is_for_this_face(&self, operation: &OperationDeclaration) -> bool {
        !(self.ctx.face.is_for_agents() && operation.access().is_for_persons())
    }

    /// A call goes to a query or a mutation, a subscription is subscribed to.
    pub(super) fn shape(&self, entry: &RegisteredOperation, wanted: Shape) -> Result<(), Box<FailedCall>> {
        let streams = |shape| matches!(shape, Shape::Subscription);
        let declared = entry.declaration.shape();
        if streams(declared) == streams(wanted) {
            return Ok(());
        }
        let details = serde_json::json!({"operation": entry.declaration.name(), "shape": declared});
        Err(self.refuse_with(EngineCode::InvalidOperationType, &details))
    }

    /// Says that there is no such operation, and what is near.
    pub(super) async fn not_found(&self, call_input: &CallInput<'_>) -> Box<FailedCall> {
        // Near names help only those who may call them, so who asks has to be known first.
        // What is near is no reason to let them wait: what is not known by the deadline is not told.
        let caller = self.within(self.identify(call_input)).await.ok().flatten();
        let wanted = Name::from_wire(call_input.name);
        let near =
            self.ctx.registry.near_names(&wanted, caller.as_deref(), |operation| self.is_for_this_face(operation));
        let mut bad = self.refuse(EngineCode::NotFound);
        bad.problem.similar = near.into_iter().map(|value| Similar { value }).collect();
        bad
    }
}
