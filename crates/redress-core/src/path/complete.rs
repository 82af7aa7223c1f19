//! Completion: what a member of an input may be, for somebody who is still typing it.

use std::{borrow::Cow, collections::BTreeMap, panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt as _;
use redress_contract::Envelope;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Call, CallInput, CallStop, admit::Permits, make_id};
use crate::{Classification, Registry, Request, registry::RegisteredOperation};

/// How many values are given at once.
const MAX: usize = 100;

/// What a member of an input may be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Completion {
    /// What it may be, best first.
    pub values: Vec<String>,
    /// How many more there are.
    pub left_out: usize,
}

impl Completion {
    fn of(mut values: Vec<String>) -> Completion {
        let left_out = values.len().saturating_sub(MAX);
        values.truncate(MAX);
        Completion { values, left_out }
    }
}

impl Registry {
    /// What `argument` of the operation `name` may be, where `value` is typed so far and the
    /// other members are `given`. The values come from the operation that the declaration names
    /// for it, called as the same caller, or else from those that its schema lists. Who may not
    /// call the operation itself is refused as in a call, and so is whom a limit on it refuses
    /// where another operation has to run. No quota is taken from: it counts calls that were
    /// made, and somebody who types has made none yet.
    pub async fn complete(
        &self,
        name: &str,
        argument: &str,
        value: &str,
        given: &BTreeMap<String, String>,
        request: Request<'_>,
    ) -> Result<Completion, Envelope> {
        let (mut call, call_input) = self.begin(name, request);
        let admitted = AssertUnwindSafe(call.completing(&call_input, argument)).catch_unwind().await;
        // What the limits have handed out is held until the operation below has ended.
        let (entry, _permits) = match admitted.unwrap_or_else(|payload| Err(call.map_panic(&*payload).into())) {
            Ok(admitted) => admitted,
            Err(stop) => return Err(call.end_contained(stop)),
        };
        let declaration = &entry.declaration;
        let Some(source) = declaration.completions().get(argument) else {
            call.ended = true;
            return Ok(Completion::of(listed(declaration.input().property(argument), value)));
        };
        // It runs below the operation that names it, so it may be internal.
        let since = Instant::now();
        let mut ctx = call.ctx.clone();
        ctx.parent = Some(std::mem::replace(&mut ctx.request_id, make_id(since)));
        ctx.entry = None;
        // Nothing of the operation itself has run, so only what follows is told of.
        call.ended = true;
        let mut call = Call::begin(ctx, since);
        let input = json!({"argument": argument, "value": value, "given": given}).to_string();
        let call_input = CallInput { name: source.as_str(), input: Cow::Owned(input.into_bytes()), token: None };
        let ended = call.answer(&call_input).await;
        let envelope = call.end_recorded(ended).await;
        match envelope.output().map(serde_json::from_slice) {
            Some(Ok(values)) => Ok(Completion::of(values)),
            // The registry has checked what the operation gives.
            Some(Err(_)) => Ok(Completion::default()),
            None => Err(call.below(envelope)),
        }
    }
}

impl Call {
    /// What is told of the bad ending of an operation that completes an argument. It is none of those that the operation
    /// has which was asked about, and may name what is internal, so it is treated as that of a composed call.
    fn below(&self, envelope: Envelope) -> Envelope {
        let Some(problem) = envelope.problem() else { return envelope };
        let Classification { code, .. } = Classification::of_called(problem);
        let ended = problem.code.as_str();
        tracing::warn!(request_id = %self.ctx.request_id, operation = self.operation(), code = ended, "an argument could not be completed");
        let retry_after_ms = problem.retry_after_ms.filter(|_| code.kind().retryable());
        Envelope::failure(self.engine(code, None, retry_after_ms), None, envelope.meta().clone())
    }

    /// The steps up to access, and the limits where another operation runs to complete the argument: for that one it
    /// is a composed call, which no limit holds, since the call that makes it has passed them.
    async fn completing(
        &mut self,
        call_input: &CallInput<'_>,
        argument: &str,
    ) -> Result<(Arc<RegisteredOperation>, Option<Permits>), CallStop> {
        let entry = self.look(call_input).await?;
        // Nothing is changed, whatever the operation itself would change.
        if self.ctx.idempotency_key.is_some() {
            return Err(self.needless_key().into());
        }
        let runs = entry.declaration.completions().contains_key(argument);
        let permits = if runs { Some(self.limits(&entry)?) } else { None };
        Ok((entry, permits))
    }

    /// The steps up to access: the operation itself is not run, so nobody has to agree to it.
    pub(super) async fn look(&mut self, call_input: &CallInput<'_>) -> Result<Arc<RegisteredOperation>, CallStop> {
        let Some(entry) = self.find(call_input) else {
            return Err(self.not_found(call_input).await.into());
        };
        self.found(Arc::clone(&entry));
        if call_input.token.is_some() {
            self.ctx.caller = self.within(self.identify(call_input)).await?;
        }
        self.access(&entry)?;
        Ok(entry)
    }
}

/// The values that a schema lists and that begin like `value`, in whatever case.
fn listed(schema: Option<&Value>, value: &str) -> Vec<String> {
    let listed = schema.and_then(|schema| schema.get("enum")).and_then(Value::as_array);
    // What was typed may be long, and the list too.
    let typed = value.to_lowercase();
    let begins = |text: &&str| text.to_lowercase().starts_with(&typed);
    listed.into_iter().flatten().filter_map(Value::as_str).filter(begins).map(str::to_owned).collect()
}
