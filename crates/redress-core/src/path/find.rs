//! Find, visibility and shape: what is called, and whether it can be called like this.

use std::sync::Arc;

use redress_contract::{EngineCode, Name, Shape, Similar};

use super::{Asked, Bad, Call};
use crate::{registry::Entry, similar};

impl Call {
    /// Finds the operation, under its name or an alias, in any form that the wire may use.
    /// An internal one does not exist for callers from outside (K-06), and one for persons does not exist for agents.
    pub(super) fn find(&self, asked: &Asked<'_>) -> Option<Arc<Entry>> {
        let entry = self.ctx.registry.find(asked.name).filter(|entry| !entry.is_hidden())?;
        if self.ctx.face.is_for_agents() && entry.declaration.access().is_for_persons() {
            return None;
        }
        (entry.declaration.is_external() || self.ctx.parent.is_some()).then(|| Arc::clone(entry))
    }

    /// A call goes to a query or a mutation, a subscription is subscribed to (K-34).
    pub(super) fn shape(&self, entry: &Entry, wanted: Shape) -> Result<(), Box<Bad>> {
        let streams = |shape| shape == Shape::Subscription;
        let declared = entry.declaration.shape();
        if streams(declared) == streams(wanted) {
            return Ok(());
        }
        let details = serde_json::json!({"operation": entry.declaration.name(), "shape": declared});
        Err(self.refuse_with(EngineCode::InvalidOperationType, &details))
    }

    /// Says that there is no such operation, and what is near.
    pub(super) async fn not_found(&self, asked: &Asked<'_>) -> Box<Bad> {
        // Near names help only those who may call them, so who asks has to be known first.
        // What is near is no reason to let them wait: what is not known by the deadline is not told.
        let caller = self.within(self.identify(asked)).await.ok().flatten();
        let wanted = Name::from_wire(asked.name);
        let open = self.ctx.registry.open_by(self.ctx.face, caller.as_deref());
        let open = open.map(|operation| operation.name().as_str().to_owned());
        let mut bad = self.refuse(EngineCode::NotFound);
        bad.problem.similar = similar::nearest(&wanted, open).into_iter().map(|value| Similar { value }).collect();
        bad
    }
}
