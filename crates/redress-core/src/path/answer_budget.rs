//! Room for the answer: a call starts when its connection, its caller and the service can hold what it is expected to
//! answer. It waits here, before the limits, so that it holds nothing that others could use.

use redress_contract::EngineCode;
use serde_json::json;

use super::{Call, FailedCall};
use crate::{Refusal, call::encode::max_output};

/// When to come again where answers are not read.
const A_WHILE_MS: u64 = 1000;

impl Call {
    /// Whether the operation is known for answers that need room.
    pub(super) fn expects_much(&self) -> bool {
        let (Some(account), Some(entry)) = (&self.ctx.account, &self.ctx.entry) else { return false };
        entry.expected_output() > account.free()
    }

    /// Waits until there is room for the answer that is expected, and takes it.
    pub(super) async fn room(&self) -> Result<(), Box<FailedCall>> {
        let entry = self.entry()?;
        let (true, Some(room)) = (self.expects_much(), self.ctx.room()) else { return Ok(()) };
        tokio::select! {
            biased;
            () = self.called_off() => Err(self.refuse(EngineCode::Cancelled)),
            () = room.reserve(entry.expected_output().min(max_output(&self.ctx))) => Ok(()),
            () = self.at_deadline() => Err(self.no_room()),
        }
    }

    /// Refuses a call that found no room for its answer in time. Nothing has come of it.
    pub(super) fn no_room(&self) -> Box<FailedCall> {
        let per = self.ctx.room().map_or("server", |room| room.refuse());
        let refusal = Refusal::new(EngineCode::Overloaded)
            .with_details(&json!({"limit": "answer_bytes", "per": per}))
            .with_retry_after_ms(A_WHILE_MS);
        FailedCall::new(refusal.into_problem())
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        time::Duration,
    };

    use redress_contract::{self as contract, Access};
    use serde_json::Value;

    use super::*;
    use crate::{Budget, BudgetLimits, Ctx, Operation, Registry, Request};

    async fn reserving(ctx: Ctx, _: Value) -> crate::Outcome<Value, crate::DynamicFailure> {
        ctx.reserve(1 << 20).await;
        Ok(json!({}))
    }

    #[tokio::test(start_paused = true)]
    async fn an_operation_that_is_known_for_large_answers_does_not_run_while_there_is_no_room_for_one() {
        let (ran, limit) = (Arc::new(AtomicUsize::new(0)), 1 << 20);
        let running = Arc::clone(&ran);
        let declaration = contract::OperationDeclaration::query("demo.large").with_summary("Reads much.");
        let large = Operation::dynamic(declaration.with_access(Access::anyone())).with_handler(move |_, _: Value| {
            running.fetch_add(1, Ordering::Relaxed);
            async { Ok(json!("x".repeat(64 * 1024))) }
        });
        let registry = Registry::builder().add(large).build().unwrap();
        let budget = Budget::new(BudgetLimits { connection: limit, caller: limit, all: limit });
        let call = async || {
            let request = Request::default().with_account(budget.connection()).with_deadline(Duration::from_secs(1));
            registry.call("demo.large", request).await
        };
        assert!(call().await.is_ok());
        let held = budget.connection().reserve(None, None, limit - 1024).await;
        assert_eq!(call().await.code(), Some("OVERLOADED"));
        assert_eq!(ran.load(Ordering::Relaxed), 1, "there was no room for what it answers");
        drop(held);
        assert!(call().await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_query_that_waits_for_room_until_its_deadline_has_not_run_and_of_a_mutation_nobody_knows() {
        let named = |operation: contract::OperationDeclaration| {
            operation.with_summary("Reads much.").with_access(Access::anyone())
        };
        let builder = Registry::builder()
            .add(Operation::dynamic(named(contract::OperationDeclaration::query("demo.read"))).with_handler(reserving))
            .add(
                Operation::dynamic(named(contract::OperationDeclaration::mutation("demo.write")))
                    .with_handler(reserving),
            );
        let registry = builder.build().unwrap();
        let budget = Budget::new(BudgetLimits { connection: 1 << 20, caller: 1 << 20, all: 1 << 20 });
        let held = budget.connection().reserve(None, None, 1 << 20).await;
        assert!(held.is_some());
        let call = async |name| {
            let request = Request::default().with_account(budget.connection()).with_deadline(Duration::from_secs(1));
            serde_json::from_slice::<Value>(&registry.call(name, request).await.into_bytes()).unwrap()
        };
        let read: Value = call("demo.read").await;
        let told = ["code", "retry", "effect"].map(|member| read[member].as_str().unwrap_or_default());
        assert_eq!(told, ["OVERLOADED", "safe", "none"]);
        assert_eq!(read["details"]["limit"], "answer_bytes");
        assert!(read["retry_after_ms"].is_u64());
        let write: Value = call("demo.write").await;
        assert_eq!((&write["code"], &write["effect"]), (&json!("TIMEOUT"), &json!("unknown")));
        drop(held);
        assert_eq!(call("demo.read").await["ok"], true);
    }
}
