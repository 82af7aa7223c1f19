//! Whether calls would be let in, without making them: for what tells of a thing without giving it.

use std::{
    collections::{HashMap, hash_map},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use futures_util::FutureExt as _;
use redress_contract::{EngineCode, Envelope};
use tokio::time::Instant;

use super::{Call, CallInput, CallStop, admit::Permits};
use crate::{
    Registry, Request,
    author::handler::{BoundHandler, InputReader},
    registry::RegisteredOperation,
};

/// An operation that calls are asked about, once its caller may call it at all.
struct OpenOperation {
    call: Call,
    entry: Arc<RegisteredOperation>,
}

impl Registry {
    /// Which of these calls, each the name of an operation and an input, the caller would be let into: access, consent
    /// and the operation's check, and nothing of the handler. It is for what tells of a thing without giving it, such as
    /// that a document has changed. Where anything refuses or cannot tell, the answer is no.
    ///
    /// However many calls are asked about, each operation takes one call from its limits, and together they take no
    /// longer than one call may. An operation whose limits refuse that ends the whole with their refusal. An idempotency
    /// key says nothing here.
    pub async fn allows(&self, wanted: &[(&str, &[u8])], request: Request<'_>) -> Result<Vec<bool>, Envelope> {
        let (mut whole, CallInput { token, .. }) = self.begin("", request);
        // Nothing is called, so there is nothing to tell the observers of.
        whole.ended = true;
        whole.ctx.idempotency_key = None;
        whole.found_nothing();
        let mut permits = Vec::new();
        let mut opened: HashMap<&str, Option<OpenOperation>> = HashMap::new();
        let mut allowed = Vec::with_capacity(wanted.len());
        for &(name, input) in wanted {
            let call_input = CallInput { name, input: input.into(), token: token.clone() };
            let open = match opened.entry(name) {
                hash_map::Entry::Occupied(open) => open.into_mut(),
                hash_map::Entry::Vacant(place) => place.insert(whole.open_for(&call_input, &mut permits).await?),
            };
            // A check that never waits would be done after any deadline.
            let late = whole.ctx.deadline.is_some_and(|deadline| deadline <= Instant::now());
            allowed.push(match open {
                Some(open) if !late => {
                    matches!(AssertUnwindSafe(open.lets_in(&call_input)).catch_unwind().await, Ok(Ok(true)))
                }
                Some(_) | None => false,
            });
        }
        Ok(allowed)
    }
}

impl Call {
    /// The operation, where its caller may call it and a person has agreed to that; its limits are taken from.
    async fn open_for(
        &self,
        call_input: &CallInput<'_>,
        held: &mut Vec<Permits>,
    ) -> Result<Option<OpenOperation>, Envelope> {
        let mut call = Call::begin(self.ctx.clone(), self.since);
        call.ended = true;
        let looked = AssertUnwindSafe(call.look_agreed(call_input)).catch_unwind().await;
        let Ok(Ok(entry)) = looked else { return Ok(None) };
        let limited = catch_unwind(AssertUnwindSafe(|| call.limits(&entry)));
        match limited.unwrap_or_else(|payload| Err(call.map_panic(&*payload))) {
            Ok(permits) => {
                held.push(permits);
                Ok(Some(OpenOperation { call, entry }))
            }
            Err(bad) => Err(call.end_outside(Err(bad.into()))),
        }
    }

    async fn look_agreed(&mut self, call_input: &CallInput<'_>) -> Result<Arc<RegisteredOperation>, CallStop> {
        let entry = self.look(call_input).await?;
        if entry.declaration.access().needs_consent() && !self.within(self.has_agreed(&entry)).await? {
            return Err(self.refuse(EngineCode::ConsentRequired).into());
        }
        Ok(entry)
    }
}

impl OpenOperation {
    /// Whether the check of the operation lets this call in.
    async fn lets_in(&self, call_input: &CallInput<'_>) -> Result<bool, CallStop> {
        let OpenOperation { call, entry } = self;
        if entry.check.is_none() {
            return Ok(true);
        }
        call.size(entry, call_input)?;
        let reader: Arc<dyn InputReader> = match &entry.bound {
            BoundHandler::Once(handler) => Arc::clone(handler) as _,
            BoundHandler::Stream(handler) => Arc::clone(handler) as _,
            BoundHandler::Nothing => return Err(call.refuse(EngineCode::HandlerNotBound).into()),
        };
        let (_, failed) = call.read_checked(entry, reader, call_input).await?;
        Ok(failed.is_none())
    }
}
