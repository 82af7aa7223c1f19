//! Room for the answer: a call starts when its connection, its caller and the service can hold what it is expected to
//! answer. It waits here, before the limits, so that it holds nothing that others could use.

use redress_contract::{EngineCode, Json};
use serde_json::json;

use super::{Bad, Call};
use crate::encode::max_output;

/// When to come again where answers are not read.
const A_WHILE_MS: u64 = 1000;

impl Call {
    /// Whether the operation is known for answers that need room.
    pub(super) fn expects_much(&self) -> bool {
        let (Some(account), Some(entry)) = (&self.ctx.account, &self.ctx.entry) else { return false };
        entry.expected_output() > account.free()
    }

    /// Waits until there is room for the answer that is expected, and takes it.
    pub(super) async fn room(&self) -> Result<(), Box<Bad>> {
        let entry = self.entry()?;
        let (true, Some(room)) = (self.expects_much(), self.ctx.room()) else { return Ok(()) };
        tokio::select! {
            biased;
            () = self.called_off() => Err(self.refuse(EngineCode::Cancelled)),
            () = room.reserve(entry.expected_output().min(max_output(&self.ctx))) => Ok(()),
            () = self.at_deadline() => {
                let details = Json::of(&json!({"limit": "answer_bytes", "per": room.refuse()})).ok();
                Err(Bad::new(self.engine(EngineCode::Overloaded, details, Some(A_WHILE_MS))))
            }
        }
    }
}
