//! Composition: one operation calls another, with its own declared reach and authority.

use std::{
    borrow::Cow,
    sync::{Arc, OnceLock},
};

use redress_contract::{EngineCode, Envelope, OutputJson};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    AnyFailure, CallFailed, Ctx, Declared, DynamicFailure, Failure, OperationFn,
    offload::{LARGE, offload},
    path::{Call, CallInput, CallStop, make_id},
};

impl Ctx {
    /// Calls another operation that this one declares to call. It runs the whole path: with
    /// the authority that this operation declared, its own or its caller's, within what is left of its deadline, with
    /// a request id of its own.
    pub async fn call<A, O>(
        &self,
        operation: &O,
        input: <O::Declared as Declared>::Input,
    ) -> Result<<O::Declared as Declared>::Output, CallFailed<<O::Declared as Declared>::Failure>>
    where
        O: OperationFn<A>,
        <O::Declared as Declared>::Input: Serialize,
        <O::Declared as Declared>::Output: DeserializeOwned,
    {
        let _ = operation;
        self.compose(<O::Declared as Declared>::NAME, &input).await
    }

    /// Calls an operation that is known by its name alone.
    pub async fn call_dynamic(&self, name: &str, input: Value) -> Result<Value, CallFailed<DynamicFailure>> {
        self.compose(name, &input).await
    }

    async fn compose<T, F>(&self, name: &str, input: &impl Serialize) -> Result<T, CallFailed<F>>
    where
        T: DeserializeOwned + Send + 'static,
        F: Failure,
    {
        let (envelope, failure) = self.composed(name, serde_json::to_vec(input)).await;
        let read = match envelope.output() {
            None => return Err(CallFailed::of(envelope, failure)),
            Some(output) if output.len() <= LARGE => serde_json::from_slice(output),
            Some(_) => offload(move || serde_json::from_slice(envelope.output().unwrap_or_default())).await,
        };
        match read {
            Ok(output) => Ok(output),
            Err(error) => {
                tracing::error!(request_id = %self.request_id, callee = name, cause = %crate::call::logged_cause::LoggedCause::of(&error), "the output of a composed call cannot be read");
                Err(CallFailed::engine(EngineCode::InvalidOutput))
            }
        }
    }

    async fn composed(
        &self,
        name: &str,
        input: Result<Vec<u8>, serde_json::Error>,
    ) -> (Envelope, Option<Arc<dyn AnyFailure>>) {
        let since = Instant::now();
        let ctx = Ctx {
            registry: self.registry.clone(),
            entry: None,
            // Switched, never skipped: the gate has checked who called this operation, and
            // what it calls is checked against what it declared.
            caller: match &self.entry {
                Some(entry) if !entry.declaration.calls_as_caller() => Some(Arc::clone(&entry.authority)),
                Some(_) | None => self.caller.clone(),
            },
            request_id: make_id(since),
            parent: Some(self.request_id.clone()),
            deadline: self.deadline,
            caller_deadline: self.deadline,
            depth: self.depth + 1,
            face: self.face,
            peer: self.peer,
            sign_in: None,
            session_id: None,
            idempotency_key: None,
            last_event_id: None,
            listener: self.listener.clone(),
            asking: self.asking.clone(),
            above: Some(self.cancellation().clone()),
            own: OnceLock::new(),
            // What another operation gets is not an answer yet.
            account: None,
            room: OnceLock::new(),
            reserves: OnceLock::new(),
        };
        let mut call = Call::begin(ctx, since);
        let max_depth = self.registry.0.settings.max_depth;
        let ended: Result<OutputJson, CallStop> = match input {
            Err(_) => Err(call.refuse(EngineCode::InvalidInput).into()),
            Ok(_) if !self.reaches(name) => {
                self.log_undeclared(name);
                Err(call.refuse(EngineCode::NotFound).into())
            }
            Ok(_) if self.depth >= max_depth => {
                Err(call.refuse_with(EngineCode::InvalidRequest, &json!({"max_depth": max_depth})).into())
            }
            Ok(input) => call.answer(&CallInput { name, input: Cow::Owned(input), token: None }).await,
        };
        call.end(ended)
    }

    /// Says what is wrong, since NOT_FOUND does not: what was called may well be there.
    #[cold]
    fn log_undeclared(&self, name: &str) {
        let operation = self.entry.as_ref().map_or("", |entry| entry.declaration.name().as_str());
        match self.registry.find(name) {
            Some(target) => {
                let callee = target.declaration.name();
                tracing::error!(request_id = %self.request_id, operation, %callee, "an operation called another that it does not declare: add it to `calls`");
            }
            // The name may come from anywhere.
            None => {
                tracing::error!(request_id = %self.request_id, operation, "an operation called another that there is not");
            }
        }
    }

    /// Whether this operation declared that it calls `name`. A context that serves no operation, as a unit test may make
    /// it, has declared nothing.
    fn reaches(&self, name: &str) -> bool {
        let Some(entry) = &self.entry else { return false };
        let Some(target) = self.registry.find(name) else { return false };
        let target = &target.declaration;
        let declared = entry.declaration.calls();
        declared.contains(target.name()) || declared.iter().any(|call| target.aliases().contains(call))
    }
}
